# Input that is no trace: status 3 and a reason, as JSON when JSON was asked for.
cp "$GOLDEN"/small/* .
: >empty.json
echo hello >text.json
mkdir folder
for file in no_device.json empty.json text.json folder missing.json; do
    kreach report $file
    echo "$file $?"
done
kreach schema error >schema
kreach report --json missing.json >error.json 2>/dev/null
echo $?
python3 "$TOOLS/validate.py" schema error.json
