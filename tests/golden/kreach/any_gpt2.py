import torch, transformers
c = transformers.GPT2Config()
m = transformers.GPT2LMHeadModel(c).cuda().to(torch.bfloat16).eval()
x = torch.randint(0, c.vocab_size, (8, 512), device="cuda")
with torch.no_grad():
    for i in range(12):
        torch.cuda.nvtx.range_push(f"step#{i}"); y = m(x).logits; torch.cuda.nvtx.range_pop()
torch.cuda.synchronize(); print(float(y.float().mean()))
