# Every example that the pages show can be used on the run that it is about.
cd "${GOLDEN%/tests/golden}" || exit
predict() { kreach predict -q --sigma "$1" "${@:2}" | grep '^per-kernel  ' || echo "$1: $?"; }
examples=docs/examples
recorded=workloads/recorded
predict $examples/article-dlrm.sigma.json --shares $examples/article-dlrm.shares.json
predict $examples/gpt2-adamw.sigma.json $recorded/gpt2-train.kreach
predict $examples/dlrm-h200.sigma.json --wall 1.201ms tests/golden/traces/dlrm_embedding_fused.before.json.gz
predict $examples/groups.sigma.json $recorded/dlrm-infer.kreach
for page in README.md docs/sigma.md docs/shares.md docs/rules.md; do
    python3 -c 'import re, sys
for i, text in enumerate(re.findall("```json\n(.*?)```", open(sys.argv[1]).read(), re.S)):
    open(sys.argv[2] + "-%d.json" % i, "w").write(text)' $page "$OLDPWD/$(basename $page .md)"
done
predict "$OLDPWD/README-0.json" tests/golden/traces/bert.json.gz
predict "$OLDPWD/sigma-0.json" $recorded/dlrm-infer.kreach
kreach report --shares "$OLDPWD/shares-0.json" | grep '^total'
kreach rules check "$OLDPWD/rules-0.json" | sed 's/^[0-9]* rules, [0-9]* examples/all/'
kreach report --policy "$OLDPWD/rules-1.json" tests/golden/traces/bert.json.gz | grep -o 'casts-are-overhead'
