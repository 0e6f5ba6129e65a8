#!/usr/bin/env python3
"""A small PyTorch Transformer with its attention swapped for heed's: equal outputs, and the ratio of times.

    python bench/python/torch_swap.py        (where torch and heed are installed)

Random weights, inference. Turns alternate between the two, so that both see the same machine; medians.
"""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F

import heed.torch

THEIRS, OURS = F.scaled_dot_product_attention, heed.torch.scaled_dot_product_attention


class Block(torch.nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv = torch.nn.LayerNorm(d_model), torch.nn.Linear(d_model, 3 * d_model)
        self.out = torch.nn.Linear(d_model, d_model)
        self.feed = torch.nn.Sequential(torch.nn.LayerNorm(d_model),
                                        torch.nn.Linear(d_model, 4 * d_model), torch.nn.GELU(),
                                        torch.nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for t in self.qkv(self.norm(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.feed(x)


def run(attention, model, x):
    """(output, seconds) of the model with this attention."""
    F.scaled_dot_product_attention = attention
    try:
        begin = time.perf_counter()
        output = model(x)
        return output, time.perf_counter() - begin
    finally:
        F.scaled_dot_product_attention = THEIRS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--d-model", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--turns", type=int, default=25)
    given = parser.parse_args()
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(given.d_model, given.heads) for _ in range(given.layers)))
    x = torch.randn(1, given.tokens, given.d_model)
    times = {"PyTorch": [], "heed": []}
    with torch.inference_mode():
        expected, _ = run(THEIRS, model, x)
        output, _ = run(OURS, model, x)
        torch.testing.assert_close(output, expected, rtol=1e-4, atol=1e-4)
        for _ in range(given.turns):
            times["PyTorch"].append(run(THEIRS, model, x)[1])
            times["heed"].append(run(OURS, model, x)[1])
    theirs, ours = (statistics.median(times[name]) * 1e3 for name in ("PyTorch", "heed"))
    difference = (output - expected).abs().max().item()
    print(f"Transformer of {given.layers} layers, d_model {given.d_model}, {given.heads} heads, "
          f"{given.tokens} tokens, {torch.get_num_threads()} threads")
    print(f"outputs equal: largest difference {difference:.1e} at magnitude "
          f"{expected.abs().max().item():.1f}")
    print(f"whole model: PyTorch {theirs:.1f} ms, with heed's attention {ours:.1f} ms, "
          f"ratio {theirs / ours:.2f}")


if __name__ == "__main__":
    main()
