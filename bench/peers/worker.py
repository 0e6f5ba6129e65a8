"""The Python side of the protocol of worker.cc: a competitor is a module with

    NAME, VERSION                       as they are reported
    variants(problem) -> {name: make}   the ways it can compute the problem; make(threads) -> Runner
and a Runner has run() and answer() -> float32 array laid out as heed's output.
"""
import json
import pathlib
import sys
import time

import numpy as np

NUMPY_TYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}
# How those compute a ragged batch who have no such thing; whether it is padded.
RAGGED_WAYS = {"one call for each sequence": False, "padded": True}


class Absent(Exception):
    """Raised by a competitor that has no way to compute something; says why."""


class Problem:
    """One named shape with its inputs, as heed exported them.

    q, k, v are [batch, heads, tokens, dim], or [tokens, heads, dim] where the batch is ragged;
    q is float32; k and v have the shape's type (bf16 as its 16 bits).
    Of a layer, q is the input x [batch, tokens, d_model], k holds W_Q and W_K, v holds W_V and W_O.
    """

    def __init__(self, shape, folder):
        self.__dict__.update(shape)
        folder = pathlib.Path(folder)
        stored = NUMPY_TYPES[self.dtype]
        self.q = np.fromfile(folder / "q.bin", np.float32).reshape(self._dims(self.query_heads, self.n_q))
        width = self.query_heads * self.head_dim
        kv_dims = (2, width, width) if self.kind == "layer" else self._dims(self.kv_heads, self.n_k)
        self.k = np.fromfile(folder / "k.bin", stored).reshape(kv_dims)
        self.v = np.fromfile(folder / "v.bin", stored).reshape(self.k.shape)
        self.mask = None
        if self.bias:
            self.mask = np.fromfile(folder / "bias.bin", np.float32).reshape(
                1, self.query_heads, self.n_q, self.n_k)
        self.out = np.fromfile(folder / "out.bin", np.float32).reshape(self.q.shape)
        self.scale = 1.0 if self.kind == "selfish" else self.head_dim**-0.5
        if self.kind == "layer":
            self.scale /= width  # as heed's Problem::options says

    def _dims(self, heads, tokens):
        if self.kind == "layer":
            return self.batch, tokens, self.query_heads * self.head_dim
        if self.lengths:
            return sum(self.lengths), heads, self.head_dim
        return self.batch, heads, tokens, self.head_dim

    def spans(self):
        """First and last token of each sequence of a ragged batch."""
        start = 0
        for length in self.lengths:
            yield start, start + length
            start += length

    def padded(self, x):
        """A ragged batch [tokens, heads, dim] as [sequences, longest, heads, dim], zeros behind the
        shorter ones. Causal attention needs no mask for them: nobody looks ahead."""
        whole = np.zeros((len(self.lengths), max(self.lengths), *x.shape[1:]), x.dtype)
        for row, (a, b) in zip(whole, self.spans()):
            row[:b - a] = x[a:b]
        return whole

    def unpadded(self, whole):
        """The ragged batch of a padded one."""
        return np.concatenate([row[:n] for row, n in zip(whole, self.lengths)])


class Worker:
    def __init__(self, peer):
        self.peer = peer
        self.problem = None
        self.makers = {}
        self.runners = {}

    def reply(self, request):
        return getattr(self, "do_" + request["op"])(request)

    def do_load(self, request):
        self.runners = {}
        self.problem = Problem(request["shape"], request["folder"])
        self.makers = self.peer.variants(self.problem)
        if not self.makers:
            raise Absent("has no such computation")
        return {"variants": list(self.makers), "version": self.peer.VERSION}

    def _runner(self, variant, threads):
        if (variant, threads) not in self.runners:
            runner = self.makers[variant](threads)
            runner.run()  # warm
            self.runners[variant, threads] = runner
        return self.runners[variant, threads]

    def do_run(self, request):
        runner = self._runner(request["variant"], request["threads"])
        ms, used = [], 0.0
        while used < request["seconds"] or len(ms) < request["runs"]:
            start = time.perf_counter()
            runner.run()
            took = time.perf_counter() - start
            ms.append(1e3 * took)
            used += took
        return {"ms": ms}

    def do_check(self, request):
        answer = self._runner(request["variant"], 1).answer()
        if answer.shape != self.problem.out.shape:
            raise ValueError(f"the answer is {answer.shape}, heed's {self.problem.out.shape}")
        error = np.abs(answer - self.problem.out).max()
        return {"error": float(error) if np.isfinite(error) else 1e30}


def serve(peer):
    """Answers requests on stdin until it ends."""
    worker = Worker(peer)
    replies = sys.stdout
    sys.stdout = sys.stderr  # a library that prints must not break the protocol
    for line in sys.stdin:
        try:
            reply = worker.reply(json.loads(line))
        except Absent as reason:
            reply = {"absent": str(reason)}
        except Exception as error:  # a competitor may fail in any way; the others go on
            reply = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(reply), file=replies, flush=True)
