# Script and data of every figure, for a trace whose numbers can be added up on paper.
cp "$GOLDEN"/small/* .
mkdir empty
kreach=$(command -v kreach)
plot() {
    PATH=$PWD/empty "$kreach" -q plot "$@" --keep --rules rules.json --policy policy.json steps.json 2>/dev/null
    [ $? = 4 ] || echo "gnuplot was found"
}
plot classes --wall 350us --of step -o classes.svg
plot amdahl --sigma sigma.json -o amdahl.png
plot amdahl -o families.pdf
plot cumulative --of busy -o cumulative.svg
plot step --window step:2 --wall 350us --format dumb -o step.txt
for f in classes amdahl families cumulative step.txt; do
    echo "== $f"
    cat $f.gp $f.dat
done
