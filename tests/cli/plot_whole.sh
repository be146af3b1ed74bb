# Shares are of the plain step where it is known of every run, else of wall time.
cp "$GOLDEN"/small/* .
K="kreach plot classes"
$K steps.json | grep -o 'share of .*'
$K --wall 350us steps.json | grep -o 'share of .*'
$K --wall 350us --of wall steps.json | grep -o 'share of .*'
$K --wall 100us steps.json | grep -o 'share of .*'
$K --of step steps.json
echo $?
