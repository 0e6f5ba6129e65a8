#!/usr/bin/env python3
"""A causal problem of 32,768 tokens and 8 heads runs in less than 64 MB beyond inputs and output.

    memory_test.py build/heed

The score matrices would take 34 GB. The head size is small to keep the test short; what heed
allocates beyond inputs and output does not grow with it beyond a tile's width.
"""
import resource

import support
from support import np

TOKENS, HEADS, DIM = 32768, 8, 16
LIMIT = 64 << 20


class Memory(support.HeedTest):
    def test_32k_tokens(self):
        rng = np.random.default_rng(1)
        x = rng.standard_normal((1, HEADS, TOKENS, DIM)).astype("f4")
        for name in "qkv":
            self.save(f"{name}.npy", x)
        self.heed("run", "-q", "q.npy", "-k", "k.npy", "-v", "v.npy", "--causal", "upper-left",
                  "-o", "o.npy")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        files = 4 * x.nbytes  # three inputs, mapped, and the output
        print(f"causal, {HEADS} heads, {TOKENS} tokens of {DIM}: {files / 1e6:.1f} MB of inputs and "
              f"output, {(peak - files) / 1e6:.1f} MB beyond them")
        self.assertLess(peak - files, LIMIT)
        out = self.load("o.npy")
        self.assertEqual(out.shape, x.shape)
        np.testing.assert_allclose(out[:, :, 0], x[:, :, 0], rtol=1e-6)  # row 0 sees itself alone


if __name__ == "__main__":
    support.main()
