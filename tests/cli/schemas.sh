# Every schema is JSON and says which draft it follows; the version fits its own.
kreach schema
for name in $(kreach schema); do
    kreach schema "$name" >$name.json
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["$schema"])' $name.json
done | sort -u
kreach version --json >version
python3 "$TOOLS/validate.py" version.json version
