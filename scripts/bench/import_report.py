#!/usr/bin/env python3
"""Runs the readers in turn on the traces that scripts/bench/import made, and prints the rates."""
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 3
PAIRS = 15


def run_kreach(bench, path, threads):
    out = subprocess.run([bench, path, str(threads)], check=True, capture_output=True, text=True)
    words = out.stdout.split()
    return {k: float(v) for k, v in zip(words[::2], words[1::2])}


def run_python(path):
    start = time.perf_counter()
    with open(path, encoding="utf-8") as trace:
        events = json.load(trace)["traceEvents"]
    total = sum(round(e["dur"] * 1000) for e in events
                if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    return time.perf_counter() - start, total


def run_gzip(path):
    start = time.perf_counter()
    with open(os.devnull, "wb") as null:
        subprocess.run(["gzip", "-dc", path], check=True, stdout=null)
    return time.perf_counter() - start


def best(rounds):
    """The fastest of several runs: what the machine can do when others leave it alone."""
    return min(rounds, key=lambda r: r["seconds"])


def rate(run):
    return run["text_bytes"] / 1e9 / run["seconds"]


def report_threads(bench, path):
    """One and two threads in turn; the median of the pairs' ratios does not flatter."""
    ratios = []
    for _ in range(PAIRS):
        one, two = run_kreach(bench, path, 1), run_kreach(bench, path, 2)
        ratios.append(one["seconds"] / two["seconds"])
    print(f"two threads against one: {statistics.median(ratios):.2f}x, median of {PAIRS} pairs, "
          f"{min(ratios):.2f} to {max(ratios):.2f} (wanted: 1.8)")


def report_sizes(bench, tmp):
    print("size [GB]  threads  seconds  GB/s   device events  memory beyond the file [MB]  "
          "64 MB + 64 B an event")
    for name in ("4", "2", "1"):
        runs = {1: [], 2: []}
        for _ in range(ROUNDS):
            for threads in runs:
                runs[threads].append(run_kreach(bench, tmp / f"{name}.json", threads))
        for threads, rounds in runs.items():
            run = best(rounds)
            peak = max(r["peak_anon_kib"] for r in rounds) * 1024 / 1e6
            allowed = 64 + 64 * run["events"] / 1e6
            print(f"{run['text_bytes'] / 1e9:9.2f}  {threads:7}  {run['seconds']:7.2f}  "
                  f"{rate(run):4.2f}  {run['events']:14.0f}  {peak:27.1f}  {allowed:21.1f}")
    report_threads(bench, tmp / "4.json")


def report_python(bench, tmp):
    path = tmp / "python.json"
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(run_kreach(bench, path, 1))
        theirs.append(run_python(path))
    seconds, total = min(theirs)
    if total != ours[0]["sum_ns"]:
        sys.exit(f"sums differ: {total} against {ours[0]['sum_ns']:.0f}")
    mb = path.stat().st_size / 1e6
    print(f"json.load and the same sums: {mb / seconds:.0f} MB/s; kreach on one thread is "
          f"{seconds / best(ours)['seconds']:.1f}x that (wanted: 10)")


def report_gzip(bench, tmp):
    path = tmp / "zipped.json.gz"
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(run_kreach(bench, path, 2))
        theirs.append(run_gzip(path))
    text = ours[0]["text_bytes"]
    print(f"gzip -dc: {text / 1e9 / min(theirs):.2f} GB/s of text; kreach on .gz: "
          f"{rate(best(ours)):.2f} GB/s, {min(theirs) / best(ours)['seconds']:.2f}x (wanted: 0.9)")


def main():
    bench, tmp = sys.argv[1], Path(sys.argv[2])
    report_python(bench, tmp)
    report_gzip(bench, tmp)
    report_sizes(bench, tmp)


if __name__ == "__main__":
    main()
