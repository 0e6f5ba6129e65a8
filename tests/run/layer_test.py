#!/usr/bin/env python3
"""`heed run --from FILE --layer NAME`: multi-head layers under every spelling of their weights.

    layer_test.py build/heed
"""
import json

import support
from support import np

# A few hundred products summed in f32, in another order than NumPy's double.
CLOSE = {"rtol": 1e-4, "atol": 2e-5}
D, D_CONTEXT, HEADS, KV_HEADS, KEY, VALUE = 12, 10, 4, 2, 6, 5


def attend(q, k, v, causal):
    """softmax(q k^T / sqrt(d)) v of one head."""
    s = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        s = np.where(np.arange(s.shape[1]) > np.arange(s.shape[0])[:, None], -np.inf, s)
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True) @ v


def layer(w, y, z, heads, kv_heads, causal=False):
    """The layer in double, one sequence; w maps Q, K, V, O to ([in, out], bias)."""
    q, k, v = (x.astype("f8") @ w[n][0] + w[n][1] for x, n in ((y, "Q"), (z, "K"), (z, "V")))
    q, k, v = (np.split(m, n, axis=1) for m, n in ((q, heads), (k, kv_heads), (v, kv_heads)))
    out = [attend(q[h], k[h * kv_heads // heads], v[h * kv_heads // heads], causal)
           for h in range(heads)]
    return np.concatenate(out, axis=1) @ w["O"][0] + w["O"][1]


class Layer(support.HeedTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)
        self.x, self.z = self.random(2, 7, D), self.random(2, 9, D_CONTEXT)
        self.save("x.npy", self.x)
        self.save("z.npy", self.z)

    def random(self, *shape):
        return self.rng.standard_normal(shape).astype("f4")

    def weights(self, d_context, kv_heads=KV_HEADS, value=VALUE, key=KEY):
        sizes = {"Q": (D, HEADS * key), "K": (d_context, kv_heads * key),
                 "V": (d_context, kv_heads * value), "O": (HEADS * value, D)}
        return {n: (self.random(*size), self.random(size[1])) for n, size in sizes.items()}

    def layer_run(self, *flags, address="w.npz"):
        self.heed("run", "--from", address, "--layer", "a.0", "--query-heads", HEADS, "x.npy",
                  "-o", "y.npy", *flags)
        return self.load("y.npy")

    def expect(self, actual, w, z, kv_heads=KV_HEADS, **options):
        expected = [layer(w, y, c, HEADS, kv_heads, **options) for y, c in zip(self.x, z)]
        np.testing.assert_allclose(actual, np.stack(expected), **CLOSE)

    def save_linear(self, w, output="o_proj", biases=True):
        tensors = {}
        for name, n in (("q_proj", "Q"), ("k_proj", "K"), ("v_proj", "V"), (output, "O")):
            tensors[f"a.0.{name}.weight"] = w[n][0].T
            if biases:
                tensors[f"a.0.{name}.bias"] = w[n][1]
        np.savez(self.folder / "w.npz", **tensors)

    def test_separate_weights_out_by_in(self):
        w = self.weights(D)
        for output in ("o_proj", "out_proj"):
            self.save_linear(w, output)
            self.expect(self.layer_run(), w, self.x)

    def test_a_safetensors_file_and_an_index_of_two(self):
        w = self.weights(D)
        names = {"Q": "q_proj", "K": "k_proj", "V": "v_proj", "O": "o_proj"}
        halves = {n: (m.astype("f2"), b.astype("f2")) for n, (m, b) in w.items()}
        tensors = {f"a.0.{names[n]}.weight": m.T for n, (m, _) in halves.items()}
        tensors |= {f"a.0.{names[n]}.bias": b for n, (_, b) in halves.items()}
        self.save_safetensors("m.safetensors", tensors)
        self.expect(self.layer_run(address="m.safetensors"), halves, self.x)
        shards = {name: f"{n % 2}.safetensors" for n, name in enumerate(tensors)}
        for shard in set(shards.values()):
            self.save_safetensors(shard, {n: t for n, t in tensors.items() if shards[n] == shard})
        (self.folder / "m.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": shards}))
        self.expect(self.layer_run(address="m.safetensors.index.json"), halves, self.x)

    def test_biases_are_optional(self):
        w = {n: (m, 0 * b) for n, (m, b) in self.weights(D).items()}
        self.save_linear(w, biases=False)
        self.expect(self.layer_run(), w, self.x)

    def test_separate_weights_in_by_out(self):
        w = self.weights(D)
        np.savez(self.folder / "w.npz", **{f"a.0.W_{n}": m for n, (m, _) in w.items()},
                 **{f"a.0.b_{n}": b for n, (_, b) in w.items()})
        self.expect(self.layer_run("--causal", "upper-left"), w, self.x, causal=True)

    def test_fused_weights(self):
        w = self.weights(D, kv_heads=HEADS, value=3, key=3)
        np.savez(self.folder / "w.npz", **{
            "a.0.in_proj_weight": np.concatenate([w[n][0].T for n in "QKV"]),
            "a.0.in_proj_bias": np.concatenate([w[n][1] for n in "QKV"]),
            "a.0.out_proj.weight": w["O"][0].T, "a.0.out_proj.bias": w["O"][1]})
        self.expect(self.layer_run(), w, self.x, kv_heads=HEADS)
        for heads in (4, 2 ** 63 - 1):  # 2 and twice that many overflow to none
            self.assertIn(f"its 36 rows are not 2 heads of query and {heads}",
                          self.refused("run", "--from", "w.npz", "--layer", "a.0", "x.npy", "-o",
                                       "y.npy", "--query-heads", 2, "--kv-heads", heads))

    def test_context(self):
        w = self.weights(D_CONTEXT)
        self.save_linear(w)
        self.expect(self.layer_run("--context", "z.npy"), w, self.z)

    def test_one_sequence_without_a_batch(self):
        w = self.weights(D)
        self.save_linear(w)
        self.save("x.npy", self.x[0])
        y = self.layer_run()
        self.assertEqual(y.shape, (7, D))
        np.testing.assert_allclose(y, layer(w, self.x[0], self.x[0], HEADS, KV_HEADS), **CLOSE)

    def test_rotary_positions(self):
        w = self.weights(D)
        self.save_linear(w)
        plain = self.layer_run("--causal", "upper-left")
        turned = self.layer_run("--causal", "upper-left", "--rope-base", "10000")
        pairs = self.layer_run("--causal", "upper-left", "--rope-base", "10000",
                               "--rope-interleaved")
        np.testing.assert_allclose(turned[:, 0], plain[:, 0], **CLOSE)  # token 0 does not turn
        self.assertGreater(np.abs(turned - plain).max(), 1e-3)
        self.assertGreater(np.abs(turned - pairs).max(), 1e-3)

    def test_plan(self):
        self.save_linear(self.weights(D))
        out, _ = self.heed("run", "--from", "w.npz", "--layer", "a.0", "--query-heads", HEADS,
                           "x.npy", "--plan")
        self.assertIn("layer     12 -> 4 heads of 6, 2 of key and value (5) -> 12", out.decode())
        for word in ("kernel    ", "memory    ", "work      ", "time      about"):
            self.assertIn(word, out.decode())
        self.assertFalse((self.folder / "y.npy").exists())
        self.save("wide.npy", self.random(7, D + 1))
        self.assertIn("13", self.refused("run", "--from", "w.npz", "--layer", "a.0",
                                         "--query-heads", HEADS, "wide.npy", "--plan"))

    def test_what_is_refused(self):
        self.save_linear(self.weights(D))
        run = ("run", "--from", "w.npz", "x.npy", "-o", "y.npy")
        named = (*run, "--layer", "a.0")
        self.assertIn("--query-heads: is missing", self.refused(*named))
        self.assertIn("has none of a.1.q_proj.weight",
                      self.refused(*run, "--layer", "a.1", "--query-heads", 4))
        self.assertIn("--query-heads: is 5", self.refused(*named, "--query-heads", 5))
        self.assertIn("--lse: does not go with --from",
                      self.refused(*named, "--query-heads", 4, "--lse", "l.npy"))
        self.assertIn("--rope-interleaved: goes with --rope-base",
                      self.refused(*named, "--query-heads", 4, "--rope-interleaved"))
        self.assertIn("needs an input", self.refused("run", "--from", "w.npz", "-o", "y.npy"))
        self.save("x.npy", self.x[:, :, :5])
        self.assertIn("5", self.refused(*named, "--query-heads", 4))
        self.save("x.npy", self.x.astype("f8"))
        self.assertIn("holds f64; give --dtype", self.refused(*named, "--query-heads", 4))


if __name__ == "__main__":
    support.main()
