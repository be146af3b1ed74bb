# A recording is one file, read like any other, and the run ends with what to do next.
kreach record -o run.kreach -- sh -c 'sh -c :; :'
echo "status $?"
ls
kreach report --json run.kreach | grep -E '^    "(format|kernels|status)":'
kreach report --json - <run.kreach | grep -c kreach.report
KREACH_STUB=busy kreach record true
echo "status $?"
KREACH_STUB=unended kreach record -q -f -o run.kreach true
kreach info run.kreach | grep -c 'complete   NO'
