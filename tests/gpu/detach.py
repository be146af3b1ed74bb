#!/usr/bin/env python3
"""What a recording whose window is over leaves behind: times of launches by state, interleaved.

Usage: tests/gpu/detach.py TOOLS [RESULT.json [eager|graph]]
TOOLS: the folder that scripts/gpu-build filled

States: plain; over (the window ended, CUPTI stays); leaving (it ended and CUPTI was asked to leave,
which kreach does not do where it saw graphs). Times are nanoseconds a kernel: host until the last
launch has returned, wall until the GPU is done. CUDA launches a graph of one line of kernels in a
few microseconds, so that a kernel of it costs the host next to nothing in the plain state. All of it
takes about 80 s; KREACH_LIMIT_S ends it before.
"""
import json
import statistics
import sys

import harness

ROUNDS = 200
WORK = {"eager": ["eager", "1", "5000", str(ROUNDS)], "graph": ["graph", "1", "20000", str(ROUNDS)]}
STATES = {"plain": None, "over": "duration=0.3,flush=0.1",
          "leaving": "duration=0.3,flush=0.1,finalize"}
TURNS = 3
RUN_S = 30  # at most


def late_times(text):
    """Least and median of the second half of the rounds: the window is over in all of them."""
    rounds = json.loads(text.splitlines()[-1])
    times = {}
    for what in ("host_ns", "wall_ns"):
        late = rounds[what][len(rounds[what]) // 2:]
        times[what] = {"least": min(late), "median": statistics.median(late)}
    return times


def launch(tools, work, state):
    result = {"work": work, "state": state}
    command = [tools.launches] + WORK[work]
    if STATES[state] is None:
        run = harness.plain(command, RUN_S)
        status, out, err = run.returncode, run.stdout, run.stderr
    else:
        run = harness.record(tools, command, STATES[state], timeout=RUN_S)
        status, out, err = run.status, run.out, run.err
        if run.parts:
            part = run.only()
            result.update(window_ended=part.number("end") == harness.END_WINDOW,
                          detach=part.values.get("detach"), kernels=part.number("kernels"),
                          lost=part.lost)
    result["status"] = status
    result.update(late_times(out) if status == 0 else {"err": err[-500:]})
    return result


def main():
    tools = harness.Tools(sys.argv[1])
    results = []
    for work in sys.argv[3:] or WORK:
        for _ in range(TURNS):
            for state in STATES:
                if harness.left_s() < 0:
                    print("detach: the time is over")
                    return 2
                results.append(launch(tools, work, state))
                print(json.dumps(results[-1]), flush=True)
                if len(sys.argv) > 2:
                    harness.save_json(sys.argv[2], results)
    return any(r["status"] != 0 for r in results)


if __name__ == "__main__":
    sys.exit(main())
