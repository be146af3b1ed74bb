"""Reads what tests/workloads/dump_model.c writes, and gives it to models of torch."""
import os
import subprocess
import tempfile

import torch


def read(path):
    """The model's tensors and the results of its steps."""
    numbers = torch.from_file(path, size=os.path.getsize(path) // 8, dtype=torch.float64)
    at = 1

    def tensor():
        nonlocal at
        ndim = int(numbers[at])
        shape = [int(n) for n in numbers[at + 1:at + 1 + ndim]]
        start = at + 1 + ndim
        at = start + int(torch.tensor(shape).prod()) if shape else start + 1
        return numbers[start:at].reshape(shape).clone()

    model = [tensor() for _ in range(int(numbers[0]))]
    results = []
    while at < len(numbers):
        results.append(tensor())
    return model, results


def dumped(program, model, phase, preset, steps, *batch):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([program, model, phase, preset, str(steps), file.name,
                        *map(str, batch)], check=True)
        return read(file.name)


class Weights:
    """Hands out a dumped model's tensors in order to the parameters of another."""

    def __init__(self, tensors):
        self.left = list(tensors)

    @torch.no_grad()
    def give(self, *parameters, transposed=False):
        for p in parameters:
            value = self.left.pop(0)
            p.copy_((value.T if transposed and value.dim() == 2 else value).float())

    def give_layer(self, *modules, transposed=False):
        for m in modules:
            self.give(m.weight, *([m.bias] if getattr(m, "bias", None) is not None else []),
                      transposed=transposed)

    def skip(self, n):
        del self.left[:n]

    def index(self):
        return self.left.pop(0).long()
