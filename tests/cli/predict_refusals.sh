# Speed-ups that cannot be used are refused with file, line and reason.
cp "$GOLDEN"/small/* .
echo '{"schema": "kreach.sigma", "schema_version": 1, "entries": [{"select": {"kernel": "*"}, "sigma": 2}]}' >no_rates.json
K="kreach predict --rules rules.json --policy policy.json"
$K --sigma bad_sigma.json steps.json
echo $?
$K --sigma broken_sigma.json steps.json
echo $?
$K --sigma missing.json steps.json
echo $?
$K --sigma sigma.json --wall 100us steps.json
echo $?
$K --mode median steps.json
echo $?
$K --mode per-kernel steps.json
echo $?
$K --mode win-rate --sigma no_rates.json steps.json
echo $?
