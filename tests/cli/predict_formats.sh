# CSV and JSON hold the same modes; --mode picks some.
cp "$GOLDEN"/small/* .
K="kreach -q predict --rules rules.json --policy policy.json --sigma sigma.json steps.json"
$K --format csv
$K --format csv --mode ceiling
$K --json >json
kreach schema predict >schema
python3 "$TOOLS/validate.py" schema json
python3 - <<'PYTHON'
import json
for p in json.load(open("json"))["predictions"]:
    print(p["mode"], f'{p["saved_frac"]:.9g}', f'{p["speedup"]:.9g}')
PYTHON
