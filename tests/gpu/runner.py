"""Runs the cases of a test one by one, each with a time limit of its own; standard library only.

A case is a function that returns what it found, or raises. Each runs in a process of its own: one
that hangs or dies costs its limit and nothing else, and whatever it has started ends with it, also
what left its process group, and its temporary files go. Results are written after each case.
"""
import collections
import ctypes
import faulthandler
import json
import os
import signal
import sys
import tempfile
import time
import traceback

from harness import save_json

# function: the case. limit_s: it is ended after so long.
Case = collections.namedtuple("Case", "function limit_s", defaults=(75,))

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LAST_SECONDS = 10  # for processes that were killed to go away

_log = None  # of the case that this process runs
_start = 0.0


class NotHere(Exception):
    """Raised by a case that this machine cannot run: what an earlier run found stays."""


def phase(text):
    """Says what the case does next. Its last phase is named when it does not end well."""
    seconds = time.monotonic() - _start
    print("%8.1f s  %s" % (seconds, text), file=sys.stderr, flush=True)
    if _log:
        _tell({"s": round(seconds, 1), "phase": text})


def _tell(entry):
    _log.write(json.dumps(entry) + "\n")
    _log.flush()


def _prctl(option, value):
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _run_here(function, log):
    """The case's own process, which ends here."""
    global _log
    _log = log
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.register(signal.SIGUSR1)
    try:
        outcome = {"ok": True, "result": function()}
    except NotHere as why:
        outcome = {"not_here": str(why)}
    except BaseException as error:  # a failed case must not stop the others
        outcome = {"ok": False, "error": str(error) or type(error).__name__,
                   "where": traceback.format_exc(limit=-2)}
    _tell({"outcome": outcome})
    sys.stderr.flush()
    os._exit(0)


def _children():
    """Processes whose parent is this one."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % entry) as f:
                after_name = f.read().rpartition(")")[2].split()
        except (OSError, ValueError):  # no process, or gone
            continue
        if after_name[1:2] == [str(os.getpid())]:
            found.append(int(entry))
    return found


def end_family():
    """Kills all that descends from this process; false when some of it does not go away.

    Orphans become children of ours, so that after the children come their children.
    """
    end = time.monotonic() + LAST_SECONDS
    children = _children()
    while children and time.monotonic() < end:
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue
        time.sleep(0.01)
        children = _children()
    return not children


def _wait(child, end):
    """Its wait status; None when it is still there at `end`."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if time.monotonic() > end:
            return None
        time.sleep(0.02)


def _outcome(log, status, limit_s):
    """What the case's process told, and how it ended where it did not tell."""
    log.seek(0)
    told = [json.loads(line) for line in log]
    phases = [[entry["s"], entry["phase"]] for entry in told if "phase" in entry]
    outcome = next((entry["outcome"] for entry in told if "outcome" in entry), None)
    if not outcome:
        how = ("not over after %g s" % limit_s if status is None else
               "its process ended with status %d" % os.waitstatus_to_exitcode(status))
        outcome = {"ok": False, "error": "%s; last phase: %s" %
                   (how, "%s (from %.1f s)" % tuple(reversed(phases[-1])) if phases else "none")}
        outcome["over"] = status is None
    if phases:
        outcome["phases"] = phases
    return outcome


def run_case(function, limit_s):
    """What became of the case, with its seconds."""
    global _start
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _start = time.monotonic()
    with tempfile.TemporaryFile("w+") as log, \
            tempfile.TemporaryDirectory(prefix="kreach-case-", ignore_cleanup_errors=True) as scratch:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.environ["TMPDIR"] = tempfile.tempdir = scratch
            _run_here(function, log)
        try:
            status = _wait(child, _start + limit_s)
            if status is None:  # where it stands, on standard error
                os.kill(child, signal.SIGUSR1)
                time.sleep(0.2)
        finally:
            gone = end_family()
        outcome = _outcome(log, status, limit_s)
    if not gone:
        outcome = {"ok": False, "error": "its processes cannot be killed; " +
                   outcome.get("error", "it had ended")}
    outcome["seconds"] = round(time.monotonic() - _start, 1)
    return outcome


def load(path):
    """Results of earlier runs, each with the code that it was run on."""
    if not os.path.exists(path):
        return {"cases": {}}
    with open(path) as f:
        results = json.load(f)
    for outcome in results["cases"].values():
        outcome.setdefault("code", results["machine"].get("code", "unknown"))
    return results


def stale(cases, path, code):
    """Names of the cases that have no result of this code; first those that have none at all."""
    known = load(path)["cases"]
    names = [name for name in cases if known.get(name, {}).get("code") != code]
    return sorted(names, key=lambda name: name in known)


def _line(name, word, outcome):
    text = outcome.get("error") or outcome.get("not_here") or ""
    print("%-28s %s %5.1f s  %s" % (name, word, outcome["seconds"],
                                    text[:300].replace("\n", " ")), flush=True)


def _fits(known, case, left_s):
    """Whether it has ended in less time than is left, or must end by then."""
    seconds = known["seconds"] if known and known["ok"] else case.limit_s
    return min(seconds, case.limit_s) <= left_s


def run_cases(cases, wanted, path, machine, limit_s):
    """Runs the wanted ones of `cases` within limit_s. 0 = all are good, 1 = one failed, 2 = some
    were not run. Results go to `path`, beside those of cases that are not run."""
    end = time.monotonic() + limit_s
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    results = dict(load(path), machine=machine)
    bad, not_run = [], []
    for name in wanted:
        case, left_s = cases[name], end - time.monotonic()
        if not _fits(results["cases"].get(name), case, left_s):
            not_run.append(name)
            continue
        outcome = run_case(case.function, min(case.limit_s, left_s))
        if "not_here" in outcome:
            _line(name, "----", outcome)
            continue
        if outcome.pop("over", False) and left_s < case.limit_s:
            not_run.append(name)
            continue
        _line(name, "ok  " if outcome["ok"] else "FAIL", outcome)
        results["cases"][name] = dict(outcome, code=machine["code"])
        save_json(path, results)
        if not outcome["ok"]:
            bad.append(name)
    print("%d of %d cases failed%s%s" % (len(bad), len(wanted), ": " if bad else "",
                                         ", ".join(bad)))
    if not_run:
        print("not run, the time is over: " + ", ".join(not_run))
    return 1 if bad else 2 if not_run else 0
