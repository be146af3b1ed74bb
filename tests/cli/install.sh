# What is installed is whole: the tool finds its library from wherever it stands.
program=$(realpath "$(command -v kreach)")
cmake --install "${program%/bin/kreach}" --prefix "$PWD/there" >log 2>&1 || cat log
find there -type f | sort
unset KREACH_LIB
there/bin/kreach doctor | sed -n "s|$PWD|.|; /libkreach/p"
