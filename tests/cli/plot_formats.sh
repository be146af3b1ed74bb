# gnuplot takes every figure in every format, and says nothing.
cp "$GOLDEN"/small/* .
K="kreach plot"
R="--rules rules.json --policy policy.json steps.json"
for figure in classes amdahl cumulative step; do
    for format in svg png pdf; do
        $K $figure -q -o $figure.$format $R || echo "$figure $format: $?"
    done
    python3 -c "import sys, xml.etree.ElementTree as x; print(x.parse(sys.argv[1]).getroot().tag)" $figure.svg
    python3 -c "import sys; d = open(sys.argv[1], 'rb').read(); print(d[1:4].decode(), *(int.from_bytes(d[i:i + 4], 'big') for i in (16, 20)))" $figure.png
    head -c 5 $figure.pdf; echo
    $K $figure -q $R >$figure.txt || echo "$figure dumb: $?"
    head -2 $figure.txt
    [ $figure = classes ] || [ $figure = step ] || continue
    grep '|[|oAv?. -]*[oAv?-].*|$' $figure.txt
done
$K classes --format svg $R | cmp - classes.svg
$K classes --format svg -o - $R | cmp - classes.svg
echo kept >kept.svg
$K classes -o kept.svg $R 2>/dev/null; echo $? $(cat kept.svg)
$K classes -f -o kept.svg $R && cmp kept.svg classes.svg
$K classes -o classes.jpg $R 2>/dev/null; echo $?
export TERM=xterm
python3 "$TOOLS/on_terminal.py" 80 $K classes --format png $R | tr -d '\r' | head -1
python3 "$TOOLS/on_terminal.py" 100 $K classes $R | tr -d '\r' | grep -c '^ *+-.*-+$'
# Without colours, letters tell the curves of several runs apart.
$K cumulative steps.json plain.json | grep -o '[A-D][A-D] .*json'
