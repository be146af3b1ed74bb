# Real runs: every document fits its schema, every sum closes, no line is wider than 80 columns.
for name in report predict explain info; do
    kreach schema $name >$name.schema
done
for trace in "$GOLDEN"/traces/*.json.gz; do
    name=$(basename "$trace" .json.gz)
    cp "$trace" .
    for command in report predict explain info; do
        kreach -q $command --json $name.json.gz >json || echo "$name: $command failed"
        python3 "$TOOLS/validate.py" $command.schema json || echo "$name: $command"
    done
    for window in all steady; do
        kreach report --json --window $window $name.json.gz >json
        python3 "$TOOLS/closes.py" json || echo "$name: $window"
    done
    kreach report $name.json.gz >text
    kreach predict $name.json.gz >>text
    kreach explain $name.json.gz >>text
    awk -v name="$name" 'length($0) > 80 && !/^  kreach/ { print name ": " $0 }' text
    grep -nwE 'nan|inf' text
done
exit 0
