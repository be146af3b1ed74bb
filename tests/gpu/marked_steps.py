#!/usr/bin/env python3
"""Runs marked steps of a model of models.py and tells when each began [ns, REALTIME].

Usage: marked_steps.py MODEL
Each line "STEPS SECONDS HOW" on standard input asks for at least so many steps, and for so long; it
is answered with a JSON line. HOW: synced waits for the GPU after each step, unsynced after the
last; both mark with an NVTX range. emitted marks with torch's record_function, which
torch.autograd.profiler.emit_nvtx makes a range, as it does with every operation.
"""
import contextlib
import json
import sys
import time

import torch

import models

WARM = 5  # unmarked steps before the first line


@contextlib.contextmanager
def nvtx_range():
    torch.cuda.nvtx.range_push("step")
    yield
    torch.cuda.nvtx.range_pop()


def run(step, steps, seconds, how):
    mark = nvtx_range
    if how == "emitted":
        def mark():
            return torch.autograd.profiler.record_function("step")
    starts_ns = []
    end = time.monotonic() + seconds
    while len(starts_ns) < steps or time.monotonic() < end:
        with mark():
            starts_ns.append(time.time_ns())
            step()
            if how != "unsynced":
                torch.cuda.synchronize()
    torch.cuda.synchronize()
    return starts_ns


def main():
    torch.manual_seed(1)
    step = models.MODELS[sys.argv[1]]()
    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        steps, seconds, how = line.split()
        with torch.autograd.profiler.emit_nvtx(enabled=how == "emitted"):
            starts_ns = run(step, int(steps), float(seconds), how)
        print(json.dumps({"starts_ns": starts_ns}), flush=True)


if __name__ == "__main__":
    main()
