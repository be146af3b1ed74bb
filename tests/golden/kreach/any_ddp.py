"""Data-parallel training on every GPU of one host, 30 steps, float32; for torch.distributed.run."""
import os

import torch
import torch.distributed as dist
from torch import nn

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
torch.manual_seed(0)
blocks = [nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(4)]
model = nn.parallel.DistributedDataParallel(nn.Sequential(*blocks).cuda(), device_ids=[rank])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randn(2048, 1024, device="cuda")
for i in range(30):
    torch.cuda.nvtx.range_push("step %d" % i)
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
dist.destroy_process_group()
