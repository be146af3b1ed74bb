#!/usr/bin/env python3
"""Profiles with torch.profiler the Python models that correspond to runs of workloads/paper7.json.

Usage: cross_check.py FOLDER NAME...

Writes FOLDER/NAME.torch.json.gz for each: three steps of the model of transformers or torchvision of the
same shapes, dtype, batch and optimizer, random weights. `kreach report` then gives the shares of both.
GPT-2's GELU and loss are torch's kernels, as in ours; transformers' own, in Python, are gpt2-train-default.
"""
import gzip
import os
import shutil
import sys

import torch
from torch import nn

WARM_UP, STEPS = 5, 3


def llama8b_prefill(batch=4, seq=2048):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=128256, hidden_size=4096, intermediate_size=14336,
                         num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
                         max_position_embeddings=8192, rope_theta=500000.0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    words = torch.randint(0, 128256, (batch, seq), device="cuda")

    def step():
        with torch.no_grad():
            model(input_ids=words, use_cache=True, logits_to_keep=1)

    return step


def gpt2_training(batch=12, seq=1024, default=False):
    from transformers import GPT2Config, GPT2LMHeadModel

    gelu = "gelu_new" if default else "gelu_pytorch_tanh"  # one function: eight kernels, or one
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                                       activation_function=gelu, use_cache=False)).cuda().train()
    decayed = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1},
                                   {"params": plain, "weight_decay": 0.0}], lr=6e-4,
                                  betas=(0.9, 0.95))
    words = torch.randint(0, 50257, (batch, seq), device="cuda")
    targets = torch.randint(0, 50257, (batch * seq,), device="cuda")

    def loss_of():
        if default:
            return model(input_ids=words, labels=words).loss
        return nn.functional.cross_entropy(model(input_ids=words).logits.view(-1, 50257), targets)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of()
        loss.backward()
        optimizer.step()

    return step


def resnet50_training(batch=256):
    from torchvision.models import resnet50

    model = resnet50().cuda().train().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    images = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


MODELS = {"llama-8b-prefill": llama8b_prefill, "gpt2-train": gpt2_training,
          "gpt2-train-default": lambda: gpt2_training(default=True),
          "resnet50-train": resnet50_training}


def profile(step, path):
    from torch.profiler import ProfilerActivity, profile as profiler

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        for i in range(STEPS):
            with torch.profiler.record_function("step#%d" % i):
                step()
        torch.cuda.synchronize()
    p.export_chrome_trace(path)
    with open(path, "rb") as plain, gzip.open(path + ".gz", "wb", 9) as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)


def main(folder, *names):
    unknown = [n for n in names if n not in MODELS]
    if unknown or not names:
        sys.exit("cross_check.py: known are: " + " ".join(MODELS))
    os.makedirs(folder, exist_ok=True)
    for name in names:
        profile(MODELS[name](), os.path.join(folder, name + ".torch.json"))
        torch.cuda.empty_cache()
        print("profiled", name)


if __name__ == "__main__":
    main(*sys.argv[1:])
