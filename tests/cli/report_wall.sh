# The true step stands beside the profiled one.
cp "$GOLDEN"/small/* .
kreach report --rules rules.json --policy policy.json --wall 350us --by class steps.json | sed "/^Without/,/^$/d"
