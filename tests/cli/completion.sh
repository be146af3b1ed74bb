# The bash script is one that bash accepts, and it completes.
kreach completion bash >script
bash -n script
. ./script
complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _kreach
    echo "${COMPREPLY[@]}"
}
complete_words kreach rep
complete_words kreach report --st
complete_words kreach report --format ''
complete_words kreach rules check --pol
complete_words kreach --color ''
complete_words kreach predict --mode ''
complete_words kreach plot ''
complete_words kreach plot st
complete_words kreach plot step --format ''
complete_words kreach plot classes --of ''
complete_words kreach plot amdahl --sig
kreach completion zsh | grep -o "compadd [a-z]* [a-z]*"
kreach completion fish | grep "plot" | grep -v -- " -l "
kreach completion fish | grep -c "__fish_seen_subcommand_from plot; and __fish_seen_subcommand_from step"
