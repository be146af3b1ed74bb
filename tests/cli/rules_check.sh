# The built-in rules are good; a bad rule is named with its place, status 1.
cp "$GOLDEN"/small/* .
kreach rules check | grep -c ' 0 problems'
kreach rules check rules.json --policy policy.json
echo $?
kreach rules check bad_rules.json >text
echo $?
grep -c '^bad_rules.json:[0-9]*: rule .hides-nothing.' text
echo '{' >broken.json
kreach rules check broken.json
