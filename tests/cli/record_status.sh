# The program keeps its streams and its status, and a run without GPU work leaves nothing.
export KREACH_STUB=nothing
printf 'in and out\n' | kreach record -o run.kreach -- sh -c 'cat; exit 7'
echo "status $?"
kreach record -q sh -c 'kill -TERM $$'
echo "status $?"
kreach record -q true >&-
echo "status $?"
kreach version >&-
echo "status $?"
kreach record ./nothing-here
echo "status $?"
kreach record --steps none -- true
echo "status $?"
kreach record
echo "status $?"
ls
