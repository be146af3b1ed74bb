# Without gnuplot, or with one that fails, script and data are kept, and no picture is replaced.
cp "$GOLDEN"/small/* .
mkdir none failing
cat >failing/gnuplot <<'END'
#!/bin/sh
echo 'line 0: unknown terminal' >&2
exit 1
END
chmod +x failing/gnuplot
kreach=$(command -v kreach)
plot() {
    local path=$1
    shift
    PATH=$PWD/$path "$kreach" plot classes --rules rules.json --policy policy.json steps.json "$@"
    echo "status $?"
}
echo old >old.svg
plot none
plot none
plot none -f -o old.svg
cat old.svg
plot none -q -o x.png
plot failing -q -o y.svg
ls | grep -v json
plot none -q -f --format svg --keep -o new.svg 2>/dev/null
LC_ALL=C.UTF-8 gnuplot new.gp && kreach plot classes --rules rules.json --policy policy.json steps.json --format svg | cmp - new.svg
