# Rules in order, those of the user first, as JSON too.
cp "$GOLDEN"/small/* .
kreach rules list --rules rules.json --policy policy.json
kreach rules list --json >json
kreach schema rules >schema
python3 "$TOOLS/validate.py" schema json
