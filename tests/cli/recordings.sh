# The shipped recordings, held against an independent reader and account (Python, exact).
cd "${GOLDEN%/tests/golden}" || exit
python3 tests/oracle/recording.py "$(command -v kreach)" workloads/recorded/*.kreach \
    tests/golden/kreach/{gpt2,gpt2_plain,resnet}.kreach | sed 's/.*: \([0-9]* pieces\)/\1/' >"$OLDPWD/said"
grep -v '^[0-9]* pieces of device work agree to the nanosecond$' "$OLDPWD/said"
wc -l <"$OLDPWD/said"
