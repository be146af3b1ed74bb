#!/usr/bin/env python3
"""Runs steps of a model of models.py, each marked, and prints when each began [ns, REALTIME].

Usage: marked_steps.py MODEL STEPS [HOW]      HOW: synced (default), unsynced, emitted
synced waits for the GPU after each step, unsynced after the last; both mark with an NVTX range.
emitted marks with torch's record_function, which torch.autograd.profiler.emit_nvtx makes a range,
as it does with every operation.
"""
import contextlib
import json
import sys
import time

import torch

import models


@contextlib.contextmanager
def nvtx_range():
    torch.cuda.nvtx.range_push("step")
    yield
    torch.cuda.nvtx.range_pop()


def run(step, steps, how):
    mark = nvtx_range
    if how == "emitted":
        def mark():
            return torch.autograd.profiler.record_function("step")
    starts_ns = []
    for _ in range(steps):
        with mark():
            starts_ns.append(time.time_ns())
            step()
            if how != "unsynced":
                torch.cuda.synchronize()
    torch.cuda.synchronize()
    return starts_ns


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    how = sys.argv[3] if len(sys.argv) > 3 else "synced"
    torch.manual_seed(1)
    step = models.MODELS[name]()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    emitting = torch.autograd.profiler.emit_nvtx(enabled=how == "emitted")
    with emitting:
        starts_ns = run(step, steps, how)
    print(json.dumps({"starts_ns": starts_ns}))


if __name__ == "__main__":
    main()
