# What a trace holds.
cp "$GOLDEN"/small/* .
kreach info steps.json
kreach info --json steps.json >json
kreach schema info >schema
python3 "$TOOLS/validate.py" schema json
grep '"dropped"' json # a torch trace cannot say
