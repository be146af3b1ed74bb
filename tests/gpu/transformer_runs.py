#!/usr/bin/env python3
"""The transformers in their real sizes on a GPU: numbers of weights, speed, and the whole 70B shape.

Usage: transformer_runs.py KREACH_WORKLOAD [--out FILE]

Each run checks its own results first. A model's number of weights must be the published one; where
not all layers fit, that of the layers that do. Prints a table, and writes the programs' own JSON
after each. No run begins after KREACH_LIMIT_S.
"""
import argparse
import json
import subprocess
import sys
import time

import harness

# Options, and the published number of weights.
RUNS = (
    ("llama --preset 1b --phase prefill", 1235814400),
    ("llama --preset 1b --phase decode", 1235814400),
    ("llama --preset 1b --phase decode --graph", 1235814400),
    ("llama --preset 8b --phase prefill", 8030261248),
    ("llama --preset 8b-fused --phase prefill", 8030261248),
    ("llama --preset 8b --phase decode", 8030261248),
    ("llama --preset 8b --phase decode --graph", 8030261248),
    ("llama --preset 70b --phase prefill", 70553706496),
    ("llama --preset 70b --phase decode", 70553706496),
    ("gpt2 --preset small --phase train", 124439808),
    ("gpt2 --preset small-fused --phase train", 124439808),
    ("gpt2 --preset medium --phase train", 354823168),
    ("gpt2 --preset small --phase infer", 124439808),
    ("bert --preset base", 109482240),
    ("bert --preset base --graph", 109482240),
    ("bert --preset large", 335141888),
)

LIMIT_S = 90  # of one run
LAYER = {"1b": 60821504, "8b": 218112000, "70b": 855654400}  # weights


def expected_weights(options, published, note):
    """note is "N of M layers", or nothing when all fit."""
    if not note:
        return published
    preset = options.split()[2].split("-")[0]
    kept, _, total, _ = note.split()
    return published - (int(total) - int(kept)) * LAYER[preset]


def run(program, options):
    """What the program printed, or why there is nothing."""
    try:
        done = subprocess.run([program, *options.split(), "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None, "ran longer than %d s" % LIMIT_S
    if done.returncode:
        return None, "status %d: %s" % (done.returncode, done.stderr.decode().strip())
    return json.loads(done.stdout), None


def line_of(result, seconds):
    check = result["check"]
    return "%9.3f ms %7.1f TFLOP/s %6.1f GB  check %.1e of %.1e  %s  (%.0f s)" % (
        result["step_ns"]["median"] / 1e6, result["flop_per_s"] / 1e12,
        (result["peak_bytes"] or 0) / 1e9, check["error"], check["tolerance"],
        result["note"] or "", seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", metavar="KREACH_WORKLOAD")
    parser.add_argument("--out")
    args = parser.parse_args()
    results, n_failed = [], 0
    for options, published in RUNS:
        if harness.left_s() < 0:
            print("%-42s not run: the time is over" % options)
            continue
        start = time.monotonic()
        result, problem = run(args.program, options)
        if result:
            expected = expected_weights(options, published, result["note"])
            if result["n_params"] != expected:
                problem = "%d weights, expected %d" % (result["n_params"], expected)
        print("%-42s %s" % (options, problem or line_of(result, time.monotonic() - start)),
              flush=True)
        n_failed += problem is not None
        results.append({"options": options, "result": result, "problem": problem})
        if args.out:
            harness.save_json(args.out, results)
    print("%d of %d failed" % (n_failed, len(results)))
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
