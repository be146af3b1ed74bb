# The whole text report of a trace whose numbers can be added up on paper.
cp "$GOLDEN"/small/* .
kreach report --rules rules.json --policy policy.json --window steady steps.json
kreach report --rules rules.json --policy policy.json --by family --top 6 steps.json | grep "^and"
kreach report --rules rules.json --policy policy.json --by family --top 5 steps.json | grep "^and"
