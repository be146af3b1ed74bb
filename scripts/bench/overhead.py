#!/usr/bin/env python3
"""What recording costs, measured in turns; run by scripts/bench/overhead.

Every column of a table is a program that stays alive and works only when asked (harness.Agent), so
that columns take turns within a second or so. The order is shuffled anew each turn, by a fixed
seed, and all programs are started anew every few turns, since a process may be lucky in its memory.
All visits land in overhead.json; scripts/gpu-results makes tables of them.
"""
import collections
import importlib.util
import json
import os
import random
import statistics
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tests/gpu"))
from harness import (MODELS, TOTAL_OWN_CPU_NS, TOTAL_PEAK_POOL, TOTAL_REQUESTS,  # noqa: E402
                     TOTAL_REQUESTS_SLOW, Agent, AgentError, Tools, machine, record, siblings)

LIMIT_S = float(os.environ.get("KREACH_LIMIT_S", "400"))
START_S = 120  # at most, for importing torch and building models
MAX_FAILURES = 2
PINNED = {"KREACH_PIN": "1"}

# options: for libkreach.so, None = without it. every: takes part in each Nth turn.
# worker: what is done to libkreach's thread, "batch" or "beside" (see set_worker).
Column = collections.namedtuple("Column", "options profiler every extra worker",
                                defaults=("none", 1, PINNED, None))
PLAIN, FLOOR, KREACH = Column(None), Column("floor"), Column("")
OURS = {"plain": PLAIN, "floor": FLOOR, "kreach": KREACH}
# A session of theirs takes seconds to end, and what they add is large: fewer visits tell.
PEERS = {"torch device": Column(None, "device", 2), "torch full": Column(None, "full", 2),
         "proton": Column(None, "proton", 2)}

# Row: what an agent is asked for, and how often; the count stands where {} is.
Row = collections.namedtuple("Row", "line count warm")
LAUNCHES = {"eager, 1 thread": Row("eager 1 {} 2", 100000, 10000),
            "eager, 16 threads": Row("eager 16 {} 2", 6000, 1000),
            "graph, 1 thread": Row("graph 1 {} 2", 200000, 10000),
            "graph, 16 threads": Row("graph 16 {} 2", 12000, 2000)}
# One round, half as long: torch.profiler takes microseconds a record after the session.
PYTHON_LAUNCHES = {"python, " + name: Row(row.line[:-1] + "1", row.count // 2, row.warm)
                   for name, row in LAUNCHES.items()}
# Long enough for the worker to come by once.
SWITCH_ROWS = {"eager, 1 thread": Row("eager 1 {} 1", 100000, 10000),
               "eager, 16 threads": Row("eager 16 {} 1", 6000, 1000),
               "graph, 1 thread": Row("graph 1 {} 1", 300000, 10000)}
MODEL_ROWS = {"dlrm_inference": Row("dlrm_inference {}", 400, 20),
              "resnet50_training": Row("resnet50_training {}", 12, 2),
              "resnet50_training_128": Row("resnet50_training_128 {}", 5, 2),
              "decode_eager": Row("decode_eager {}", 4, 1),
              "decode_graph": Row("decode_graph {}", 12, 2)}
LIBTORCH_ROWS = {"libtorch_mlp_inference": Row("mlp {}", 40, 5)}

# What other profilers ask of CUPTI where it differs from the floor (docs/performance.md says where
# that was read). Each lets records pile up until its session ends.
AS_TORCH = "floor,all-calls,ticks,own-ids,one-buffer,unzeroed,buffer=4096,cap=2048,flush=3600"
AS_PROTON = "floor,kernels-only,own-ids,unzeroed,buffer=65536,cap=2048,flush=3600"

# One at a time, against "kreach" and "floor". KREACH_SWITCHES="NAME;NAME" chooses some.
SWITCHES = {
    "kernels only": Column("kernels-only"),
    "copies between devices too": Column("peers"),
    "no subscription (yield)": Column("yield"),
    "pinned host buffers": Column("pinned"),
    "one buffer for all threads": Column("one-buffer"),
    "CUPTI zeroes buffers": Column("unzeroed"),
    "buffers of 128 KiB": Column("buffer=128"),
    "buffers of 512 KiB": Column("buffer=512"),
    "buffers of 4 MiB": Column("buffer=4096"),
    "buffers of 8 MiB": Column("buffer=8192"),
    "16 device buffers ready": Column("device-ready=16"),
    "device buffers of 12.8 MB": Column("device-buffer=12500"),
    "flush each 0.1 s": Column("flush=0.1"),
    "flush each 5 s": Column("flush=5"),
    "graph level": Column("graph-level"),
    "launch calls too": Column("launches"),
    "attached, window never opens": Column("delay=10000"),
    "window closed before (detached)": Column("duration=0.001,flush=0.01"),
    "worker in batch class": Column("", worker="batch"),
    "worker beside the launching thread": Column("", worker="beside"),
    "threads not pinned": Column("", extra={}),
    "floor, CUPTI zeroes buffers": Column("floor,unzeroed"),
    "floor, kernels only": Column("floor,kernels-only"),
    "floor, flush each 5 s": Column("floor,flush=5"),
    "floor, copies between devices too": Column("floor,peers"),
    "floor, records of all calls": Column("floor,all-calls"),
    "floor, times by a counter": Column("floor,ticks"),
    "floor, CUPTI's thread ids": Column("floor,own-ids"),
    "floor, one buffer for all threads": Column("floor,one-buffer"),
    "floor, buffers of 4 MiB": Column("floor,buffer=4096"),
    "floor, as torch.profiler": Column(AS_TORCH),
    "floor, as Proton": Column(AS_PROTON),
}

# Graphs, where recording costs most and other profilers were seen below libkreach: beside them, what
# they do otherwise, and what may make it cheaper. by sessions: the kinds are on for a visit only,
# as theirs are.
GRAPH_COLUMNS = dict(
    {name: SWITCHES[name] for name in (
        "graph level", "attached, window never opens", "pinned host buffers",
        "floor, copies between devices too", "floor, kernels only", "floor, records of all calls",
        "floor, as torch.profiler", "floor, as Proton")},
    **{"floor, as torch.profiler, by sessions":
       Column(AS_TORCH.replace("flush=3600", "flush=0.5,range=steps,linger=0")),
       "torch device": Column(None, "device"), "torch full": Column(None, "full"),
       "proton": Column(None, "proton")})


def chosen(variable, things):
    """Those whose names stand in the variable, with ";" between them; all when it names none."""
    names = [n for n in os.environ.get(variable, "").split(";") if n]
    for name in names:
        if name not in things:
            sys.exit("overhead: %s: no '%s'; there are: %s" % (variable, name, "; ".join(things)))
    return {n: things[n] for n in names} if names else things


def cpu_list(text):
    """CPUs of "0-2,5"."""
    cpus = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def set_worker(agent, how):
    """Puts libkreach's thread into the batch class, or on the core of the first launching thread."""
    thread = agent.worker()
    if thread is None:
        raise AgentError("it has no thread of libkreach's")
    if how == "batch":
        os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        return
    launching = max(os.sched_getaffinity(agent.child.pid))  # as pin() in launches.cu chooses
    others = cpu_list(siblings(launching)) - {launching}
    os.sched_setaffinity(thread, others or {launching})


def spread(numbers, digits):
    ordered = sorted(numbers)
    return {"n": len(ordered), "min": round(ordered[0], digits),
            "quartiles": [round(ordered[len(ordered) // 4], digits),
                          round(ordered[3 * len(ordered) // 4], digits)]}


def visit(turn, reply):
    """What an answer says: launches the least of its rounds [ns], steps their median [ms]."""
    if "wall_ns" in reply:
        return {"turn": turn, "value": min(reply["wall_ns"]), "host": min(reply["host_ns"])}
    times_ms = [1e3 * s for s in reply["s"]]
    return dict(spread(times_ms, 4), turn=turn, value=round(statistics.median(times_ms), 4))


class Trial:
    """Columns that take turns over rows until the time is over."""

    def __init__(self, start, columns, rows, limit_s, turns_a_start):
        self.start = start  # function: an Agent for a column
        self.columns, self.rows = columns, rows
        self.end = time.monotonic() + limit_s
        self.turns_a_start = turns_a_start
        self.agents = {}
        self.failed = collections.defaultdict(list)
        self.cells = {row: {column: [] for column in columns} for row in rows}
        self.order = random.Random(1)
        self.turn, self.starts = 0, 0
        self.longest_s = {True: 0, False: 0}  # a turn of all columns, of those that are in each
        self.start_s = 0

    def left_s(self):
        return self.end - time.monotonic()

    def lose(self, column, why):
        print("%s: %s" % (column, why), file=sys.stderr)
        self.failed[column].append(str(why)[:1200])
        agent = self.agents.pop(column, None)
        if agent:
            agent.close(1)

    def ask(self, column, row, count):
        line = self.rows[row].line.format(count)
        return self.agents[column].ask(line, max(5, min(30, self.left_s() + 10)))

    def open(self):
        """Starts all programs at once, and lets each do a little of every row."""
        begin = time.monotonic()
        wanted = [c for c in self.columns if len(self.failed[c]) < MAX_FAILURES]
        for column in wanted:
            self.agents[column] = self.start(self.columns[column])
        for column in wanted:
            try:
                self.agents[column].reply(max(5, min(START_S, self.left_s())))
                if self.columns[column].worker:
                    set_worker(self.agents[column], self.columns[column].worker)
                for row in self.rows:
                    self.ask(column, row, self.rows[row].warm)
            except (AgentError, OSError) as error:
                self.lose(column, error)
        self.starts += 1
        self.start_s = max(self.start_s, time.monotonic() - begin)

    def close(self):
        for agent in self.agents.values():
            agent.child.stdin.close()
        for agent in self.agents.values():
            agent.close()
        self.agents = {}

    def all_take_part(self):
        return any(c.every > 1 and self.turn % c.every == 0 for c in self.columns.values())

    def one_turn(self):
        begin = time.monotonic()
        rows = list(self.rows)
        self.order.shuffle(rows)
        for row in rows:
            columns = [c for c in self.agents if self.turn % self.columns[c].every == 0]
            self.order.shuffle(columns)
            for column in columns:
                if self.left_s() < 0:
                    return
                try:
                    reply = self.ask(column, row, self.rows[row].count)
                    self.cells[row][column].append(visit(self.turn, reply))
                except AgentError as error:
                    self.lose(column, "%s: %s" % (row, error))
        kind = self.all_take_part()
        self.longest_s[kind] = max(self.longest_s[kind], time.monotonic() - begin)
        self.turn += 1

    def fits(self):
        """Whether another turn, and a new start before it where one is due, end in time."""
        known = self.longest_s[self.all_take_part()] or max(self.longest_s.values())
        due = self.turn % self.turns_a_start == 0
        return self.left_s() > 1.1 * known + (self.start_s if due else 0)

    def run(self):
        begin = time.monotonic()
        while self.fits() and (self.starts == 0 or self.agents):
            if self.turn % self.turns_a_start == 0:
                self.close()
                self.open()
            self.one_turn()
        self.close()
        return {"rows": self.cells, "failed": {c: f for c, f in self.failed.items() if f},
                "turns": self.turn, "starts": self.starts,
                "seconds": round(time.monotonic() - begin, 1)}


def launch_facts(tools, seconds):
    """What a recording of each shape holds and took, in a process of its own."""
    end = time.monotonic() + seconds
    facts = {}
    for name, row in LAUNCHES.items():
        if time.monotonic() > end:
            break
        run = record(tools, [tools.launches] + row.line.format(row.count).split(), "", PINNED,
                     timeout=30)
        if len(run.parts) != 1:
            facts[name] = {"failed": run.err[-300:]}
            continue
        part = run.parts[0]
        kernels = max(part.number("kernels"), 1)
        facts[name] = {"kernels": part.number("kernels"), "lost": part.lost,
                       "bytes_a_kernel": round(part.number("bytes") / kernels, 2),
                       "own_cpu_ns_a_kernel":
                           round(part.totals.get(TOTAL_OWN_CPU_NS, 0) / kernels, 1),
                       "requests": part.totals.get(TOTAL_REQUESTS, 0),
                       "requests_slow": part.totals.get(TOTAL_REQUESTS_SLOW, 0),
                       "peak_pool_mib": part.totals.get(TOTAL_PEAK_POOL, 0) / 2**20}
    return facts


def c_agent(tools):
    return lambda c: Agent(tools, [tools.launches, "serve"], c.options, c.extra)


def measure_launches(tools, limit_s):
    trial = Trial(c_agent(tools), OURS, LAUNCHES, limit_s - 12, 4).run()
    return dict(trial, facts=launch_facts(tools, 12))


def measure_switches(tools, limit_s):
    columns = dict(OURS, **chosen("KREACH_SWITCHES", SWITCHES))
    return Trial(c_agent(tools), columns, chosen("KREACH_ROWS", SWITCH_ROWS), limit_s, 5).run()


def python_agent(tools, models):
    """Models, and the launches in C called from there: all profilers can be on."""
    def start(column):
        command = MODELS + list(models) + ["--serve", "--launches", tools.launches_library,
                                           "--profiler", column.profiler]
        return Agent(tools, command, column.options, column.extra)

    return start


def measure_models(tools, limit_s):
    rows = dict(PYTHON_LAUNCHES, **MODEL_ROWS)
    return Trial(python_agent(tools, MODEL_ROWS), dict(OURS, **PEERS), rows, limit_s, 10).run()


def measure_graphs(tools, limit_s):
    rows = {"decode_graph": MODEL_ROWS["decode_graph"],
            "python, graph, 1 thread": PYTHON_LAUNCHES["python, graph, 1 thread"]}
    columns = dict(OURS, **chosen("KREACH_SWITCHES", GRAPH_COLUMNS))
    return Trial(python_agent(tools, ["decode_graph"]), columns, rows, limit_s, 6).run()


def measure_libtorch(tools, limit_s):
    spec = importlib.util.find_spec("torch")
    path = [os.path.join(os.path.dirname(spec.origin), "lib")] if spec else []
    path += [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p]
    extra = {"LD_LIBRARY_PATH": ":".join(path)}

    def start(column):
        return Agent(tools, [tools.forward, "serve"], column.options, extra)

    return Trial(start, OURS, LIBTORCH_ROWS, limit_s, 25).run()


# part: (how, share of the time)
PARTS = {"launches": (measure_launches, 3.5), "switches": (measure_switches, 4.5),
         "models": (measure_models, 6), "graphs": (measure_graphs, 4),
         "libtorch": (measure_libtorch, 0.8)}


def measure(parts, tools, keep):
    """Runs the parts, each in its share of the time that is left; false when one broke."""
    end = time.monotonic() + LIMIT_S
    shares = sum(PARTS[name][1] for name in parts)
    good = True
    for name in parts:
        how, share = PARTS[name]
        limit_s = (end - time.monotonic()) * share / shares
        shares -= share
        try:
            found = how(tools, limit_s)
        except (OSError, LookupError, ValueError):  # the other parts are worth their time
            traceback.print_exc()
            good = False
            continue
        keep(name, found)
        print("%s: %d turns, %d starts, %.0f s%s" %
              (name, found["turns"], found["starts"], found["seconds"],
               "; FAILED: " + ", ".join(found["failed"]) if found["failed"] else ""), flush=True)
    return good


def main():
    tools, folder, wanted = Tools(sys.argv[1]), sys.argv[2], sys.argv[3:]
    for name in wanted:
        if name not in PARTS:
            sys.exit("overhead: no part '%s'; there are: %s" % (name, ", ".join(PARTS)))
    path = os.path.join(folder, "overhead.json")
    results = {}
    if os.path.exists(path):
        with open(path) as f:
            results = json.load(f)
    here = machine()

    def keep(name, found):
        results[name] = dict(found, machine=here)
        with open(path, "w") as out:
            json.dump(results, out)
            out.write("\n")

    return 0 if measure(wanted, tools, keep) else 1


if __name__ == "__main__":
    sys.exit(main())
