#!/usr/bin/env python3
"""The transformer models of workloads/ against those of Hugging Face, with the same weights.

Usage: huggingface.py DUMP_MODEL

DUMP_MODEL (tests/workloads/dump_model.c) writes weights, inputs and results of the tiny models;
LlamaForCausalLM, GPT2LMHeadModel and BertModel get these weights and must give the same results to
1e-5 of their size. Exits with 77, skipped, where torch or transformers is not installed.
"""
import sys

try:
    import torch
    import transformers
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

from dumped_model import Weights, dumped

TOLERANCE = 1e-5


def llama(tensors):
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=64, intermediate_size=160, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, rope_theta=500000.0, rms_norm_eps=1e-5,
        tie_word_embeddings=False)
    model, w = transformers.LlamaForCausalLM(config), Weights(tensors)
    w.give_layer(model.model.embed_tokens)
    for layer in model.model.layers:
        a, f = layer.self_attn, layer.mlp
        w.give_layer(layer.input_layernorm, a.q_proj, a.k_proj, a.v_proj, a.o_proj,
                     layer.post_attention_layernorm, f.gate_proj, f.up_proj, f.down_proj)
        w.skip(2)  # the cache
    w.give_layer(model.model.norm, model.lm_head)
    w.skip(1)  # the rotary frequencies
    return model, w


def llama_results(tensors, _):
    model, w = llama(tensors)
    return [model(w.index(), logits_to_keep=1).logits[:, 0]]


def gpt2(tensors):
    config = transformers.GPT2Config(
        vocab_size=256, n_positions=32, n_embd=64, n_layer=2, n_head=4, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0)
    model, w = transformers.GPT2LMHeadModel(config), Weights(tensors)
    t = model.transformer
    w.give_layer(t.wte, t.wpe)
    for layer in t.h:
        for m in (layer.ln_1, layer.attn.c_attn, layer.attn.c_proj, layer.ln_2, layer.mlp.c_fc,
                  layer.mlp.c_proj):
            w.give_layer(m, transposed=True)  # theirs are stored [I, O]
    w.give_layer(t.ln_f)
    return model, w


def gpt2_results(tensors, _):
    model, w = gpt2(tensors)
    return [model(w.index()).logits]


def gpt2_losses(tensors, steps):
    model, w = gpt2(tensors)
    words, target = w.index(), w.index()
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                                   {"params": others, "weight_decay": 0.0}],
                                  lr=6e-4, betas=(0.9, 0.95), eps=1e-8)
    losses = []
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(words).logits.view(-1, 256), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return losses


def bert_results(tensors, _):
    config = transformers.BertConfig(
        vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, max_position_embeddings=32, hidden_dropout_prob=0,
        attention_probs_dropout_prob=0)
    model, w = transformers.BertModel(config), Weights(tensors)
    e = model.embeddings
    w.give_layer(e.word_embeddings, e.position_embeddings, e.token_type_embeddings, e.LayerNorm)
    for layer in model.encoder.layer:
        a = layer.attention
        w.give_layer(a.self.query, a.self.key, a.self.value, a.output.dense, a.output.LayerNorm,
                     layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm)
    w.give_layer(model.pooler.dense)
    return [model(w.index(), token_type_ids=w.index()).pooler_output]


CASES = (
    ("llama", "prefill", "tiny", 1, llama_results),
    ("llama", "prefill", "tiny-fused", 1, llama_results),
    ("gpt2", "infer", "tiny", 1, gpt2_results),
    ("gpt2", "train", "tiny", 8, gpt2_losses),
    ("gpt2", "train", "tiny-fused", 8, gpt2_losses),
    ("bert", "infer", "tiny", 1, bert_results),
)


def compare(program, model, phase, preset, steps, theirs):
    tensors, ours = dumped(program, model, phase, preset, steps)
    expected = theirs(tensors, steps)
    assert len(ours) == len(expected) == steps
    error = max(float((a - b).norm() / b.norm()) for a, b in zip(ours, expected))
    print("%-6s %-8s %-11s relative error %.1e" % (model, phase, preset, error))
    return error <= TOLERANCE


def main():
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    results = [compare(sys.argv[1], *case) for case in CASES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
