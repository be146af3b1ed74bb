#!/usr/bin/env python3
"""Runs GPU tests without a GPU: their own code, on stand-ins for CUDA, CUPTI and torch.

Usage: run.py LIBKREACH KREACH_DUMP FAKE-LIBRARIES KREACH     exit status 1 when something fails
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import acceptance  # noqa: E402
from harness import Tools  # noqa: E402
from runner import Case, run_cases  # noqa: E402

ACCEPTANCE = ("counts_of_plain_cuda", "soak_of_windows", "two_processes_on_one_gpu", "interrupted",
              "same_two_streams", "same_two_streams_in_turn", "graphs_after_a_window")
SWITCHES = ("copies between devices too", "floor, copies between devices too",
            "floor, as torch.profiler", "floor, as Proton")


def differs_from_torch(tools):
    """A name that torch.profiler counts once less, and another once more, must be found out."""
    def off_by_one(path, true_work=acceptance.trace_work):
        counts, names = true_work(path)
        (a, (n_a, us_a)), (b, (n_b, us_b)) = list(names.items())[:2]
        return counts, dict(names, **{a: (n_a - 1, us_a), b: (n_b + 1, us_b)})

    acceptance.trace_work = off_by_one
    try:
        acceptance.same_as_torch(tools, "two_streams")
    except AssertionError as error:
        acceptance.check("counts by name differ" in str(error), str(error))
        return
    raise AssertionError("it was not")


def overhead(folder):
    """The benchmark of switches, in turns of one row."""
    env = dict(os.environ, KREACH_LIMIT_S="8", KREACH_ROWS="graph, 1 thread",
               KREACH_SWITCHES=";".join(SWITCHES))
    subprocess.run([sys.executable, os.path.join(ROOT, "scripts/bench/overhead.py"), folder, folder,
                    "switches"], env=env, check=True)
    with open(os.path.join(folder, "overhead.json")) as f:
        part = json.load(f)["switches"]
    acceptance.check(not part["failed"], "failed: %s" % part["failed"])
    cells = part["rows"]["graph, 1 thread"]
    acceptance.check(all(len(cells[c]) >= part["turns"] > 0 for c in
                         ("plain", "floor", "kreach") + SWITCHES), "turns: %s" % cells)
    return part["turns"]


def main():
    library, dump, fakes, kreach = (os.path.abspath(p) for p in sys.argv[1:])
    os.environ.update(LD_LIBRARY_PATH=fakes, PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1",
                      KREACH_WINDOWS="300", KREACH_PIN="0", KREACH=kreach)
    acceptance.SOME = (30, 0.5)
    acceptance.NOISE = 0.9  # other tests run beside this one
    acceptance.AFTER_A_WINDOW, acceptance.ROUNDS = 9, 500
    with tempfile.TemporaryDirectory() as folder:
        for target, name in ((library, "libkreach.so"), (dump, "kreach_dump"),
                             (os.path.join(HERE, "launches"), "launches")):
            os.symlink(target, os.path.join(folder, name))
        tools = Tools(folder)
        functions = {name: acceptance.CASES[name].function for name in ACCEPTANCE}
        functions["turns"] = lambda t: acceptance.calibrates_itself(t, "two_streams")
        functions["differs_from_torch"] = differs_from_torch
        functions["two_commands"] = lambda t: acceptance.two_commands(
            t, [t.launches, "eager", "1", "500", "3"], os.path.join(folder, "kept", "run.kreach"))
        cases = {name: Case(lambda f=f: f(tools)) for name, f in functions.items()}
        cases["overhead"] = Case(lambda: overhead(folder))
        return run_cases(cases, list(cases), os.path.join(folder, "results.json"),
                         {"code": "this"}, 240)


if __name__ == "__main__":
    sys.exit(main())
