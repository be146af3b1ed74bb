"""Stands in for torch where there is no GPU, so that the GPU tests' own code can be tested: as much
as models.py and marked_steps.py need for the models "two_streams". Each operation is a kernel of
the fake CUDA (tests/fake), whose libraries the loader finds in LD_LIBRARY_PATH.
"""
import contextlib
import ctypes
import time
import types

_cuda = ctypes.CDLL("libcuda.so.1")
_nvtx = ctypes.CDLL("libfake_nvtx.so")

KERNEL, GRAPH = 0, 4  # enum fake_what
KERNEL_NS = 20000


class Work(ctypes.Structure):
    """struct fake_work"""
    _fields_ = [("what", ctypes.c_int), ("device", ctypes.c_uint32), ("peer", ctypes.c_uint32),
                ("stream", ctypes.c_uint32), ("name", ctypes.c_void_p), ("grid", ctypes.c_uint32),
                ("bytes", ctypes.c_uint64), ("n_nodes", ctypes.c_uint32),
                ("duration_ns", ctypes.c_uint32), ("correlation", ctypes.c_uint32),
                ("start_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64)]


_cuda.fake_launch.argtypes = [Work]
_cuda.fake_kernel_name.restype = ctypes.c_void_p
_cuda.fake_busy_until_ns.restype = ctypes.c_uint64
_cuda.cuInit(0)

sessions = []  # of torch.profiler: lists of (name, nanoseconds)
_stream = 7


def launch(kernel=0, what=KERNEL, ns=KERNEL_NS, nodes=1):
    name = _cuda.fake_kernel_name(kernel)
    _cuda.fake_launch(Work(what=what, stream=_stream, name=name, grid=1, n_nodes=nodes,
                           duration_ns=ns))
    for session in sessions:
        session.append((ctypes.string_at(name).decode(), ns))


def synchronize():
    while time.time_ns() < _cuda.fake_busy_until_ns():
        time.sleep(0.0001)


class Tensor:
    def __matmul__(self, other):
        launch(1)
        return self

    def __mul__(self, factor):
        launch(2)
        return self


def randn(*shape, device):
    return Tensor()


def relu(x):
    launch(3)
    return x


def manual_seed(seed):
    pass


class Stream:
    count = 0

    def __init__(self):
        Stream.count += 1
        self.number = 10 + Stream.count

    def wait_stream(self, other):
        pass


@contextlib.contextmanager
def _on(stream):
    global _stream
    before, _stream = _stream, stream.number
    yield
    _stream = before


def _push(name):
    _nvtx.fake_nvtx(b"push", name.encode())


def _pop():
    _nvtx.fake_nvtx(b"pop", None)


cuda = types.SimpleNamespace(Stream=Stream, stream=_on, synchronize=synchronize,
                             nvtx=types.SimpleNamespace(range_push=_push, range_pop=_pop))
autograd = types.SimpleNamespace(
    profiler=types.SimpleNamespace(emit_nvtx=lambda enabled: contextlib.nullcontext()))
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace())
nn = types.SimpleNamespace(Module=object)
utils = types.SimpleNamespace(data=types.SimpleNamespace(Dataset=object))
