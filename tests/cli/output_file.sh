# A file appears whole or not at all, and is never replaced by accident.
cp "$GOLDEN"/small/* .
K="kreach report --rules rules.json --policy policy.json --json"
umask 027
$K -o out.json steps.json && stat -c %a out.json
$K steps.json | cmp - out.json
echo keep >kept.json
$K -o kept.json steps.json >error.json
echo $? "$(cat kept.json)"
$K -f -o kept.json steps.json && cmp kept.json out.json
$K -o never.json missing.json >error.json 2>/dev/null
echo $?
$K -f -o kept.json missing.json >error.json 2>/dev/null
cmp kept.json out.json
$K -o no/such/folder/x steps.json >error.json
echo $?
$K -o . steps.json >error.json
echo $?
$K -o /dev/null steps.json
echo $?
# With no standard error its number is free, and the warning of a cut file must not end in the data.
head -c 2000 steps.json >cut.json
$K -o two.json cut.json 2>&-
$K cut.json 2>/dev/null | cmp - two.json
ls -a | grep -E 'never|XX|\.json\.'
exit 0
