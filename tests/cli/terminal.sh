# A terminal gets its own width, colour and a progress line; a dumb one, CI or -q get none of it.
cp "$GOLDEN"/small/* .
widest() { sed 's/\x1b\[[0-9;]*[mK]//g' | tr -d '\r' | awk 'length($0) > n { n = length($0) } END { print n }'; }
report() { python3 "$TOOLS/on_terminal.py" "$1" kreach $2 report --rules rules.json --policy policy.json hostile.json; }
export TERM=xterm
unset CI
echo "narrow: $(report 40 | grep xxxx | widest), wide: $(report 130 | grep xxxx | widest)"
echo "colour: $(report 80 | grep -c $'\033\\[1m'), progress: $(report 80 | grep -c 'reading:')"
echo "CI: $(CI=1 report 80 | grep -c 'reading:'), quiet: $(report 80 -q | grep -c 'reading:')"
TERM=dumb report 80 | grep -c $'\033'
