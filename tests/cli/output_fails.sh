# A full disk is status 5, for every command; a reader that goes away is met in silence.
cp "$GOLDEN"/small/* .
for command in help version "schema report" "completion bash" "help report" "--help" \
    "info steps.json" "report steps.json" "report --json steps.json" "predict steps.json" \
    "explain gemm_a" "rules list"; do
    kreach $command >/dev/full
    [ $? = 5 ] || echo "$command: not 5"
done
# More than a pipe holds, so that the writer meets the closed end.
kreach report --json "$GOLDEN"/traces/*_train.json.gz >json
[ "$(wc -c <json)" -gt 150000 ] || echo "too small a document for this test"
kreach report --json "$GOLDEN"/traces/*_train.json.gz | head -n 1
bash -c 'trap "" PIPE; kreach report --json "$GOLDEN"/traces/*_train.json.gz; echo $? >&3' \
    3>status | head -n 1
cat status
