# Memory grows with device events, not with the text: four times the text, next to no more memory.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1 # freed memory counts there
python3 - <<'PYTHON'
import os
import subprocess

OP = (b'{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":%d.5,"dur":9,"args":'
      b'{"External id":7,"Call stack":"' + b"x" * 600 + b'"}},')
KERNEL = b'{"ph":"X","cat":"kernel","name":"gemm","ts":%d,"dur":5,"args":{"device":0,"stream":7}},'


def peak_kib(mib):
    """Peak memory of a report on a trace of this size, through a pipe; always 1000 kernels."""
    ops = b"".join(OP % i for i in range((mib << 20) // 1000 // len(OP)))
    child = subprocess.Popen(["kreach", "-q", "report", "--json", "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL)
    child.stdin.write(b"[")
    for i in range(1000):
        child.stdin.write(KERNEL % (10 * i) + ops)
    child.stdin.write(KERNEL[:-1] % 20000 + b"]")
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status  # waited for: Popen need not
    if status:
        print("wait status", status)
    return usage.ru_maxrss


small, large = peak_kib(50), peak_kib(200)
if large - small > 24 << 10:
    print(f"{small} KiB for 50 MiB of text, {large} KiB for 200 MiB")
PYTHON
