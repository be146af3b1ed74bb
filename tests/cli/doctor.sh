# Every machine gets an answer, in text and as data, and the status says whether recording works.
kreach doctor >text
text=$?
kreach doctor --json >json
data=$?
kreach schema doctor >schema
python3 "$TOOLS/validate.py" schema json
[ "$text" = "$data" ] || echo "text ends with $text, JSON with $data"
if grep -q '"can_record": true' json; then wanted=0; else wanted=4; fi
[ "$data" = "$wanted" ] || echo "status $data where $wanted was expected"
grep -c '^Recording ' text
