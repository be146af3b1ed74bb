#!/usr/bin/env python3
"""What libkreach.so records on a real GPU, checked against torch.profiler and against arithmetic.

Usage: acceptance.py BUILD-FOLDER RESULT-FOLDER [--stale] [CASE...]   (see scripts/gpu-acceptance)
--stale: of these cases, or of all, those that have no result of this code. Each case prints one
line, says on standard error what it is doing, and lands in RESULT-FOLDER/acceptance.json, beside
those that are there from an earlier run. KREACH_CODE names the code, else git does. KREACH_LIMIT_S
is for all cases together. Exit status 1 when a case fails, 2 when not all were run in that time.
"""
import collections
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from harness import (END_EXEC, END_EXIT, END_FAST, END_SIGNAL, END_WINDOW, LOST_TAKEOVER,
                     LOST_UNFINISHED, MODELS, SIGNALS, Agent, Tools, environment, last_json,
                     left_s, machine, plain, read_parts, record, together, trace_work)
from runner import Case, NotHere, phase, run_cases, stale

CASES = {}
STEPS = 10
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/kreach")


START_S = 60  # at most, for importing torch and building a model


def case(function=None, **limit):
    """Makes a function of the tools a case, with the runner's usual limit or case(limit_s=N)."""
    if not function:
        return lambda f: case(f, **limit)
    CASES[function.__name__] = Case(function, **limit)
    return function


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def check_complete(part, end=END_EXIT):
    check(part.number("ok") == 1, "file: " + part.values.get("why", ""))
    check(not part.lost, "lost: %s" % part.lost)
    check(part.number("end") == end, "end %s" % part.values.get("end"))
    return part


def only(parts):
    check(len(parts) == 1, "%d files" % len(parts))
    return parts[0]


def start(*agents):
    """Waits until all of them have built their models."""
    for agent in agents:
        agent.reply(START_S)


def demangled_counts(part):
    """Events a name, as torch.profiler counts them: it demangles, we record what CUPTI says."""
    names = [n for n, (count, _) in part.names.items() if count]
    text = subprocess.run(["c++filt"], input="\n".join(names), text=True,
                          capture_output=True).stdout.splitlines()
    sums = {}
    for name, readable in zip(names, text):
        sums[readable] = sums.get(readable, 0) + part.names[name][0]
    return list(sums.values())


# torch.profiler lists the memory copies of a CUDA graph among its kernels, under names of their own;
# we record them as the copies that CUPTI says they are. There all device work must be equal, and
# what torch.profiler has as kernels beyond ours must be exactly the names that we have not.
GRAPHS = {"decode_graph"}

# Kernels that run beside each other share the GPU in a new way each run, so that their durations
# differ between any two runs; the models of one stream are held to the narrow bound.
SAME_WITHIN = {"two_streams": 0.15}


def left_over(these, those):
    """How often each name counted in `these` occurs, where `those` has no name counted as often."""
    return sorted((collections.Counter(these) - collections.Counter(those)).elements())


def same_as_torch(tools, model, steps=STEPS):
    """Counts of a window equal torch.profiler's for the same steps, durations within 2 %."""
    work = "%s %d" % (model, steps)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        phase("starting the model twice")
        theirs = Agent(tools, MODELS + [model, "--serve", "--profiler", "device", "--trace", trace])
        agent = Agent(tools, MODELS + [model, "--serve"], "range=steps,flush=0.2")
        start(theirs, agent)
        phase("steps under torch.profiler")
        theirs.ask(work, START_S)
        theirs.close()
        counts, names = trace_work(trace)
    phase("steps under libkreach.so")
    agent.ask(work, START_S)
    part = check_complete(only(agent.finish()))
    ours = {"kernel": part.number("kernels"), "gpu_memcpy": part.number("memcpys"),
            "gpu_memset": part.number("memsets")}
    their_ns = 1000 * sum(us for _, us in names.values())
    our_ns = part.kernel_ns()
    their_counts, our_counts = [c for c, _ in names.values()], demangled_counts(part)
    only_theirs = left_over(their_counts, our_counts)
    result = {"torch": counts, "kreach": ours, "torch_ms": their_ns / 1e6,
              "kreach_ms": our_ns / 1e6, "ratio": our_ns / max(their_ns, 1),
              "names_only_in_torch": sorted(n for n, (c, _) in names.items()
                                            if c in only_theirs)[:8]}
    check(ours == counts or model in GRAPHS, "counts differ: %s" % result)
    check(sum(ours.values()) == sum(counts.values()), "device work differs: %s" % result)
    check(sum(only_theirs) == counts["kernel"] - ours["kernel"] and
          not left_over(our_counts, their_counts), "counts by name differ: %s" % result)
    check(abs(result["ratio"] - 1) <= SAME_WITHIN.get(model, 0.02),
          "durations differ: %s" % result)
    return result


for _model in ("resnet50_training", "resnet50_inference", "bert_inference", "gpt2_training",
               "dlrm_inference", "decode_eager", "decode_graph", "compiled", "two_streams",
               "two_streams_in_turn"):
    CASES["same_" + _model] = Case(lambda tools, m=_model: same_as_torch(tools, m), 90)


@case
def whole_run(tools):
    """From cuInit to exit, nothing but the preload."""
    run = record(tools, MODELS + ["bert_inference"])
    check(run.status == 0, run.err[-1500:])
    part = check_complete(run.only())
    check(part.number("kernels") > 100, "few kernels")
    check(not run.kreach_lines(), "said: %s" % run.kreach_lines())
    return part.summary()


@case
def loader_workers(tools):
    """Workers of a DataLoader have no GPU work and leave no file."""
    run = record(tools, MODELS + ["loader"])
    check(run.status == 0, run.err[-1500:])
    return check_complete(run.only()).summary()


@case
def counts_of_plain_cuda(tools):
    results = {}
    for mode, threads, kernels, rounds in (("eager", 1, 20000, 5), ("eager", 16, 5000, 4),
                                           ("graph", 1, 100000, 5), ("graph", 4, 50000, 4)):
        run = record(tools, [tools.launches, mode, str(threads), str(kernels), str(rounds)])
        check(run.status == 0, run.err[-1500:])
        part = check_complete(run.only())
        want = threads * (2000 + kernels * rounds)
        got = part.number("kernels")
        results["%s_%d" % (mode, threads)] = {"want": want, "got": got,
                                              "bytes_a_kernel": part.number("bytes") / got}
        check(got == want, "%s" % results)
    return results


def output_of(command, tools, folder):
    """What a command that must succeed says there, with the library that was built."""
    run = subprocess.run(command, env=dict(os.environ, KREACH_LIB=tools.library), text=True,
                         cwd=folder, capture_output=True, errors="replace")
    check(run.returncode == 0, "%s: status %d: %s" % (command, run.returncode, run.stderr[-1500:]))
    return run


def two_commands(tools, program, keep=None):
    """`kreach record -- PROGRAM && kreach report` give a complete verdict, and nothing else is done.
    KREACH names the tool; keep: the recording is copied there."""
    kreach = os.environ.get("KREACH")
    if not kreach:
        raise NotHere("KREACH does not name the kreach program")
    kreach = os.path.abspath(kreach)
    with tempfile.TemporaryDirectory() as folder:
        said = output_of([kreach, "record", "--"] + program, tools, folder)
        check("complete: nothing was dropped" in said.stderr, said.stderr[-1500:])
        report = json.loads(output_of([kreach, "report", "--json"], tools, folder).stdout)
        path = os.path.join(folder, only(os.listdir(folder)))
        if keep:
            os.makedirs(os.path.dirname(keep), exist_ok=True)
            shutil.copy(path, keep)
        result = {"said": said.stderr.splitlines(), "bytes": os.path.getsize(path),
                  "verdict": report["verdict"], "window": report["window"],
                  "completeness": report["completeness"]["status"],
                  "classes": report["classes"]}
    check(result["completeness"] == "complete", "%s" % result)
    check(report["counts"]["kernels"] > 0 and result["verdict"]["text"], "%s" % result)
    return result


def any_model(tools, name):
    """The two commands with a program of tests/golden/kreach."""
    program = [sys.executable, os.path.join(GOLDEN, "any_%s.py" % name)]
    keep = os.environ.get("KREACH_KEEP")
    return two_commands(tools, program,
                        keep and os.path.join(RESULTS, "two_commands", name + ".kreach"))


for _name in ("resnet", "gpt2"):
    CASES["two_commands_" + _name] = Case(lambda tools, n=_name: any_model(tools, n), 90)


@case(limit_s=150)
def thirty_million_kernels(tools):
    """More than 250 device buffers of 100,000 hold: are they given back? (parcagpu issue 23)"""
    want = int(os.environ.get("KREACH_MANY", "32000000"))
    run = record(tools, [tools.launches, "many", str(want)], timeout=400)
    check(run.status == 0, run.err[-1500:])
    part = run.only()
    result = part.summary()
    result["seconds"] = run.seconds
    result["want"] = last_json(run.out)["kernels"] + 0
    check(not part.lost, "lost: %s" % result)
    check(part.number("kernels") == result["want"], "kernels: %s" % result)
    return result


GROWTH_KIB_MAX = 4096  # two buffers: a leak of 500 bytes a window is more


def soak(tools, options):
    """Thousands of windows: memory after a tenth of them is all it takes, and nothing is missing."""
    windows = int(os.environ.get("KREACH_WINDOWS", "10000"))
    run = record(tools, [tools.launches, "soak", str(windows)], "range=window,flush=0.2" + options,
                 timeout=400)
    check(run.status == 0, run.err[-1500:])
    result = last_json(run.out)
    part = run.only()
    result.update(part.summary(), gaps=part.number("gaps"), seconds=run.seconds)
    check(not part.lost, "lost: %s" % part.lost)
    check(part.number("kernels") == windows * 10, "kernels: %s" % result)
    check(part.number("ranges") == windows, "ranges: %s" % result)
    check(result["late_kib"] - result["early_kib"] < GROWTH_KIB_MAX, "memory grows: %s" % result)
    return result


@case
def soak_of_windows(tools):
    return soak(tools, "")


@case
def soak_of_windows_shut_at_once(tools):
    result = soak(tools, ",linger=0")
    check(result["gaps"] > result["windows"] / 10, "windows stayed open: %s" % result)
    return result


@case
def two_processes_on_one_gpu(tools):
    folder = tempfile.mkdtemp()
    env = environment(tools, folder, "", None)
    children = [subprocess.Popen([tools.launches, "eager", "1", "20000", "10"], env=env,
                                 stdout=subprocess.DEVNULL) for _ in range(2)]
    check([c.wait(100) for c in children] == [0, 0], "status")
    parts = read_parts(tools, folder)
    check([p.number("kernels") for p in parts] == [202000, 202000],
          "kernels: %s" % [p.summary() for p in parts])
    return [p.summary() for p in parts]


SPAWN = """
import torch, torch.multiprocessing as mp
def work(rank):
    x = torch.ones(64, device='cuda')
    for _ in range(100 * (rank + 1)): x = x + 1
    torch.cuda.synchronize()
if __name__ == '__main__':
    mp.spawn(work, nprocs=2)
"""


@case
def spawned_workers(tools):
    """Each child that uses the GPU has a file, though it ends in os._exit; the parent has none."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(SPAWN)
        f.flush()
        run = record(tools, [sys.executable, f.name])
    check(run.status == 0, run.err[-1500:])
    kernels = sorted(p.number("kernels") for p in run.parts)
    check(len(kernels) == 2 and kernels[1] - kernels[0] == 100, "kernels: %s" % kernels)
    check(all(p.number("ends") == 1 and not p.lost for p in run.parts), "incomplete")
    return kernels


ENDS = """
import os, signal, sys, torch
x = torch.ones(64, device='cuda')
for _ in range(1000): x = x + 1
how = sys.argv[1]
if how == '_exit': os._exit(7)
if how == 'exec': os.execv('/bin/true', ['true'])
if how == 'raise': raise SystemExit(7)
if how == 'term': os.kill(os.getpid(), signal.SIGTERM); signal.pause()
"""


@case
def ways_out(tools):
    results = {}
    ways = (("_exit", 7, END_FAST), ("exec", 0, END_EXEC), ("raise", 7, END_EXIT),
            ("term", -15, END_SIGNAL))
    runs = together(*(lambda how=way[0]: record(tools, [sys.executable, "-c", ENDS, how])
                      for way in ways))
    for run, (how, status, end) in zip(runs, ways):
        check(run.status == status, "%s: status %s: %s" % (how, run.status, run.err[-1000:]))
        part = check_complete(run.only(), end)
        check(part.number("kernels") >= 1000, "%s: %s" % (how, part.summary()))
        results[how] = {"kernels": part.number("kernels"), "seconds": round(run.seconds, 2)}
    return results


@case
def kill_9(tools):
    """Everything up to the last flush is in the file."""
    run = record(tools, [tools.launches, "many", "1000000000"], stop=(5, SIGNALS["kill"]))
    part = run.only()
    totals = part.totals.get(1, 0)
    check(part.number("kernels") >= totals > 0, part.summary())
    check(part.number("ends") == 0, "an end?")
    return part.summary()


@case
def interrupted(tools):
    """What was still running is counted as such, at most one launch of the program."""
    run = record(tools, [tools.launches, "many", "1000000000"], stop=(5, SIGNALS["int"]))
    check(run.status == -2, "status %s" % run.status)
    part = run.only()
    check(part.number("end") == END_SIGNAL and part.number("kernels") > 0, part.summary())
    check(not set(part.lost) - {LOST_UNFINISHED}, "lost: %s" % part.lost)
    check(part.lost.get(LOST_UNFINISHED, (0, ""))[0] <= 200000, "unfinished: %s" % part.lost)
    return part.summary()


@case
def beside_torch_profiler(tools):
    """The program's own profiler and ours: what does each see, with and without yielding?"""
    def run_beside(options):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            run = record(tools, MODELS + ["bert_inference", "--steps", str(STEPS), "--profiler",
                                          "device", "--trace", trace], options)
            check(run.status == 0, run.err[-1500:])
            counts, _ = trace_work(trace)
        return {"torch": counts, "kreach": run.only().summary(), "said": run.kreach_lines()}

    results = dict(zip(("default", "yield"), together(lambda: run_beside(""),
                                                      lambda: run_beside("yield"))))
    for found in results.values():
        check(not set(found["kreach"]["lost"]) - {LOST_UNFINISHED, LOST_TAKEOVER},
              "lost: %s" % results)
    check(results["yield"]["torch"]["kernel"] > 0, "torch.profiler sees nothing: %s" % results)
    return results


@case(limit_s=90)
def windows(tools):
    """Between cudaProfilerStart and Stop; after a delay for a while; a number of steps."""
    script = ("import torch, time\n"
              "x = torch.ones(64, device='cuda')\n"
              "for _ in range(50): x = x + 1\n"
              "torch.cuda.synchronize(); torch.cuda.profiler.start()\n"
              "for _ in range(70): x = x + 1\n"
              "torch.cuda.synchronize(); torch.cuda.profiler.stop(); time.sleep(0.5)\n"
              "for _ in range(90): x = x + 1\n"
              "torch.cuda.synchronize()\n")
    run, counted = together(
        lambda: record(tools, [sys.executable, "-c", script], "profiler-api,flush=0.1"),
        lambda: record(tools, MODELS + ["decode_eager_short", "--steps", "100"],
                       "steps=20,flush=0.2"))
    check(run.status == 0, run.err[-1500:])
    part = check_complete(run.only())
    check(part.number("kernels") == 70, part.summary())
    results = {"profiler_api": part.summary()}
    part = check_complete(counted.only(), END_WINDOW)
    results["steps"] = dict(part.summary(), step_kernels=part.values.get("step_kernels"))
    check(part.number("step_kernels") > 500, "step of %s" % part.values.get("step_kernels"))
    phase("a window of half a second")
    run = record(tools, [tools.launches, "eager", "1", "10000", "300"], "delay=0.5,duration=0.5")
    part = check_complete(run.only(), END_WINDOW)
    results["duration"] = part.summary()
    return results


@case(limit_s=90)
def steps_that_look_alike(tools):
    """A number of steps with thousands of kernels each, which are as many as in a window of ten."""
    phase("starting the model twice")
    ten, many = [Agent(tools, MODELS + ["decode_graph", "--serve"], options)
                 for options in ("range=steps,flush=0.2", "steps=60,flush=0.2")]
    start(ten, many)
    phase("steps")
    ten.ask("decode_graph 10", START_S)
    many.ask("decode_graph 400", START_S)
    a_step = check_complete(only(ten.finish())).number("kernels") / 10
    part = check_complete(only(many.finish()), END_WINDOW)
    result = dict(part.summary(), step_kernels=part.number("step_kernels"), a_step=a_step)
    check(part.number("step_kernels") == a_step, "another step: %s" % result)
    check(60 * a_step <= part.number("kernels") < 400 * a_step, "another window: %s" % result)
    return result


AFTER_A_WINDOW = 1.25  # times as long as without CUPTI, at most; recorded ones take 1.7 to 3
ROUNDS = 120  # of 20,000 kernels, 10 to 30 ms each: the window is over before their last quarter


@case
def graphs_after_a_window(tools):
    """Replays are left alone once the window is over, and what its end cuts through is recorded."""
    command = [tools.launches, "graph", "1", "20000", str(ROUNDS)]

    def late_ns(text):
        rounds = last_json(text)["wall_ns"]
        return statistics.median(rounds[3 * len(rounds) // 4:])

    run = record(tools, command, "duration=1,flush=0.1")
    part = check_complete(run.only(), END_WINDOW)
    times = late_ns(run.out) / late_ns(plain(command).stdout)
    found = dict(part.summary(), times_plain=times)
    check(part.number("kernels") % 1000 == 0, "a launch in pieces: %s" % found)
    check(times <= AFTER_A_WINDOW, "not left alone: %s" % found)
    return found


WARM_STEPS = 5  # of marked_steps.py
MARKED = [sys.executable, os.path.join(os.path.dirname(MODELS[1]), "marked_steps.py")]
GAP_CALIBRATE = 3
LINGERING_NS = 250  # of cli/cmd_record.c


def calibration_gaps(part):
    """Where recording paused to calibrate, [ns, REALTIME]: CUPTI's clock on Linux."""
    gaps = []
    for kind, text in part.gaps:
        if kind == GAP_CALIBRATE:
            begin, _, end = text.split(" ")[0].partition("..")
            gaps.append((int(begin), int(end)))
    return gaps


def stretch_mean_ms(starts_ns, begin, end):
    """Mean step of the settled ones between two changes; None when they are too few."""
    inside = [s for s in starts_ns if begin <= s <= end][2:-1]
    inside = [s for s in inside if s - begin >= 20_000_000]
    if len(inside) < 4:
        return None
    return (inside[-1] - inside[0]) / (len(inside) - 1) / 1e6


def by_turns(starts_ns, gaps):
    """Mean steps [ms] of the stretches without recording, and of those with, beside them."""
    plain, recorded = [], []
    for i, (begin, end) in enumerate(gaps):
        before = gaps[i - 1][1] if i else 2 * begin - end
        after = gaps[i + 1][0] if i + 1 < len(gaps) else 2 * end - begin
        values = [stretch_mean_ms(starts_ns, *edges)
                  for edges in ((before, begin), (begin, end), (end, after))]
        if None not in values:
            plain.append(values[1])
            recorded.append((values[0] + values[2]) / 2)
    return plain, recorded


def steps_of(agent, how, steps, seconds):
    """When each step began [ns]: at least so many, and for so long."""
    return agent.ask("%d %g %s" % (steps, seconds, how), START_S)["starts_ns"]


def step_times_ms(starts_ns):
    return [(b - a) / 1e6 for a, b in zip(starts_ns, starts_ns[1:])][2:]


def summary_ms(values):
    values = sorted(values)
    return {"n": len(values), "median": statistics.median(values), "low": values[len(values) // 4],
            "high": values[-1 - len(values) // 4]}


SOME = (30, 1.5)  # steps and seconds that give a time
ENOUGH = (170, 8.0)  # for nine stretches with and without recording
NOISE = 0.03  # fraction of a step
ALIKE = 1.15  # steps of two processes that differ by more differ by chance


def steps_without_turns(agents, how):
    """Times of steps by how they are recorded, and kernels in one."""
    runs = {name: [] for name in ("nothing", "plain", "recorded")}
    n_steps = WARM_STEPS
    for name in list(runs) * 2:
        phase("steps: " + name)
        starts_ns = steps_of(agents[name], how, *SOME)
        runs[name] += step_times_ms(starts_ns)
        n_steps += len(starts_ns) if name == "recorded" else 0
    return runs, only(agents["recorded"].finish()).number("kernels") / n_steps


def check_left_alone(result, alone, beside):
    """Against runs without recording, but for what CUPTI leaves behind at each launch: record relies
    on that bound. Only where processes agree with each other, those without recording and, in their
    recorded steps, the others: where the host is what steps wait for, one process is up to twice as
    fast as the next."""
    low = min(result[name]["low"] for name in ("nothing", "plain"))
    high = max(result[name]["high"] for name in ("nothing", "plain"))
    result["recorded_beside"] = statistics.median(beside) / result["recorded"]["median"]
    result["compared"] = high / low <= ALIKE and 1 / ALIKE <= result["recorded_beside"] <= ALIKE
    if not result["compared"]:
        return
    usual = sorted(alone)[1:-1]
    lingering_ms = result["kernels_a_step"] * LINGERING_NS / 1e6
    result["left_alone_over_plain"] = statistics.median(alone) / result["plain"]["median"] - 1
    result["lingering_frac"] = lingering_ms / result["plain"]["median"]
    check(usual[0] <= high * (1 + NOISE) + lingering_ms and usual[-1] >= low * (1 - NOISE),
          "step times disagree: %s" % result)
    check(result["cost_by_turns"][1] > result["cost_of_two_runs"] / 2 - NOISE,
          "steps that are left alone cost as much as others: %s" % result)


def calibrates_itself(tools, model, how="synced", compares=False):
    """Steps that are left alone in one run take as long as in a run without recording."""
    phase("starting the model four times")
    agents = {name: Agent(tools, MARKED + [model], options) for name, options in
              (("nothing", None), ("plain", "plain,nvtx"), ("recorded", "nvtx,launches"),
               ("by turns", "calibrate,launches"))}
    start(*agents.values())
    runs, per_step = steps_without_turns(agents, how)
    phase("steps: by turns")
    starts_ns = steps_of(agents["by turns"], how, *ENOUGH)
    keep = os.path.join(RESULTS, "calibrate") if os.environ.get("KREACH_KEEP") else None
    part = check_complete(only(agents["by turns"].finish(keep)))
    gaps = calibration_gaps(part)
    alone, beside = by_turns(starts_ns, gaps)
    result = {name: summary_ms(values) for name, values in runs.items()}
    result.update(steps=len(starts_ns), gaps=len(gaps), label=part.values.get("step_range"),
                  kernels_a_step=per_step, kernels=part.number("kernels"),
                  launches=part.number("launches"), turns_plain=alone, turns_recorded=beside)
    check(len(gaps) == 9 and len(alone) >= 7, "turns: %s" % result)
    ratios = sorted(b / a for a, b in zip(alone, beside))
    result["cost_by_turns"] = [ratios[1] - 1, statistics.median(ratios) - 1, ratios[-2] - 1]
    result["cost_of_two_runs"] = result["recorded"]["median"] / result["plain"]["median"] - 1
    in_gaps = sum(1 for s in starts_ns if any(a <= s < b for a, b in gaps))
    expected = (len(starts_ns) + WARM_STEPS - in_gaps) * per_step
    result["expected_kernels"] = expected
    check(abs(part.number("kernels") - expected) <= 2 * len(gaps) * per_step + 0.05 * expected,
          "work was recorded while left alone, or the other way: %s" % result)
    check_left_alone(result, alone, beside)
    check(result["compared"] or not compares, "steps without recording vary: %s" % result)
    return result


for _name, _work in (("", ("decode_graph", "synced", True)), ("_eager", ("decode_eager_short",)),
                     ("_dlrm", ("dlrm_inference",)),
                     ("_unsynced", ("resnet50_training", "unsynced"))):
    CASES["calibrates_itself" + _name] = Case(lambda tools, w=_work: calibrates_itself(tools, *w),
                                              110)


@case
def copies_on_one_device(tools):
    """Where there is one device, its copies to itself and between two of its contexts are recorded
    without the kind for copies between devices, and are no more with it."""
    command = [tools.launches, "copies", "7"]
    runs = {name: check_complete(record(tools, command, options).only()).number("memcpys")
            for name, options in (("default", ""), ("peers", "peers"))}
    check(runs == {"default": 4 * 7, "peers": 4 * 7}, runs)
    return runs


@case(limit_s=90)
def emit_nvtx_marks_steps(tools):
    """torch's record_function as NVTX ranges: are steps found by them, and at what price?"""
    phase("starting the model twice")
    agent = Agent(tools, MARKED + ["dlrm_inference"], "calibrate,launches,flush=0.1")
    bare = Agent(tools, MARKED + ["dlrm_inference"])
    start(agent, bare)
    phase("steps without recording")
    ours, theirs = (step_times_ms(steps_of(bare, how, *SOME)) for how in ("synced", "emitted"))
    bare.close()
    phase("steps by turns")
    steps_of(agent, "emitted", *ENOUGH)
    part = only(agent.finish())
    check(part.totals.get(6, 0) > 2000, "no ranges: %s" % part.summary())
    return {"label": part.values.get("step_range"), "gaps": len(calibration_gaps(part)),
            "ranges": part.totals.get(6), "lost": part.lost,
            "step_ms": statistics.median(ours), "step_ms_emitting": statistics.median(theirs)}


@case
def options_for_more(tools):
    """Launch calls, NVTX ranges, graph level."""
    def run(options):
        return check_complete(record(tools, MODELS + ["decode_graph"], options).only())

    launches, graphs = together(lambda: run("launches,nvtx"), lambda: run("graph-level"))
    check(launches.number("launches") > 0 and launches.number("ranges") >= 1, launches.summary())
    check(graphs.number("graphs") > 0, graphs.summary())
    return {"launches": launches.summary(), "graph_level": graphs.summary()}


@case
def libtorch_program(tools):
    if not os.path.exists(tools.forward):
        raise NotHere("not built")
    run = record(tools, [tools.forward, "100"])
    check(run.status == 0, run.err[-1500:])
    part = check_complete(run.only())
    check(part.number("kernels") >= 300, part.summary())
    return part.summary()


NCCL = """
import os, torch, torch.distributed as dist
rank = int(os.environ['LOCAL_RANK'])
torch.cuda.set_device(rank)
dist.init_process_group('nccl')
x = torch.ones(1 << 20, device='cuda')
for _ in range(20): dist.all_reduce(x)
torch.cuda.synchronize()
dist.destroy_process_group()
"""


@case
def two_gpus_with_nccl(tools):
    count = int(plain([sys.executable, "-c",
                       "import torch; print(torch.cuda.device_count())"]).stdout or 0)
    if count < 2:
        raise NotHere("only %d GPU" % count)
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(NCCL)
        f.flush()
        run = record(tools, [sys.executable, "-m", "torch.distributed.run", "--standalone",
                             "--nproc-per-node", "2", f.name])
    check(run.status == 0, run.err[-1500:])
    check(len(run.parts) == 2, "%d files" % len(run.parts))
    check(all(not p.lost and p.number("ends") == 1 for p in run.parts), "incomplete")
    check(sorted(p.values.get("rank") for p in run.parts) == ["0", "1"], "ranks")
    return [p.summary() for p in run.parts]


@case
def golden_files(tools):
    """Small recordings to keep: two models of torchvision and transformers."""
    def run_kept(model):
        return record(tools, MODELS + [model, "--steps", "5", "--warmup", "2"], "nvtx,launches",
                      keep=os.path.join(RESULTS, "golden", model))

    for run in together(lambda: run_kept("resnet50_inference"),
                        lambda: run_kept("bert_inference")):
        check(run.status == 0, run.err[-1500:])
        check_complete(run.only())
    return "kept"


def main():
    global RESULTS
    tools, RESULTS = Tools(sys.argv[1]), sys.argv[2]
    chosen = [a for a in sys.argv[3:] if a != "--stale"] or list(CASES)
    for name in chosen:
        if name not in CASES:
            sys.exit("acceptance: no case '%s'; there are: %s" % (name, ", ".join(CASES)))
    path = os.path.join(RESULTS, "acceptance.json")
    here = machine()
    if "--stale" in sys.argv[3:]:
        chosen = stale(chosen, path, here["code"])
    cases = {name: Case(lambda f=case.function: f(tools), case.limit_s)
             for name, case in CASES.items()}
    return run_cases(cases, chosen, path, here, left_s())


if __name__ == "__main__":
    sys.exit(main())
