#!/usr/bin/env python3
"""Workloads in torch, for checking libkreach.so on a GPU and for measuring what it costs.

Usage: models.py MODEL... [--steps N] [--warmup N] [--profiler none|device|full|proton]
                 [--trace FILE]
       models.py MODEL... --serve [--launches LIBRARY] [--warmup N] [--profiler ...]

Each model's measured steps stand inside an NVTX range "steps", with the GPU idle at both ends.
--profiler profiles exactly these steps; --trace keeps torch.profiler's JSON. --serve builds all
models, then answers each line "MODEL STEPS" on standard input with a JSON line of the steps'
times [s]; with --launches also the lines of launches.cu. Each answer is such a range and a session
of the profiler of its own, whose start and end are not in the times (a first session, in a range
"first", is over before the first line). Weights are random: nothing is downloaded.
"""
import argparse
import ctypes
import json
import os
import sys
import tempfile
import time

import torch
from torch import nn

DEVICE = "cuda"


class DecoderLayer(nn.Module):
    """One layer of a decoder with a static key-value cache; x [B, 1, C]."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.RMSNorm(width)
        self.norm2 = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 4 * width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        shape = (1, heads, length, width // heads)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x, position):
        batch, _, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, position, k)
        self.values.index_copy_(2, position, v)
        y = nn.functional.scaled_dot_product_attention(q, self.keys, self.values)
        x = x + self.out(y.transpose(1, 2).reshape(batch, 1, width))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, layers=24, width=1024, heads=16, length=512, words=32000):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, length) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, token, position):
        x = self.embed(token)
        for layer in self.layers:
            x = layer(x, position)
        return self.head(self.norm(x)).argmax(-1)


TOKENS = 16  # a step decodes so many


def decoder():
    model = Decoder().to(DEVICE, torch.bfloat16).eval()
    token = torch.zeros(1, 1, dtype=torch.long, device=DEVICE)
    position = torch.zeros(1, dtype=torch.long, device=DEVICE)
    return model, token, position


def decode_eager(tokens=TOKENS):
    model, token, position = decoder()

    @torch.no_grad()
    def step():
        position.zero_()
        for _ in range(tokens):
            token.copy_(model(token, position))
            position.add_(1)

    return step


def decode_eager_short():
    """A step of two tokens, for many steps."""
    return decode_eager(2)


def decode_graph():
    model, token, position = decoder()
    graph = torch.cuda.CUDAGraph()

    def one():
        token.copy_(model(token, position))
        position.add_(1)

    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                one()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            one()

    def step():
        position.zero_()
        for _ in range(TOKENS):
            graph.replay()

    step.one = one  # what the graph reads and writes lives as long as the graph
    return step


class Dlrm(nn.Module):
    """Eight embedding tables, two perceptrons, dot interaction (Naumov et al. 2019)."""

    def __init__(self, tables=8, rows=100000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 512), nn.ReLU(), nn.Linear(512, 256),
                                 nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid())
        self.register_buffer("upper", torch.triu_indices(tables + 1, tables + 1, 1))

    def forward(self, dense, indices, offsets):
        x = self.bottom(dense)
        found = [t(i, offsets) for t, i in zip(self.tables, indices)]
        z = torch.stack([x] + found, 1)
        dots = torch.bmm(z, z.transpose(1, 2))[:, self.upper[0], self.upper[1]]
        return self.top(torch.cat([x, dots], 1))


def dlrm_inference():
    model = Dlrm().to(DEVICE).eval()
    batch, bag = 2048, 10
    dense = torch.randn(batch, 13, device=DEVICE)
    indices = [torch.randint(0, 100000, (batch * bag,), device=DEVICE) for _ in range(8)]
    offsets = torch.arange(0, batch * bag, bag, device=DEVICE)

    @torch.no_grad()
    def step():
        model(dense, indices, offsets)

    return step


def training(model, make_loss, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step():
        optimizer.zero_grad(set_to_none=True)
        make_loss().backward()
        optimizer.step()

    return step


def resnet50_training(batch=32):
    from torchvision.models import resnet50

    model = resnet50().to(DEVICE)
    images = torch.randn(batch, 3, 224, 224, device=DEVICE)
    labels = torch.randint(0, 1000, (batch,), device=DEVICE)
    return training(model, lambda: nn.functional.cross_entropy(model(images), labels))


def resnet50_training_128():
    """So large that the GPU is busy all the time."""
    return resnet50_training(128)


def resnet50_inference():
    from torchvision.models import resnet50

    model = resnet50().to(DEVICE).eval()
    images = torch.randn(32, 3, 224, 224, device=DEVICE)

    @torch.no_grad()
    def step():
        model(images)

    return step


def bert_inference():
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(num_hidden_layers=6)).to(DEVICE).eval()
    words = torch.randint(0, 30000, (8, 128), device=DEVICE)

    @torch.no_grad()
    def step():
        model(input_ids=words)

    return step


def gpt2_training():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=6)).to(DEVICE)
    words = torch.randint(0, 50000, (4, 256), device=DEVICE)
    return training(model, lambda: model(input_ids=words, labels=words).loss,
                    torch.optim.AdamW(model.parameters()))


def compiled():
    model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.LayerNorm(2048),
                          nn.Linear(2048, 512), nn.Softmax(-1)).to(DEVICE)
    fast = torch.compile(model)
    x = torch.randn(256, 512, device=DEVICE)

    @torch.no_grad()
    def step():
        fast(x)

    return step


def two_streams():
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    data = [torch.randn(1024, 1024, device=DEVICE) for _ in streams]

    def step():
        for stream, x in zip(streams, data):
            with torch.cuda.stream(stream):
                for _ in range(10):
                    x = torch.relu(x @ x * 1e-3)

    return step


def two_streams_in_turn():
    """Two streams that wait for each other, so that no kernel shares the GPU with another."""
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    data = [torch.randn(1024, 1024, device=DEVICE) for _ in streams]

    def step():
        for i in range(20):
            stream = streams[i % 2]
            stream.wait_stream(streams[1 - i % 2])
            with torch.cuda.stream(stream):
                data[i % 2] = torch.relu(data[i % 2] @ data[i % 2] * 1e-3)

    return step


class Noise(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        return torch.full((3, 64, 64), float(i % 7))


def loader():
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    model = model.to(DEVICE)
    batches = iter(torch.utils.data.DataLoader(Noise(), batch_size=32, num_workers=3,
                                               pin_memory=False))

    def step():
        model(next(batches).to(DEVICE)).sum().backward()

    return step


MODELS = {f.__name__: f for f in (decode_eager, decode_eager_short, decode_graph, dlrm_inference,
                                  resnet50_training, resnet50_training_128, resnet50_inference,
                                  bert_inference, gpt2_training, compiled, two_streams,
                                  two_streams_in_turn, loader)}


def timed(step, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times


def in_range(work, name="steps"):
    """What work() returns; the GPU is idle where the range begins."""
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push(name)
    try:
        return work()
    finally:
        torch.cuda.nvtx.range_pop()


def with_torch_profiler(work, profiler, trace):
    from torch.profiler import ProfilerActivity, profile

    kinds = [ProfilerActivity.CUDA]
    if profiler == "full":
        kinds.append(ProfilerActivity.CPU)
    with profile(activities=kinds) as p:
        result = work()
    if trace:
        p.export_chrome_trace(trace)
    return result


def with_proton(work):
    import triton.profiler as proton

    with tempfile.TemporaryDirectory() as folder:
        session = proton.start(os.path.join(folder, "proton"))
        result = work()
        proton.finalize(session)
    return result


def profiled(work, profiler, trace=None):
    """What work() returns, done inside a session of the profiler."""
    if profiler in ("device", "full"):
        return with_torch_profiler(work, profiler, trace)
    if profiler == "proton":
        return with_proton(work)
    return work()


def warm(name, args):
    """The model's step, after its first steps."""
    torch.manual_seed(1)
    step = MODELS[name]()
    timed(step, args.warmup)
    return step


def run(name, args):
    step = warm(name, args)
    profiled(lambda: in_range(lambda: timed(step, args.steps)), args.profiler, args.trace)


def load_launches(path):
    library = ctypes.CDLL(path)
    library.launches_run.argtypes = [ctypes.c_char_p]
    library.launches_run.restype = ctypes.c_char_p

    def work(line):
        reply = library.launches_run(line.encode())
        if reply is None:
            raise ValueError("no such work: " + line)
        return json.loads(reply)

    return work


def serve(args):
    launches = load_launches(args.launches) if args.launches else None
    steps = {}
    for name in args.models:
        steps[name] = warm(name, args)
        profiled(lambda: in_range(lambda: timed(steps[name], 2), "first"), args.profiler)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        name, _, count = line.strip().partition(" ")
        if name in steps:
            def work():
                return {"s": timed(steps[name], int(count))}
        else:
            def work():
                return launches(line)
        reply = profiled(lambda: in_range(work), args.profiler, args.trace)
        print(json.dumps(reply), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="one of " + ", ".join(sorted(MODELS)))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--profiler", default="none",
                        choices=("none", "device", "full", "proton"))
    parser.add_argument("--trace")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--launches", metavar="LIBRARY")
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = False
    for name in args.models:
        if name not in MODELS:
            parser.error("no model '%s'" % name)
    if args.serve:
        serve(args)
        return 0
    for name in args.models:
        run(name, args)
        time.sleep(0.3)  # work of the next model is not of this one's window
    return 0


if __name__ == "__main__":
    sys.exit(main())
