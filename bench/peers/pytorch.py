"""PyTorch: torch.nn.functional.scaled_dot_product_attention, between linear layers for a layer."""
import sys

import numpy as np
import torch
from torch.nn.functional import linear
from torch.nn.functional import scaled_dot_product_attention as sdpa

import worker

NAME = "pytorch"
VERSION = torch.__version__
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def tensor(array, dtype):
    """A tensor of its own memory, in the shape's type."""
    x = torch.from_numpy(array)
    if array.dtype == np.uint16:  # the bits of bf16
        return x.view(torch.bfloat16).clone()
    return x.to(dtype).clone()


class Sdpa:
    """One call, or one for each sequence of a ragged batch that is not padded."""

    def __init__(self, problem, threads, grouped=False, padded=False):
        dtype = TYPES[problem.dtype]
        arrays = (problem.q, problem.k, problem.v)
        if padded:
            arrays = (problem.padded(x) for x in arrays)
        q, k, v = (tensor(x, dtype) for x in arrays)
        self.problem, self.padded = problem, padded
        self.threads = threads
        self.options = {"is_causal": problem.causal, "scale": problem.scale}
        if problem.mask is not None:
            self.options["attn_mask"] = tensor(problem.mask, dtype)
        if problem.query_heads != problem.kv_heads and not grouped:
            self.options["enable_gqa"] = True
        if grouped:  # one query for each head: those of a group become rows that share the keys
            q = q.view(problem.batch, problem.kv_heads, -1, problem.head_dim)
        self.calls = [(q, k, v)]
        if padded:
            self.calls = [tuple(x.transpose(1, 2) for x in (q, k, v))]
        elif problem.lengths:
            self.calls = [tuple(x[a:b].transpose(0, 1).unsqueeze(0) for x in (q, k, v))
                          for a, b in problem.spans()]

    def run(self):
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        with torch.inference_mode():
            self.outputs = [sdpa(q, k, v, **self.options) for q, k, v in self.calls]

    def answer(self):
        if self.padded:
            return self.problem.unpadded(self.outputs[0].transpose(1, 2).float().numpy())
        if self.problem.lengths:
            whole = torch.cat([o[0].transpose(0, 1) for o in self.outputs])
        else:
            whole = self.outputs[0]
        return whole.float().numpy().reshape(self.problem.q.shape)


class Layer:
    """One linear layer for Q, K and V, the attention, one for W_O."""

    def __init__(self, problem, threads):
        self.problem, self.threads = problem, threads
        self.x = tensor(problem.q, torch.float32)
        w_qkv = np.concatenate([problem.k[0], problem.k[1], problem.v[0]], axis=1)
        self.w_qkv = tensor(np.ascontiguousarray(w_qkv.T), torch.float32)
        self.w_o = tensor(np.ascontiguousarray(problem.v[1].T), torch.float32)

    def run(self):
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        batch, tokens, width = self.x.shape
        with torch.inference_mode():
            qkv = linear(self.x, self.w_qkv).view(batch, tokens, 3, self.problem.query_heads, -1)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            y = sdpa(q, k, v, scale=self.problem.scale)
            self.output = linear(y.transpose(1, 2).reshape(batch, tokens, width), self.w_o)

    def answer(self):
        return self.output.numpy()


def variants(problem):
    if problem.kind == "layer":
        return {"linear, scaled_dot_product_attention, linear":
                lambda threads: Layer(problem, threads)}
    if problem.lengths:
        return {f"scaled_dot_product_attention, {how}":
                lambda threads, padded=padded: Sdpa(problem, threads, padded=padded)
                for how, padded in worker.RAGGED_WAYS.items()}
    ways = {"scaled_dot_product_attention": lambda threads: Sdpa(problem, threads)}
    if problem.kind == "decode":
        ways["scaled_dot_product_attention, grouped"] = lambda threads: Sdpa(problem, threads, True)
    return ways


if __name__ == "__main__":
    worker.serve(sys.modules[__name__])
