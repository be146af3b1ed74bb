# The benchmark of recording: statistics in pairs, and programs that take turns.
root=${GOLDEN%/tests/golden}
ROOT=$root python3 - 2>stderr <<'PYTHON' || cat stderr
import math
import os
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [os.environ["ROOT"] + "/scripts/bench", os.environ["ROOT"] + "/tests/gpu"]
import overhead
import paired
from harness import Agent, AgentError

chance = random.Random(7)
swing = [1 + 0.4 * chance.random() for _ in range(20)]


def cell(factor, turns=range(20)):
    return [{"turn": t, "value": 1000 * factor * swing[t]} for t in turns]


def check(what, good):
    print(what + ": " + ("yes" if good else "NO"))


plain, floor, kreach = cell(1), cell(1.2), cell(1.23)
value, low, high = paired.ratio(kreach, floor)
check("a swing of the machine that both columns saw cancels",
      math.isclose(value, 1.025) and math.isclose(low, high))
check("the added cost is compared with the added cost",
      all(math.isclose(x, 1.15) for x in paired.added_ratio(kreach, floor, plain)))
check("turns that only one column has are left out",
      paired.together(cell(1, [1, 3, 5]), cell(2, [3, 4, 5])) ==
      [(1000 * swing[t], 2000 * swing[t]) for t in (3, 5)])
check("four turns give no interval", paired.ratio(cell(1, range(4)), plain) is None)
check("a floor that adds nothing is no measure",
      paired.added_ratio(kreach, cell(1), plain) is None)
few = paired.ratios(cell(1.2, [0, 2]), plain)
check("two turns still give their ratios",
      len(few) == 2 and all(math.isclose(r, 1.2) for r in few))
halved = [dict(v, min=v["value"] / 2) for v in plain]
check("the minimum is that of the steps in a visit",
      math.isclose(paired.least_ratio(halved, plain), 0.5))
luckiest = swing.index(min(swing))
check("a lucky turn that only one column has does not count in the minimum",
      math.isclose(paired.least_ratio(cell(1.1, {*range(20)} - {luckiest}), plain), 1.1))
check("columns without a common turn have no minimum",
      paired.least_ratio(cell(1, [1]), cell(1, [2])) is None)
check("the added cost is compared by minima too",
      math.isclose(paired.least_added_ratio(kreach, floor, plain), 1.15))
unlucky = [dict(v, value=v["value"] * (1.3 if v["turn"] == luckiest else 1)) for v in plain]
check("a floor whose minimum is higher by one turn's bad luck is no measure",
      paired.least_ratio(unlucky, plain) > 1 and
      paired.least_added_ratio(kreach, unlucky, plain) is None)
noisy = [dict(v, value=v["value"] * chance.gauss(1, 0.05)) for v in cell(1)]
value, low, high = paired.ratio(noisy, plain)
ranks = sorted(v["value"] / p["value"] for v, p in zip(noisy, plain))
check("the interval of noise is about that of the binomial law: ranks 6 and 15 of 20",
      ranks[4] <= low <= ranks[7] and ranks[12] <= high <= ranks[15])

ECHO = """
import json, sys
print('{"ready": true}', flush=True)
for line in sys.stdin:
    print("loading ...")
    print(json.dumps({"s": [float(line) * 1e-3] * 3}), flush=True)
"""
PROGRAMS = {"plain": ECHO, "kreach": ECHO,
            "dies": "import sys\nprint('{}', flush=True)\nsys.exit('out of luck')",
            "silent": "print('{}', flush=True)\nimport time\ntime.sleep(60)"}


def start(column):
    return Agent(None, [sys.executable, "-c", column.profiler])


columns = {name: overhead.Column(None, text) for name, text in PROGRAMS.items() if name != "silent"}
columns["kreach"] = columns["kreach"]._replace(every=2)
trial = overhead.Trial(start, columns, {"row": overhead.Row("{}", 4, 1)}, 2, 6).run()
cells = trial["rows"]["row"]
check("an answer is a visit", cells["plain"][0] ==
      {"turn": 0, "value": 4.0, "n": 3, "min": 4.0, "quartiles": [4.0, 4.0]})
check("a program that dies costs its own column only",
      len(cells["plain"]) == trial["turns"] > 6 and not cells["dies"])
check("it is tried twice, and its last words are kept",
      len(trial["failed"]["dies"]) == 2 and "out of luck" in trial["failed"]["dies"][0])
check("a column of every second turn has every second turn",
      [v["turn"] for v in cells["kreach"]] == list(range(0, trial["turns"], 2)))
check("all programs are started anew", trial["starts"] > 1)
check("it ends in time", trial["seconds"] < 3)
with open(os.environ["ROOT"] + "/profiler/capture/cap_opts.c") as f:
    known = set(re.findall(r'^    \{ "([a-z-]+)", ', f.read(), re.M))
columns = list(overhead.SWITCHES.values()) + list(overhead.GRAPH_COLUMNS.values())
columns += list(overhead.OURS.values())
used = {o.split("=")[0] for c in columns for o in (c.options or "").split(",") if o}
check("libkreach.so knows all options of all columns", used <= known and len(used) > 15)
os.environ["KREACH_ROWS"] = "graph, 1 thread;"
check("rows and switches can be chosen",
      list(overhead.chosen("KREACH_ROWS", overhead.SWITCH_ROWS)) == ["graph, 1 thread"] and
      overhead.chosen("KREACH_SWITCHES", overhead.SWITCHES) is overhead.SWITCHES)
os.environ["KREACH_ROWS"] = "graf"
try:
    overhead.chosen("KREACH_ROWS", overhead.SWITCH_ROWS)
    check("one that is not there ends it", False)
except SystemExit as error:
    check("one that is not there ends it", "no 'graf'" in str(error))
agent = Agent(None, [sys.executable, "-c", PROGRAMS["silent"]])
agent.reply(10)
try:
    agent.ask("1", 0.2)
    check("a silent program is given up", False)
except AgentError as error:
    check("a silent program is given up", "no answer" in str(error))
agent.close()
PYTHON
