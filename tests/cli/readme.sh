# What the README shows is what kreach prints: a report, cut at its "...", and the article's number.
cd "${GOLDEN%/tests/golden}" || exit
shown() { sed -n '/^\$ kreach report/,/^```/p' README.md | sed '1d;/^\.\.\.$/,$d'; }
lines=$(shown | wc -l)
kreach report --wall 0.983ms tests/golden/traces/dlrm_inf.json.gz | head -n "$lines" | diff <(shown) - && echo "$lines lines"
kreach predict --shares docs/examples/article-dlrm.shares.json --sigma docs/examples/article-dlrm.sigma.json \
    --mode win-rate 2>/dev/null | grep '^win-rate  '
