# What runs the cases of the GPU tests: limits, what is left behind, results, and going on later.
root=${GOLDEN%/tests/golden}
TMPDIR=$PWD ROOT=$root python3 - 2>stderr <<'PYTHON' || cat stderr
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.environ["ROOT"] + "/tests/gpu"]
import runner
from runner import Case, NotHere, phase, run_case

MACHINE = {"code": "new"}


def check(what, good):
    print(what + ": " + ("yes" if good else "NO"), flush=True)


def run_cases(cases, wanted, path, limit_s):
    """The status; the table goes to the file "table"."""
    with open("table", "w") as table, contextlib.redirect_stdout(table):
        return runner.run_cases(cases, wanted, path, MACHINE, limit_s)


def fails():
    raise ValueError("no luck")


def skips():
    raise NotHere("only 1 GPU")


def dies():
    phase("last words")
    with open("left", "w") as left:
        left.write(tempfile.mkdtemp())
    os.kill(os.getpid(), signal.SIGKILL)


# A program in a session of its own, and one whose parent has left it: no group holds both.
LOST = ("import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import os, time; open(\"orphan\", \"w\").write("
        "str(os.getpid())); time.sleep(60)'], start_new_session=True)")


def hangs():
    phase("one")
    subprocess.run([sys.executable, "-c", LOST])
    while not os.path.exists("orphan") or not os.path.getsize("orphan"):
        time.sleep(0.01)
    phase("two")
    time.sleep(60)


def alive(pid):
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # orphans become ours
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


found = run_case(hangs, 3)
check("a case that hangs is ended at its limit", 3 <= found["seconds"] < 5 and not found["ok"])
check("its last phase is named, with when it began",
      "last phase: two (from " in found["error"] and [p[1] for p in found["phases"]] ==
      ["one", "two"])
with open("orphan") as f:
    check("nothing that it started is left", not alive(int(f.read())))
with open("stderr") as f:
    check("where it stood is said", "in hangs" in f.read())
check("a case that dies is told from one that fails",
      "status -9; last phase: last words" in run_case(dies, 5)["error"] and
      run_case(fails, 5)["error"] == "no luck")
with open("left") as f:
    check("its temporary files go with it", not os.path.exists(f.read()))

CASES = {"good": Case(lambda: {"n": 1}), "bad": Case(fails), "here": Case(skips),
         "slow": Case(lambda: time.sleep(60), 0.3)}
with open("r.json", "w") as out:
    json.dump({"machine": {"code": "old"},
               "cases": {"here": {"ok": True, "result": "two GPUs", "seconds": 9},
                         "good": {"ok": True, "result": 0, "seconds": 0.1, "code": "new"}}}, out)
check("cases without a result of this code are chosen, those without any first",
      runner.stale(CASES, "r.json", "new") == ["bad", "slow", "here"] and
      runner.stale(CASES, "r.json", "old") == ["bad", "slow", "good"])
check("failed cases give status 1", run_cases(CASES, list(CASES), "r.json", 100) == 1)
with open("r.json") as f:
    cases = json.load(f)["cases"]
check("each result is kept with its code",
      cases["good"]["result"] == {"n": 1} and not cases["bad"]["ok"] and
      all(cases[n]["code"] == "new" for n in ("good", "bad", "slow")))
check("a case that cannot run here leaves what was found elsewhere",
      cases["here"]["result"] == "two GPUs" and cases["here"]["code"] == "old")

CASES = {"known": Case(lambda: 1), "new": Case(lambda: 2, 50), "long": Case(lambda: 3)}
with open("t.json", "w") as out:
    json.dump({"machine": {"code": "old"},
               "cases": {"known": {"ok": True, "result": 1, "seconds": 0.2},
                         "long": {"ok": True, "result": 1, "seconds": 30}}}, out)
check("cases that were not run give status 2",
      run_cases(CASES, list(CASES), "t.json", 10) == 2)
with open("table") as f:
    check("and are named", "not run, the time is over: new, long" in f.read())
with open("t.json") as f:
    cases = json.load(f)["cases"]
check("what fits into the time is run, and nothing else",
      [cases[n]["code"] for n in ("known", "long")] == ["new", "old"] and "new" not in cases)
CASES = {"slower": Case(lambda: time.sleep(60))}
with open("u.json", "w") as out:
    json.dump({"machine": {"code": "old"},
               "cases": {"slower": {"ok": True, "result": 1, "seconds": 0.1}}}, out)
start = time.monotonic()
check("a case that the end of the time cuts off has not been run",
      run_cases(CASES, ["slower"], "u.json", 1) == 2 and time.monotonic() - start < 3)
with open("u.json") as f:
    check("and its result stays", json.load(f)["cases"]["slower"]["ok"])

# A run that is ended from outside.
CASES = {"first": Case(lambda: 1), "endless": Case(lambda: time.sleep(60))}
for how in (signal.SIGTERM, signal.SIGKILL):
    child = os.fork()
    if child == 0:
        os._exit(run_cases(CASES, ["first", "endless"], "v.json", 100))
    while not os.path.exists("v.json"):
        time.sleep(0.01)
    time.sleep(0.2)
    with open("/proc/%d/task/%d/children" % (child, child)) as f:
        running = [int(pid) for pid in f.read().split()]
    os.kill(child, how)
    os.waitpid(child, 0)
    time.sleep(0.2)
    with open("v.json") as f:
        check("a run ended by signal %d keeps what it has, and leaves nobody" % how,
              list(json.load(f)["cases"]) == ["first"] and running and
              not any(alive(pid) for pid in running))
    os.remove("v.json")
PYTHON
