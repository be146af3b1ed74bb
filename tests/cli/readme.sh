# What the README shows is what kreach prints: a report, cut at its "...", the article's number, and
# the table of recorded runs.
cd "${GOLDEN%/tests/golden}" || exit
shown() { sed -n '/^\$ kreach report/,/^```/p' README.md | sed '1d;/^\.\.\.$/,$d'; }
lines=$(shown | wc -l)
kreach report --wall 0.983ms tests/golden/traces/dlrm_inf.json.gz | head -n "$lines" | diff <(shown) - && echo "$lines lines"
kreach predict --shares docs/examples/article-dlrm.shares.json --sigma docs/examples/article-dlrm.sigma.json \
    --mode win-rate 2>/dev/null | grep '^win-rate  '
# Its table of the eight runs, with the plain steps that scripts/demo has.
sed -n '/cat <<RUNS/,/^RUNS/p' scripts/demo | sed '1d;$d' | while read -r run wall options; do
    grep "^$run  " README.md >row
    kreach report -q --wall "$wall" ${options:+$options} --json "tests/golden/traces/$run.json.gz" |
        python3 -c 'import json, sys
r = json.load(sys.stdin)
shares = [c["frac_step"] for c in r["classes"]] + [r["true_step"]["idle_frac"]]
print(sys.argv[1], *("%.1f" % (100 * s) for s in shares), "%.2fx" % r["verdict"]["ceiling_x"], r["verdict"]["worth"])
' "$run" | diff <(tr -s ' ' <row) - && echo "$run"
done
