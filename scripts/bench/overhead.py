#!/usr/bin/env python3
"""What recording costs, measured in turns; run by scripts/bench/overhead."""
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/gpu"))
from harness import (MODELS, TOTAL_OWN_CPU_NS, TOTAL_PEAK_POOL, TOTAL_REQUESTS,  # noqa: E402
                     TOTAL_REQUESTS_SLOW, Tools, last_json, machine, plain, record)

ROUNDS = int(os.environ.get("KREACH_ROUNDS", "3"))
LIMIT_S = float(os.environ.get("KREACH_LIMIT_S", "520"))
STARTED = time.monotonic()

# name: options for libkreach.so, None = without it
COLUMNS = {"plain": None, "floor": "floor", "kreach": ""}

# mode, threads, kernels a round, rounds in a process
SHAPES = [("eager", 1, 2000, 50), ("eager", 16, 2000, 25), ("graph", 1, 20000, 20),
          ("graph", 16, 10000, 10)]

# One at a time, against "kreach" and "floor". KREACH_SWITCHES="NAME;NAME" chooses some.
SWITCHES = {
    "kernels only": "kernels-only", "no subscription (yield)": "yield",
    "pinned host buffers": "pinned", "one buffer for all threads": "one-buffer",
    "CUPTI zeroes buffers": "unzeroed", "buffers of 128 KiB": "buffer=128", "buffers of 512 KiB": "buffer=512",
    "buffers of 8 MiB": "buffer=8192", "16 device buffers ready": "device-ready=16",
    "device buffers of 12.8 MB": "device-buffer=12500", "flush each 5 s": "flush=5",
    "graph level": "graph-level", "launch calls too": "launches",
    "attached, window never opens": "delay=10000",
    "window closed before (detached)": "duration=0.001,flush=0.01",
    "floor, kernels only": "floor,kernels-only",
    "floor, flush each 5 s": "floor,flush=5",
}

MODEL_STEPS = {"dlrm_inference": 200, "resnet50_training": 20, "decode_eager": 12,
               "decode_graph": 20}
# name: (options for libkreach.so or None, profiler inside the program)
MODEL_COLUMNS = {"plain": (None, "none"), "floor": ("floor", "none"), "kreach": ("", "none"),
                 "torch device": (None, "device"), "torch full": (None, "full"),
                 "proton": (None, "proton")}


def chosen_switches():
    names = [n for n in os.environ.get("KREACH_SWITCHES", "").split(";") if n]
    return {n: SWITCHES[n] for n in names} if names else SWITCHES


def out_of_time(need_s):
    return time.monotonic() - STARTED + need_s > LIMIT_S


def launches(tools, options, shape):
    """One process: (times, facts of the recording)."""
    command = [tools.launches] + [str(x) for x in shape]
    if options is None:
        return last_json(plain(command).stdout), {}
    run = record(tools, command, options)
    facts = {}
    if len(run.parts) == 1:
        part = run.parts[0]
        kernels = part.number("kernels") or part.number("graphs")
        facts = {"kernels": kernels, "lost": part.lost,
                 "bytes_a_kernel": part.number("bytes") / max(kernels, 1),
                 "own_cpu_ns_a_kernel": part.totals.get(TOTAL_OWN_CPU_NS, 0) / max(kernels, 1),
                 "requests": part.totals.get(TOTAL_REQUESTS, 0),
                 "requests_slow": part.totals.get(TOTAL_REQUESTS_SLOW, 0),
                 "peak_pool_mib": part.totals.get(TOTAL_PEAK_POOL, 0) / 2**20}
    return last_json(run.out), facts


def measure_launches(tools, columns, shapes):
    """Rounds over all columns; minimum of minima and median of medians, in ns a kernel."""
    rows = {}
    for turn in range(ROUNDS):
        for shape in shapes:
            for name, options in columns.items():
                if out_of_time(20):
                    return rows
                times, facts = launches(tools, options, shape)
                row = rows.setdefault("%s, %d threads" % shape[:2], {})
                cell = row.setdefault(name, {"rounds": []})
                cell["rounds"].append(times)
                cell.update(facts)
    for row in rows.values():
        for cell in row.values():
            for what in ("host", "wall"):
                cell[what + "_min_ns"] = min(t[what + "_min_ns"] for t in cell["rounds"])
                cell[what + "_median_ns"] = statistics.median(
                    t[what + "_median_ns"] for t in cell["rounds"])
            del cell["rounds"]
    return rows


def print_launches(rows):
    for shape, row in rows.items():
        print("\n%s: ns a kernel, minimum (median)" % shape)
        base = row.get("plain") or next(iter(row.values()))
        for name, cell in row.items():
            print("  %-32s host %8.0f (%8.0f)  wall %8.0f (%8.0f)  %+7.0f ns  %s" %
                  (name, cell["host_min_ns"], cell["host_median_ns"], cell["wall_min_ns"],
                   cell["wall_median_ns"], cell["wall_min_ns"] - base["wall_min_ns"],
                   "%.1f B, %.0f ns CPU" % (cell["bytes_a_kernel"], cell["own_cpu_ns_a_kernel"])
                   if cell.get("kernels") else ""))


def model_times(tools, column):
    """All rows in one process: starting torch costs more than measuring."""
    options, profiler = MODEL_COLUMNS[column]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = MODELS + ["%s:%d" % row for row in MODEL_STEPS.items()]
        command += ["--profiler", profiler, "--times", out.name]
        if options is None:
            done = plain(command)
            status, text = done.returncode, done.stderr
        else:
            done = record(tools, command, options)
            status, text = done.status, done.err
        if status != 0:
            print("%s: %s" % (column, text[-600:]), file=sys.stderr)
            return {}
        with open(out.name) as f:
            return json.load(f)


def measure_models(tools):
    """All steps' times of each row and column over the rounds."""
    rows = {row: {} for row in MODEL_STEPS}
    slowest_s = 0
    for turn in range(ROUNDS):
        for column in MODEL_COLUMNS:
            if out_of_time(slowest_s + 5):
                return rows
            start = time.monotonic()
            for row, times in model_times(tools, column).items():
                rows[row].setdefault(column, []).extend(times)
            slowest_s = max(slowest_s, time.monotonic() - start)
    return rows


def summarize(times):
    ordered = sorted(1e3 * t for t in times)
    return {"n": len(ordered), "min_ms": ordered[0], "median_ms": statistics.median(ordered),
            "quartiles_ms": [ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]]}


def print_models(rows):
    for row, cells in rows.items():
        print("\n%s: ms a step, median (quartiles), minimum" % row)
        base = cells.get("plain")
        for column, cell in cells.items():
            print("  %-14s %9.3f (%.3f..%.3f) %9.3f   median %+6.1f %%  minimum %+6.1f %%" %
                  (column, cell["median_ms"], *cell["quartiles_ms"], cell["min_ms"],
                   100 * (cell["median_ms"] / base["median_ms"] - 1),
                   100 * (cell["min_ms"] / base["min_ms"] - 1)))


def main():
    tools, folder, wanted = Tools(sys.argv[1]), sys.argv[2], sys.argv[3:]
    results = {"machine": machine(), "rounds": ROUNDS}
    path = os.path.join(folder, "overhead.json")
    if os.path.exists(path):
        with open(path) as f:
            results = dict(json.load(f), **results)

    def keep(key, value):
        results[key] = value
        with open(path, "w") as out:
            json.dump(results, out, indent=1)

    if "launches" in wanted:
        keep("launches", measure_launches(tools, COLUMNS, SHAPES))
        print_launches(results["launches"])
    if "switches" in wanted:
        shapes = [SHAPES[0], SHAPES[2]]
        keep("switches", measure_launches(tools, dict(COLUMNS, **chosen_switches()), shapes))
        print_launches(results["switches"])
    if "models" in wanted:
        rows = measure_models(tools)
        keep("models", {row: {c: summarize(t) for c, t in cells.items() if t}
                        for row, cells in rows.items()})
        print_models(results["models"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
