# CSV: classes with idle, families, kernels with names that need quotes.
cp "$GOLDEN"/small/* .
K="kreach report --rules rules.json --policy policy.json --format csv"
$K --by class steps.json
$K --by family steps.json
$K hostile.json
