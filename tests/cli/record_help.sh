# What stands behind the program's name is the program's, help included.
export KREACH_STUB=nothing
kreach record sh -c 'echo "$@"' sh --help --output x
kreach record --help | head -n 1
