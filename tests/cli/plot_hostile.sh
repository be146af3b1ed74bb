# No name can run a command, end a line of the data or break the picture.
cp "$GOLDEN"/small/* .
sed -e 's/gemm_<script>/gemm_`touch pwned1`$(touch pwned2)@x%s#{\\\\n/' -e "s/evil/'.system('touch pwned3').'/" hostile.json >'a`touch pwned4`;b'"'.json"
for figure in classes amdahl cumulative step; do
    kreach plot $figure -q --format svg --rules rules.json --policy policy.json a*.json >$figure.svg || echo $figure $?
    python3 -c "import sys, xml.etree.ElementTree as x; x.parse(sys.argv[1])" $figure.svg
    grep -c 'touch pwned4' $figure.svg
    kreach plot $figure -q --rules rules.json --policy policy.json a*.json >$figure.txt || echo $figure $?
    LC_ALL=C grep -c '[^[:print:]]' $figure.txt
done
ls pwned* 2>/dev/null
grep -c 'touch pwned1' cumulative.svg
grep -c "system('touch pwned3')" cumulative.svg
