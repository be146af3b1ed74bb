# A truncated trace is reported as far as it goes, with a warning and status 3.
cp "$GOLDEN"/small/* .
kreach report --rules rules.json --policy policy.json --json truncated.json >json
status=$?
python3 "$TOOLS/closes.py" json
grep -E '"(status|truncated|kept)"' json | sort -u
exit $status
