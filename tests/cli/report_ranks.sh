# Two ranks: rows added by name, a line for each file, least, median and greatest.
cp "$GOLDEN"/small/* .
kreach report --rules rules.json --policy policy.json rank0.json rank1.json | sed "/^Without/,/^$/d"
kreach report rank0.json rank1.json rank0.json | grep ' files'
