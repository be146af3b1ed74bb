# Without speed-ups: the ceiling and what to write first.
cp "$GOLDEN"/small/* .
kreach predict --rules rules.json --policy policy.json --top 2 steps.json
