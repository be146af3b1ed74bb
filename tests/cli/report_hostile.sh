# Names from strangers can do nothing to a terminal, in no part of the output.
cp "$GOLDEN"/small/* .
K="kreach report --rules rules.json --policy policy.json"
$K hostile.json >text
$K --color=always hostile.json >color
grep -c $'\033\\[2J' text color
kreach info hostile.json >>text
kreach explain --rules rules.json --policy policy.json -v hostile.json >>text
LC_ALL=C grep -c '[^[:print:]]' text
$K --json hostile.json >json
python3 "$TOOLS/closes.py" json && kreach schema report >schema && python3 "$TOOLS/validate.py" schema json
cp steps.json $'bad\033[2Jname.json'
$K $'bad\033[2Jname.json' >named
$K -v $'missing\033[2J.json' 2>&1 | cat >>named
grep -c $'\033' named
