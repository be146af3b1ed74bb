# Every test that docs/known-failures.md names exists and is run.
root=${GOLDEN%/tests/golden}
ROOT=$root python3 - <<'PYTHON'
import os
import re

root = os.environ["ROOT"]
document = open(f"{root}/docs/known-failures.md", encoding="utf-8").read()
guarded = document.split("## Not guarded yet")[0]
rows = [line for line in guarded.splitlines() if re.match(r"\| [A-Z0-9]", line)]
binaries = open(f"{root}/tests/capture/CMakeLists.txt", encoding="utf-8").read()
sources = {}
for row in rows:
    named = re.findall(r"`((?:unit|cli|capture)/[\w.]+)(?:: (\w+))?`", row.rsplit("|", 2)[1])
    if not named:
        print("no test:", row)
    for path, name in named:
        if path not in sources:
            try:
                sources[path] = open(f"{root}/tests/{path}", encoding="utf-8").read()
            except OSError as error:
                sources[path] = ""
                print(error)
        if path.endswith(".c") and not re.search(rf"\bcmocka_unit_test\w*\({name}\b", sources[path]):
            print(f"{path} does not run {name}")
for path in sources:
    stem = os.path.splitext(os.path.basename(path))[0]
    if path.startswith("capture/") and not re.search(rf"\b{stem}\b", binaries):
        print(f"{path} is not built")
print("many rows" if len(rows) > 120 else f"{len(rows)} rows")
PYTHON
