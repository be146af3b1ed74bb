# A run is never wasted: what cannot be saved is found before it, and what goes wrong after it leaves the recording.
ln -s nowhere link
kreach record -o link -- touch ran
echo "status $?"
# Nobody reads what is said, and the wait for the second process says something.
kreach record -o unread.kreach -- sh -c 'sleep 1 & sleep 0.3' 2>&1 | true
kreach info unread.kreach | grep '^complete'
# The disk is full for the recorder alone.
kreach record -q -o full.kreach -- sh -c 'prlimit --pid $PPID --fsize=0' 2>&1 | cat >log
echo "status ${PIPESTATUS[0]}"
bash -c "$(sed -n 's/.*: \(cat .*\) > FILE$/\1/p' log)" >whole.kreach
kreach info whole.kreach | grep '^complete'
rm -r full.kreach.parts.*
ls
