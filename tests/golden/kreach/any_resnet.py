import torch, torchvision
m = torchvision.models.resnet50().cuda().to(torch.bfloat16).to(memory_format=torch.channels_last)
o = torch.optim.SGD(m.parameters(), lr=0.01, momentum=0.9)
x = torch.randn(64, 3, 224, 224, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
y = torch.randint(0, 1000, (64,), device="cuda")
for i in range(12):
    torch.cuda.nvtx.range_push(f"step#{i}")
    o.zero_grad(); l = torch.nn.functional.cross_entropy(m(x).float(), y); l.backward(); o.step()
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize(); print("loss", l.item())
