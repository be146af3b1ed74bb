# Colour by wish, then NO_COLOR, then CLICOLOR_FORCE, then the terminal.
cp "$GOLDEN"/small/* .
colours() { grep -c $'\033\\[' || true; }
K="report --by class --rules rules.json --policy policy.json steps.json"
kreach $K | colours
kreach --color=always $K | colours
kreach $K --color always | colours
CLICOLOR_FORCE=1 kreach $K | colours
CLICOLOR_FORCE=0 kreach $K | colours
CLICOLOR_FORCE=1 NO_COLOR=1 kreach $K | colours
CLICOLOR_FORCE=1 NO_COLOR= kreach $K | colours
NO_COLOR=1 kreach --color=always $K | colours
CLICOLOR_FORCE=1 kreach --color=never $K | colours
