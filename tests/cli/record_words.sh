# What a user copies works, and what is said is what happened.
export KREACH_STUB=work
for name in 'my run.kreach' "it's.kreach" -x.kreach; do
    kreach record -o "$name" -- true 2>log
    bash -c "$(sed -n 's/^kreach: next: //p' log)" | grep -c '^complete   yes'
done
# A job in the background ignores interrupts; here they count in any case.
env --default-signal=INT kreach record -o run.kreach -- \
    sh -c "trap '' INT; sleep 60 & echo \$! >left; kill -INT \$PPID; sleep 0.3; kill -INT \$PPID; wait" 2>log
grep -c '^kreach: warning: 1 of its processes still runs' log
kill "$(cat left)"
export KREACH_STUB=nothing
kreach record true
kreach record --calibrate true
kreach record --range step true
NVTX_INJECTION64_PATH=/opt/tool.so kreach record --calibrate true
kreach record -- sh -c ': >"$KREACH_OUT/a.part"'
echo "status $?"
printf '#!/no/such/interpreter\n' >script
chmod +x script
kreach record ./script
echo "status $?"
# Whoever may not write here learns what to do.
mkdir closed
cd closed || exit
rm -r ../closed
kreach record true
echo "status $?"
