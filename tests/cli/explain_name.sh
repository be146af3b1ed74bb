# One kernel by name: rule with its place, family, class with the policy's entry.
cp "$GOLDEN"/small/* .
K="kreach explain --rules rules.json --policy policy.json"
$K gemm_a
$K --op aten::add who_knows
$K --json norm_b >json
kreach schema explain >schema
python3 "$TOOLS/validate.py" schema json
grep -E '"(rule|rule_file|rule_line|class|policy_entry)"' json
