# Lost device work is a warning, and with --strict a failure.
cp "$GOLDEN"/small/* .
kreach -q report --rules rules.json --policy policy.json lossy.json >text
echo $?
kreach -q report --rules rules.json --policy policy.json --strict lossy.json >text
echo $?
grep -E '^(complete|warning)' text
