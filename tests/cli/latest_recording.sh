# Without a file, what was recorded last in this folder is read, and named.
kreach report
echo "status $?"
cp "$GOLDEN/kreach/gpt2.kreach" older.kreach
cp "$GOLDEN/kreach/resnet.kreach" newer.kreach
touch -d '2026-11-30 10:00:00.25' older.kreach
touch -d '2026-11-30 10:00:00.75' newer.kreach
mkdir later.kreach
kreach report --json >latest.json
kreach report --json newer.kreach >named.json
cmp latest.json named.json && echo same
kreach info -q | head -1
touch older.kreach
kreach info -q | head -1
kreach predict -q --json >/dev/null && kreach plot classes -q >/dev/null
echo "status $?"
kreach predict --shares
echo "status $?"
KREACH_STUB=work kreach record -q true && kreach info -q | grep -c 'input  *true[.0-9]*kreach:'
