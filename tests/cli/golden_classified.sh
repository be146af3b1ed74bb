# On the recorded runs no rule leaves more than 1 % of device time unknown.
for trace in "$GOLDEN"/traces/*.json.gz; do
    kreach -q report --fail-if 'unclassified/busy>1%' "$trace" >/dev/null || basename "$trace"
done
