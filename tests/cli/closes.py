#!/usr/bin/env python3
"""closes.py REPORT.json: every sum of a report closes to the nanosecond."""
import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
problems = []


def same(what, a, b):
    if a != b:
        problems.append(f"{what}: {a} is not {b}")


def total(rows, key="exclusive_ns"):
    return sum(row[key] for row in rows)


time = report["time"]
counts = report["counts"]
launches = counts["kernels"] + counts["memcpys"] + counts["memsets"]
same("busy + idle and wall", time["busy_ns"] + time["idle_ns"], time["wall_ns"])
for table in "classes", "families", "kernels":
    same(f"{table} and busy", total(report[table]), time["busy_ns"])
    same(f"{table} and launches", total(report[table], "count"), launches)
    same(f"{table} and durations", total(report[table], "sum_ns"),
         time["kernel_sum_ns"] + time["memcpy_sum_ns"] + time["memset_sum_ns"])
for row in report["classes"]:
    members = [k for k in report["kernels"] if k["class"] == row["class"]]
    same(f"kernels and class {row['class']}", total(members), row["exclusive_ns"])
for key in time:
    same(f"devices and {key}", sum(d["time"][key] for d in report["devices"]), time[key])
    same(f"files and {key}", sum(f["time"][key] for f in report["files"]), time[key])
for device in report["devices"]:
    same(f"classes of device {device['id']}", sum(device["class_exclusive_ns"].values()),
         device["time"]["busy_ns"])
for file in report["files"]:
    for step in file["steps"]:
        same(f"step {step['number']}", sum(step["class_exclusive_ns"].values()) + step["idle_ns"],
             step["wall_ns"])
for row in report["kernels"]:
    if not 0 <= (row["frac_busy"] or 0) <= 1 or not 0 <= (row["frac_wall"] or 0) <= 1:
        problems.append(f"share out of range: {row['name']}")
names = [(-k["exclusive_ns"]) for k in report["kernels"]]
same("order of kernels", names, sorted(names))
for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
