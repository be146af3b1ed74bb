# All kernels of a trace, or those that no rule knows.
cp "$GOLDEN"/small/* .
K="kreach explain --rules rules.json --policy policy.json"
$K steps.json
$K --unclassified steps.json
