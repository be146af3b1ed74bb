# The whole text of a prediction with a win rate, a range, a loss and missing evidence.
cp "$GOLDEN"/small/* .
kreach predict --rules rules.json --policy policy.json --window steady --sigma sigma.json steps.json
