# A mistyped file is no kernel's name, and an option that would do nothing is refused.
cp "$GOLDEN"/small/* .
kreach explain setps.json
echo $?
kreach explain --name setps.json
kreach explain --op aten::add steps.json
echo $?
kreach explain --unclassified gemm_a
echo $?
kreach explain --window steady gemm_a
echo $?
kreach explain ''
echo $?
