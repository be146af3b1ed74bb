#!/usr/bin/env python3
"""What a recording whose window is over leaves behind: times of launches by state, interleaved.

Usage: tests/gpu/detach.py TOOLS [RESULT.json]     TOOLS: the folder that scripts/gpu-build filled

States: plain; over (the window ended, CUPTI stays); finalized (it ended and CUPTI left); soak of
10,000 windows of half a millisecond's distance, with and without lingering.
"""
import json
import statistics
import sys

import harness

ROUNDS = 200
WORK = {"eager": ["eager", "1", "5000", str(ROUNDS)], "graph": ["graph", "1", "20000", str(ROUNDS)]}
STATES = {"plain": None, "over": "duration=0.3,flush=0.1",
          "finalized": "duration=0.3,flush=0.1,finalize"}
TURNS = 3


def late_ns(text):
    """The least and the median of the second half of the rounds [ns a launch]."""
    rounds = json.loads(text.splitlines()[-1])["host_ns"]
    late = rounds[len(rounds) // 2:]
    return min(late), statistics.median(late)


def launch(tools, work, state):
    command = [tools.launches] + WORK[work]
    if STATES[state] is None:
        run, told = harness.plain(command), ""
        status, out, err = run.returncode, run.stdout, run.stderr
    else:
        run = harness.record(tools, command, STATES[state])
        status, out, err = run.status, run.out, run.err
        told = " ".join(run.kreach_lines())
        if run.parts and run.only().number("end") != harness.END_WINDOW:
            told += " (the window did not end)"
    if status != 0:
        return {"work": work, "state": state, "status": status, "err": err[-500:]}
    least, median = late_ns(out)
    return {"work": work, "state": state, "status": 0, "least_ns": least, "median_ns": median,
            "told": told}


def soak(tools, options):
    run = harness.record(tools, [tools.launches, "soak", "10000"], options, timeout=120)
    part = run.only()
    kinds = [kind for kind, _ in part.gaps]
    return {"work": "soak", "state": options, "status": run.status,
            "kernels": part.number("kernels"), "asked": 100000, "lost": part.lost,
            "gaps": {kind: kinds.count(kind) for kind in set(kinds)}, "seconds": run.seconds,
            "told": " ".join(run.kreach_lines())[-500:]}


def main():
    tools = harness.Tools(sys.argv[1])
    results = []
    for work in WORK:
        for _ in range(TURNS):
            for state in STATES:
                results.append(launch(tools, work, state))
                print(json.dumps(results[-1]), flush=True)
    for options in ("range=window,flush=0.2", "range=window,flush=0.2,linger=0"):
        results.append(soak(tools, options))
        print(json.dumps(results[-1]), flush=True)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as out:
            json.dump(results, out, indent=1)
    return any(r["status"] != 0 for r in results)


if __name__ == "__main__":
    sys.exit(main())
