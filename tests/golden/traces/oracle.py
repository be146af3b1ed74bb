#!/usr/bin/env python3
"""Counts and sums of Kineto traces, taken with Python's json and integers only.

An independent check of the reader in profiler/: it shares nothing with it. Without arguments it
prints expected.tsv for the traces beside it; with --check it compares; with files, it takes these.
"""
import gzip
import json
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset",
         "memcpy": "memcpy", "memset": "memset"}
LAUNCHES = ("LaunchKernel", "LaunchCooperativeKernel", "ModuleLaunch", "ExtLaunch",
            "ExtModuleLaunch", "GraphLaunch", "Memcpy", "Memset")
COLUMNS = ("trace events kernels kernel_ns memcpys memcpy_ns memsets memset_ns first_ns last_ns "
           "busy_ns names with_op with_lead lead_ns").split()


def ns(value):
    """Nanoseconds of microseconds, halves away from zero."""
    return int((Decimal(value) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def load(path):
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    doc = json.loads(raw.decode("utf-8", "surrogateescape"), parse_float=Decimal)
    return doc["traceEvents"] if isinstance(doc, dict) else doc


def is_launch(name):
    for api in ("cuda", "hip", "cu"):
        if name.startswith(api):
            return name[len(api):].startswith(LAUNCHES)
    return False


def external_id(event):
    args = event.get("args", {})
    return args.get("External id", args.get("external id", 0))


def union(spans):
    """Length of the union of (start, end) pairs."""
    total, reach = 0, None
    for start, end in sorted(spans):
        if reach is None or start > reach:
            reach = start
        if end > reach:
            total += end - reach
            reach = end
    return total


def account(path):
    events = load(path)
    work, ops, launches = [], {}, {}
    for e in events:
        if e.get("ph") != "X":
            continue
        cat = str(e.get("cat", "")).lower()
        if cat in KINDS:
            work.append((KINDS[cat], ns(e["ts"]), ns(e["dur"]), e))
        elif cat == "cpu_op":
            ops[external_id(e)] = e["name"]
        elif cat in ("cuda_runtime", "cuda_driver") and is_launch(e["name"]):
            launches[e["args"].get("correlation", 0)] = e
    row = {"trace": path.name, "events": len(events), "names": len({w[3]["name"] for w in work})}
    for kind in ("kernel", "memcpy", "memset"):
        mine = [w for w in work if w[0] == kind]
        row[kind + "s"] = len(mine)
        row[kind + "_ns"] = sum(w[2] for w in mine)
    row["first_ns"] = min((w[1] for w in work), default=0)
    row["last_ns"] = max((w[1] + w[2] for w in work), default=0)
    devices = {w[3]["args"].get("device", 0) for w in work}
    row["busy_ns"] = sum(union((w[1], w[1] + w[2]) for w in work
                               if w[3]["args"].get("device", 0) == d) for d in devices)
    leads, with_op = [], 0
    for _, start, _, e in work:
        launch = launches.get(e["args"].get("correlation", 0))
        with_op += external_id(e) in ops or (launch is not None and external_id(launch) in ops)
        if launch is not None and 0 <= start - ns(launch["ts"]) < 0xffffffff:
            leads.append(start - ns(launch["ts"]))
    row["with_op"], row["with_lead"], row["lead_ns"] = with_op, len(leads), sum(leads)
    return row


def main():
    here = Path(__file__).resolve().parent
    check = "--check" in sys.argv
    files = [Path(a) for a in sys.argv[1:] if not a.startswith("--")]
    lines = ["\t".join(COLUMNS)]
    for path in files or sorted(here.glob("*.json.gz")):
        row = account(path)
        lines.append("\t".join(str(row[c]) for c in COLUMNS))
    text = "\n".join(lines) + "\n"
    if not check:
        sys.stdout.write(text)
    elif text != (here / "expected.tsv").read_text():
        sys.exit("expected.tsv does not match the traces")


if __name__ == "__main__":
    main()
