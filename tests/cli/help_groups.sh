# A first word that several commands share explains them, however it is asked for.
kreach help plot
kreach help plot >1
for words in "plot --help" "plot -h" "-q plot -h" "help rules" "rules --help"; do
    kreach $words >2
    echo "$words: $? $(head -n 1 2)"
done
kreach plot --help | cmp 1 -
kreach help plot stpe
echo $?
