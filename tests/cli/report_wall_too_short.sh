# Busy time above the plain step: said, and never a negative idle.
cp "$GOLDEN"/small/* .
kreach report --rules rules.json --policy policy.json --wall 0.2ms --by class steps.json | sed "/^Without/,/^$/d"
