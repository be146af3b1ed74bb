#!/usr/bin/env python3
"""Independent account of a Kineto trace, held against `kreach report --json`.

Usage: account.py KREACH TRACE...

Counts, sums, wall, busy and idle are computed here from the JSON text alone, by another method
than kreach's (one sorted list of intervals, merged), in exact decimal arithmetic, and must be equal
to the nanosecond; so must the parts: classes + idle = wall, families and kernels = classes.
Exclusive times per kernel are recomputed by cutting time at every start and end. Exits 1 at the
first trace that differs, after naming every difference.
"""
import gzip
import json
import subprocess
import sys
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

DEVICE_WORK = {"kernel": "kernels", "gpu_memcpy": "memcpys", "gpu_memset": "memsets"}


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    doc = json.loads(data.decode("utf-8", "replace"), parse_float=Decimal, parse_int=Decimal)
    return doc if isinstance(doc, list) else doc["traceEvents"]


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value(rounding=ROUND_HALF_UP))


def device_work(events):
    """(device, kind, name, start, end) of each piece of device work."""
    for e in events:
        kind = DEVICE_WORK.get(str(e.get("cat", "")).lower())
        if kind and e.get("ph") == "X":
            start = ns(e["ts"])
            yield int(e["args"]["device"]), kind, e["name"], start, start + ns(e["dur"])


def union(intervals):
    total, reach = 0, None
    for start, end in sorted(intervals):
        if reach is None or start > reach:
            total, reach = total + end - start, end
        elif end > reach:
            total, reach = total + end - reach, end
    return total


def exclusive(work):
    """Time per name, shared evenly with what runs beside it (exact fractions of ns)."""
    edges = sorted([(w[3], 1, i) for i, w in enumerate(work)] + [(w[4], 0, i) for i, w in enumerate(work)])
    running, last = set(), None
    shares = defaultdict(Fraction)
    for at, starts, i in edges:
        if running and at > last:
            for j in running:
                shares[work[j][2]] += Fraction(at - last, len(running))
        if starts:
            running.add(i)
        else:
            running.discard(i)
        last = at
    return shares


def expect(work):
    wall_start = min(w[3] for w in work)
    wall = max(w[4] for w in work) - wall_start
    by_device = defaultdict(list)
    for w in work:
        by_device[w[0]].append(w)
    devices = {}
    shares = defaultdict(Fraction)
    for device, rows in by_device.items():
        busy = union([(w[3], w[4]) for w in rows])
        devices[device] = {"wall_ns": wall, "busy_ns": busy, "idle_ns": wall - busy,
                           "kernel_sum_ns": sum(w[4] - w[3] for w in rows if w[1] == "kernels")}
        for name, share in exclusive([w for w in rows if w[4] > w[3]]).items():
            shares[name] += share
    total = {key: sum(d[key] for d in devices.values()) for key in next(iter(devices.values()))}
    counts = {k: sum(1 for w in work if w[1] == k) for k in DEVICE_WORK.values()}
    counts["distinct_kernels"] = len({w[2] for w in work if w[1] == "kernels"})
    return total, devices, counts, shares


def compare(path, report, work):
    total, devices, counts, shares = expect(work)
    found = []

    def same(what, ours, theirs):
        if ours != theirs:
            found.append(f"{path}: {what}: kreach {theirs}, independently {ours}")

    for key, value in total.items():
        same(f"time.{key}", value, report["time"][key])
    for key, value in counts.items():
        same(f"counts.{key}", value, report["counts"][key])
    for d in report["devices"]:
        for key, value in devices[d["id"]].items():
            same(f"device {d['id']}.{key}", value, d["time"][key])
    classes = sum(c["exclusive_ns"] for c in report["classes"])
    same("classes + idle", report["time"]["wall_ns"], classes + report["time"]["idle_ns"])
    for rows in ("families", "kernels"):
        same(f"sum of {rows}", classes, sum(r["exclusive_ns"] for r in report[rows]))
    by_name = defaultdict(int)
    sums = defaultdict(int)
    for r in report["kernels"]:
        by_name[r["name"]] += r["exclusive_ns"]
        sums[r["name"]] += r["sum_ns"]
    want = defaultdict(int)
    for w in work:
        want[w[2]] += w[4] - w[3]
    sites = max(1, len(work))
    for name, share in shares.items():
        if abs(by_name[name] - share) > min(sites, 1 + 64):  # each site of a name rounds once
            found.append(f"{path}: exclusive of '{name[:60]}': {by_name[name]}, independently {float(share)}")
        same(f"sum of '{name[:60]}'", want[name], sums[name])
    return found


def main():
    kreach, traces = sys.argv[1], sys.argv[2:]
    bad = 0
    for path in traces:
        work = list(device_work(load(path)))
        run = subprocess.run([kreach, "report", "--window", "all", "--json", path], capture_output=True, check=False)
        if run.returncode != 0:
            print(f"{path}: kreach ended with {run.returncode}: {run.stderr.decode()}")
            bad += 1
            continue
        found = compare(path, json.loads(run.stdout), work)
        print("\n".join(found) if found else f"{path}: {len(work)} pieces of device work agree to the nanosecond")
        bad += bool(found)
    sys.exit(1 if bad or not traces else 0)


if __name__ == "__main__":
    main()
