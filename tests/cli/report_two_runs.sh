# Two processes compare where the GPU is what steps wait for; elsewhere the report says what it is worth.
for run in "$GOLDEN/kreach/gpt2.kreach" "${GOLDEN%/tests/golden}/workloads/recorded/llama-8b-prefill.kreach"; do
    kreach report "$run" >report
    grep -c 'measured in two runs' report
    grep -c 'steps wait for the host here' report
done
true
