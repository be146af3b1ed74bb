# Every window form, and what is said about one that is not there.
cp "$GOLDEN"/small/* .
for window in all steady step:1 name:ProfilerStep#2 time:100us..300us; do
    kreach report --rules rules.json --policy policy.json --window $window --by class steps.json |
        grep -E '^(window|time)'
done
kreach report --window step:77 steps.json
echo $?
kreach report --window sometimes steps.json
echo $?
