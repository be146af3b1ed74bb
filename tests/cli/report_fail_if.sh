# Conditions decide the status; the report is printed all the same.
cp "$GOLDEN"/small/* .
K="kreach report --rules rules.json --policy policy.json --by class"
$K --fail-if 'unclassified>11%' --fail-if 'idle >= 0.5' --fail-if 'gemm<1%' steps.json >text
echo $? "$(grep -c total text)"
$K --fail-if 'unclassified/busy>11%' steps.json >text
echo $? "$(grep -c total text)"
$K --fail-if 'nrom>1%' steps.json >text
echo $? "$(cat text)"
$K --json --fail-if 'nrom>1%' steps.json 2>/dev/null >error.json
echo $?
kreach schema error >schema
python3 "$TOOLS/validate.py" schema error.json
$K --fail-if 'idel>1%' steps.json
echo $?
$K --fail-if 'idle/step>1%' steps.json
echo $?
