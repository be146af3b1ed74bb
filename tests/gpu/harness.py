"""Running programs under libkreach.so on a GPU and reading what it wrote; standard library only."""
import concurrent.futures
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = [sys.executable, os.path.join(HERE, "models.py")]

_BEGAN = time.monotonic()
LIMIT_S = float(os.environ.get("KREACH_LIMIT_S", "100000"))


def left_s():
    """What is left of KREACH_LIMIT_S, from the start of this program on."""
    return LIMIT_S - (time.monotonic() - _BEGAN)


def save_json(path, data):
    """The file is there as a whole or as it was before, whenever this program is ended."""
    with open(path + ".new", "w") as out:
        json.dump(data, out, indent=1)
    os.replace(path + ".new", path)


# Numbers of kreach_format.h.
TOTAL_OWN_CPU_NS, TOTAL_REQUESTS, TOTAL_REQUESTS_SLOW, TOTAL_PEAK_POOL = 8, 9, 10, 13
LOST_UNFINISHED, LOST_TAKEOVER = 9, 10
END_EXIT, END_FAST, END_EXEC, END_SIGNAL, END_WINDOW = 1, 2, 3, 4, 5


class Tools:
    """What was built for this machine."""

    def __init__(self, folder):
        self.folder = folder
        self.library = os.path.join(folder, "libkreach.so")
        self.dump = os.path.join(folder, "kreach_dump")
        self.launches = os.path.join(folder, "launches")
        self.launches_library = os.path.join(folder, "liblaunches.so")
        self.forward = os.path.join(folder, "forward")


class Part:
    """One .kreach file as kreach_dump tells it."""

    def __init__(self, text):
        self.names = {}  # name -> (count, nanoseconds)
        self.lost = {}
        self.gaps = []
        self.totals = {}
        self.values = {}
        for line in text.splitlines():
            key, _, value = line.partition("=")
            kind, _, number = key.partition(".")
            if kind == "name" and number.isdigit():
                count, ns, name = value.split(" ", 2)
                self.names[name] = (int(count), int(ns))
            elif kind == "lost":
                count, _, detail = value.partition(" ")
                old = self.lost.get(int(number), (0, ""))
                self.lost[int(number)] = (old[0] + int(count), detail)
            elif kind == "gap":
                self.gaps.append((int(number), value))
            elif kind == "total":
                self.totals[int(number)] = int(value)
            else:
                self.values[key] = value

    def number(self, key):
        return int(self.values.get(key, 0))

    def kernel_ns(self):
        return sum(ns for _, ns in self.names.values())

    def summary(self):
        keys = ("ok", "ends", "end", "bytes", "kernels", "memcpys", "memsets", "graphs", "launches",
                "ranges", "names", "sites", "devices", "failed", "cupti", "cupti_path")
        return {"values": {k: self.values[k] for k in keys if k in self.values},
                "lost": self.lost, "gaps": self.gaps, "totals": self.totals}


class Run:
    """A finished run: status, output, seconds, parts."""

    def __init__(self, status, out, err, seconds, parts):
        self.status, self.out, self.err = status, out, err
        self.seconds, self.parts = seconds, parts

    def only(self):
        if len(self.parts) != 1:
            raise AssertionError("%d files; stderr: %s" % (len(self.parts), self.err[-2000:]))
        return self.parts[0]

    def kreach_lines(self):
        return [line for line in self.err.splitlines() if line.startswith("kreach: ")]


def read_parts(tools, folder):
    parts = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".part"):
            text = subprocess.run([tools.dump, os.path.join(folder, name)], text=True,
                                  capture_output=True, errors="replace").stdout
            parts.append(Part(text))
    return parts


def keep_files(folder, keep):
    """Copies what is in a folder to another, which is made."""
    os.makedirs(keep, exist_ok=True)
    for name in os.listdir(folder):
        shutil.copy(os.path.join(folder, name), keep)


def environment(tools, folder, options, extra):
    env = dict(os.environ, LD_PRELOAD=tools.library, KREACH_OUT=folder + "/",
               KREACH_RUN="00000000000000aa", KREACH_OPTIONS=options)
    env.update(extra or {})
    return env


def record(tools, command, options="", extra=None, timeout=150, stop=None, keep=None):
    """Runs a command under libkreach.so. stop=(seconds, signal) ends it; keep copies the files."""
    folder = tempfile.mkdtemp(prefix="kreach-gpu-")
    try:
        start = time.monotonic()
        child = subprocess.Popen(command, env=environment(tools, folder, options, extra), text=True,
                                 errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            if stop:
                try:
                    child.wait(stop[0])
                except subprocess.TimeoutExpired:
                    child.send_signal(stop[1])
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            err += "\n(timed out after %d s)" % timeout
        seconds = time.monotonic() - start
        parts = read_parts(tools, folder)
        if keep:
            keep_files(folder, keep)
        return Run(child.returncode, out, err, seconds, parts)
    finally:
        shutil.rmtree(folder)


def together(*works):
    """What each of these functions returns; they run at the same time, since starts take long."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(work) for work in works]]


def plain(command, timeout=150, extra=None):
    env = dict(os.environ)
    env.update(extra or {})
    return subprocess.run(command, env=env, text=True, errors="replace", capture_output=True,
                          timeout=timeout)


class AgentError(Exception):
    """An agent died, fell silent or refused; the text says which and what it left on stderr."""


class Agent:
    """A program that stays alive and does one piece of work for each line that it is sent.

    It answers each line, and its own start, with one JSON object on a line; other lines of its
    output are passed over. options: for libkreach.so, None = without it. extra: environment.
    """

    def __init__(self, tools, command, options=None, extra=None):
        self.tools = tools
        self.folder = tempfile.mkdtemp(prefix="kreach-agent-")
        env = dict(os.environ, **(extra or {}))
        if options is not None:
            env = environment(tools, self.folder, options, extra)
        self.errors = open(os.path.join(self.folder, "stderr"), "w+", errors="replace")
        self.child = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=self.errors)
        self.unread = b""

    def said(self):
        self.errors.seek(0)
        return self.errors.read()[-800:].strip()

    def fail(self, what):
        self.kill()
        raise AgentError("%s; stderr: %s" % (what, self.said()))

    def reply(self, timeout_s):
        """The next JSON object that it prints."""
        end = time.monotonic() + timeout_s
        while True:
            line, newline, rest = self.unread.partition(b"\n")
            if newline:
                self.unread = rest
                if line.startswith(b"{"):
                    return json.loads(line)
                continue
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                self.fail("no answer in %.0f s" % timeout_s)
            data = os.read(self.child.stdout.fileno(), 1 << 16)
            if not data:
                self.fail("ended with status %s" % self.child.wait())
            self.unread += data

    def ask(self, line, timeout_s):
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            self.fail("ended with status %s" % self.child.wait())
        return self.reply(timeout_s)

    def worker(self):
        """Thread id of libkreach.so's own thread, or None."""
        tasks = "/proc/%d/task" % self.child.pid
        for task in os.listdir(tasks):
            if first_line(os.path.join(tasks, task, "comm")) == "kreach":
                return int(task)
        return None

    def finish(self, keep=None, timeout_s=20):
        """Ends it, which must go well, and takes what it left away; the .kreach files of that."""
        self.child.stdin.close()
        try:
            status = self.child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.fail("still there %d s after its last work" % timeout_s)
        if status != 0:
            self.fail("ended with status %s" % status)
        parts = read_parts(self.tools, self.folder)
        if keep:
            keep_files(self.folder, keep)
        self.close()
        return parts

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def close(self, timeout_s=10):
        """Ends it and takes what it left away; its status, None when it had to be killed."""
        status = None
        try:
            self.child.stdin.close()
            status = self.child.wait(timeout_s)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()
        self.child.stdout.close()
        self.errors.close()
        shutil.rmtree(self.folder)
        return status


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise AssertionError("no JSON in: " + text[-500:])


def trace_work(path):
    """Device work of a torch.profiler trace: counts by kind, kernels by name."""
    with open(path) as f:
        events = json.load(f)["traceEvents"]
    counts = {"kernel": 0, "gpu_memcpy": 0, "gpu_memset": 0}
    names = {}
    for event in events:
        kind = event.get("cat")
        if kind not in counts:
            continue
        counts[kind] += 1
        if kind == "kernel":
            count, us = names.get(event["name"], (0, 0.0))
            names[event["name"]] = (count + 1, us + float(event["dur"]))
    return counts, names


def first_line(path):
    try:
        with open(path) as f:
            return f.readline().strip()
    except OSError:
        return ""


def siblings(cpu):
    """CPUs that share a core with this one, itself too, as the kernel lists them: "0-1"."""
    return first_line("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu)


def machine():
    """The GPU and the versions that results belong to."""
    def output(*command):
        try:
            return subprocess.run(command, text=True, capture_output=True).stdout.strip()
        except OSError:
            return ""

    packages = output(sys.executable, "-c", "import importlib.metadata as m\n"
                      "for p in ('torch', 'triton', 'transformers', 'torchvision',"
                      " 'nvidia-cuda-cupti'):\n"
                      "    try: print(p, m.version(p))\n"
                      "    except Exception: pass")
    nvcc = re.findall(r"V[0-9.]+", output("nvcc", "--version"))
    return {"date": time.strftime("%Y-%m-%d"),
            "code": os.environ.get("KREACH_CODE") or
                    output("git", "-C", HERE, "describe", "--always", "--dirty") or "unknown",
            "gpu": output("nvidia-smi", "--query-gpu=name,driver_version,mig.mode.current",
                          "--format=csv,noheader"),
            "kernel": os.uname().release, "cpus": os.cpu_count(),
            "siblings": siblings(0),
            "cpu": (re.findall(r"model name\s*: (.*)", open("/proc/cpuinfo").read()) or [""])[0],
            "nvcc": nvcc[:1], "packages": packages.splitlines(),
            "python": sys.version.split()[0]}


SIGNALS = {"term": signal.SIGTERM, "int": signal.SIGINT, "kill": signal.SIGKILL}
