# A plain step time needs steps to compare with.
cp "$GOLDEN"/small/* .
kreach report --rules rules.json --policy policy.json --wall 1ms plain.json
