# The same input gives the same bytes: run twice, on one thread or many, from a pipe.
cp "$GOLDEN"/traces/resnet50_train.json.gz t.json.gz
kreach report --json t.json.gz >one
kreach report --json --threads 1 t.json.gz >two
cmp one two
gzip -dc t.json.gz >t.json
kreach report --threads 1 --format csv t.json >three
kreach report --threads 4 --format csv t.json.gz >four
kreach report --format csv - <t.json.gz >five
cmp three four && cmp three five
kreach report t.json.gz >six
COLUMNS=40 LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 kreach report t.json.gz | cmp - six
