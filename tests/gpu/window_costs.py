#!/usr/bin/env python3
"""Builds and runs tests/gpu/window_costs.cu; needs gcc, nvcc and a GPU.

Usage: tests/gpu/window_costs.py [FOLDER [CASE...]]
Results in FOLDER (default $OUT, else build/gpu); all cases, or those whose first word is named.

Each case is a process of its own with a time limit, because CUPTI may crash or hang in it: that is
a result too. Writes FOLDER/window_costs.json after each and prints what it found. No case begins
after KREACH_LIMIT_S.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
CAPTURE = os.path.join(HERE, "..", "..", "profiler", "capture")
CASES = [["moves", "idle", "60"], ["moves", "busy", "30"], ["moves", "launching", "60"],
         ["moves", "graph", "40"],
         ["launches", "40"], ["inflight"],
         ["finalize", "exit", "eager", "20"], ["finalize", "exit", "graph", "20"],
         ["finalize", "direct", "eager", "10"], ["finalize", "direct", "graph", "10"], ["waits"],
         ["windows", "same", "500", "300"], ["windows", "other", "500", "300"],
         ["windows", "context", "500", "300"], ["windows", "other", "0", "300"],
         ["windows", "other", "20000", "50"]]
CASES += [["leave", words] for words in (
    "eager,launch", "graph,launch", "eager,after,launch", "graph,after,launch",
    "eager,graph,after,again,launch", "eager,graph,after,idle", "eager,graph,after,own",
    "eager,graph,after,drained,own", "eager,graph,after,again,own", "eager,graph,after,direct",
    "eager,graph,own", "eager,graph,after,beside,own", "eager,after,beside,drained,launch",
    "eager,graph,after,driver", "eager,graph,after,drained,driver",
    "eager,graph,after,beside,driver", "eager,after,drained,beside,driver")]
CASES += [["stays", words] for words in (
    "idle", "queued", "launching", "launching,last", "launching,one", "launching,other",
    "launching,made", "idle,early", "queued,early", "launching,early", "launching,early,last",
    "launching,early,other,stream")]


def build(folder):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    finder = os.path.join(folder, "cap_cupti.o")
    program = os.path.join(folder, "window_costs")
    include = "-I" + CAPTURE
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-D_GNU_SOURCE", include, "-c", "-o", finder,
                    os.path.join(CAPTURE, "cap_cupti.c")], check=True)
    subprocess.run([nvcc, "-O2", "-std=c++17", os.environ.get("NVCC_ARCH", "-arch=native"), include,
                    "-o", program, os.path.join(HERE, "window_costs.cu"), finder, "-ldl",
                    "-lpthread"], check=True)
    return program


def run(program, case):
    start = time.monotonic()
    try:
        done = subprocess.run([program] + case, text=True, capture_output=True, timeout=35)
        status, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, out, err = "timeout", (late.stdout or b"").decode(), "timed out"
    lines = []
    for line in out.splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            err += "\nnot JSON: " + line
    return {"case": case, "status": status, "seconds": round(time.monotonic() - start, 1),
            "stderr": err[-1000:], "lines": lines}


def show(result):
    print("# %s: status %s %s" % (" ".join(result["case"]), result["status"], result["stderr"]))
    lines = result["lines"]
    if result["case"][0] == "finalize" and len(lines) > 4:
        lines = lines[:2] + lines[-1:]
        print("  %d cycles, all right: %s" % (len(result["lines"]),
                                              all(l["right"] for l in result["lines"])))
    for line in lines:
        times = {k: v for k, v in line.items() if isinstance(v, dict) and "min_us" in v}
        for key, value in times.items():
            print("  %-32s min %10.2f  median %10.2f  max %10.2f us" %
                  (key, value["min_us"], value["median_us"], value["max_us"]))
        print("  " + json.dumps({k: v for k, v in line.items() if k not in times and k != "case"}))
    sys.stdout.flush()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("OUT", "build/gpu")
    wanted = sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        program = build(scratch)
        results = []
        for case in (c for c in CASES if not wanted or c[0] in wanted):
            if harness.left_s() < 0:
                print("# %s: not run, the time is over" % " ".join(case))
                continue
            results.append(run(program, case))
            show(results[-1])
            harness.save_json(os.path.join(folder, "window_costs.json"), results)


if __name__ == "__main__":
    main()
