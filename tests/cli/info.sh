# What a trace holds, or a recording: there also its processes and what was noted of the run.
cp "$GOLDEN"/small/* .
kreach info steps.json
kreach info --json steps.json >json
kreach schema info >schema
python3 "$TOOLS/validate.py" schema json
grep '"dropped"' json # a torch trace cannot say
kreach info "$GOLDEN/kreach/ddp2.kreach" | sed -n '/^Streams/,$p' | sed 's/ *$//'
kreach info --json "$GOLDEN/kreach/ddp2.kreach" >json
python3 "$TOOLS/validate.py" schema json
grep -c '"process": 91[78]' json
kreach info "$GOLDEN/kreach/gpt2.kreach" | sed -n '/^Streams/,/^recorder/p'
