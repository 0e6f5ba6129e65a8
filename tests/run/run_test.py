#!/usr/bin/env python3
"""`heed run` as users call it: every flag against NumPy, files of every kind, errors, Ctrl-C.

    run_test.py build/heed
"""
import io
import os
import pty
import signal
import subprocess
import time

import support
from support import np

# Both sides compute these small problems in at least f32; what differs is the order of sums.
CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def attention(q, k, v, *, hidden=None, bias=0.0, scale=None, softcap=None, sinks=None):
    """The operator in double, (B, H, N, d), with H_kv dividing H_q."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    s = np.einsum("bhic,bhjc->bhij", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        s = softcap * np.tanh(s / softcap)
    s = s + bias
    if hidden is not None:
        s = np.where(hidden, -np.inf, s)
    top = np.maximum(s.max(-1, keepdims=True, initial=-1e300), -1e300)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(np.asarray(sinks)[None, :, None, None] - top)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(total > 0, e / total, 0.0)
        lse = (top + np.log(total))[..., 0]
    return np.einsum("bhij,bhjc->bhic", p, v), p, lse


class RunTest(support.HeedTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(1)

    def random(self, *shape, dtype="f4"):
        return self.rng.standard_normal(shape).astype(dtype)

    def problem(self, queries=5, keys=7, heads=4, kv_heads=2, batch=2, dim=8, dtype="f4"):
        """Random q, k, v, saved as q.npy, k.npy and v.npy."""
        q = self.random(batch, heads, queries, dim, dtype=dtype)
        k = self.random(batch, kv_heads, keys, dim, dtype=dtype)
        v = self.random(batch, kv_heads, keys, dim + 1, dtype=dtype)
        for name, array in (("q", q), ("k", k), ("v", v)):
            self.save(f"{name}.npy", array)
        return q, k, v

    def run_files(self, *flags, **options):
        return self.heed("run", "-q", "q.npy", "-k", "k.npy", "-v", "v.npy", *flags, **options)


class Operator(RunTest):
    def check(self, expected, *flags):
        self.run_files("-o", "o.npy", *flags)
        np.testing.assert_allclose(self.load("o.npy"), expected[0], **CLOSE)

    def test_plain(self):
        self.check(attention(*self.problem()))

    def test_scale_and_softcap(self):
        self.check(attention(*self.problem(), scale=0.3, softcap=1.5), "--scale", "0.3",
                   "--softcap", "1.5")

    def test_causal(self):
        q, k, v = self.problem()
        i, j = np.arange(5)[:, None], np.arange(7)
        self.check(attention(q, k, v, hidden=j > i), "--causal", "upper-left")
        self.check(attention(q, k, v, hidden=j > i + 2), "--causal", "lower-right")
        self.check(attention(q, k, v, hidden=j > i - 3), "--causal", "upper-left",
                   "--query-offset", "-3")

    def test_windows(self):
        q, k, v = self.problem()
        p, j = np.arange(5)[:, None] + 2, np.arange(7)
        self.check(attention(q, k, v, hidden=(j < p - 1) | (j > p + 2)), "--window-left", 1,
                   "--window-right", 2, "--query-offset", "lower-right")

    def test_masks_broadcast_from_the_right(self):
        q, k, v = self.problem()
        for shape in [(7,), (5, 7), (4, 5, 7), (4, 1, 1), (2, 1, 5, 7), (2, 4, 5, 7), (1, 1, 1, 1)]:
            self.save("m.npy", self.random(*shape))
            self.check(attention(q, k, v, bias=self.load("m.npy")), "--attn-mask", "m.npy")
            visible = self.rng.random(shape) < 0.7
            self.save("m.npy", visible)
            self.check(attention(q, k, v, hidden=~visible), "--attn-mask", "m.npy")

    def test_a_short_mask_hides_the_rest(self):
        q, k, v = self.problem()
        short = self.random(5, 4)
        self.save("m.npy", short)
        bias = np.pad(short, ((0, 0), (0, 3)), constant_values=-np.inf)
        self.check(attention(q, k, v, bias=bias), "--attn-mask", "m.npy")
        self.save("m.npy", short > 0)
        self.check(attention(q, k, v, hidden=~np.pad(short > 0, ((0, 0), (0, 3)))),
                   "--attn-mask", "m.npy")

    def test_lengths_and_offsets_per_row(self):
        q, k, v = self.problem()
        self.save("n.npy", np.array([3, 6], dtype="i4"))
        i, j = np.arange(5)[:, None], np.arange(7)
        lengths = np.array([3, 6])[:, None, None, None]
        self.check(attention(q, k, v, hidden=j >= lengths), "--kv-lengths", "n.npy")
        self.check(attention(q, k, v, hidden=(j >= lengths) | (j > i + lengths - 5)),
                   "--kv-lengths", "n.npy", "--causal", "lower-right")
        self.save("offsets.npy", np.array([1, -2]))
        offsets = np.array([1, -2])[:, None, None, None]
        self.check(attention(q, k, v, hidden=j > i + offsets), "--causal", "upper-left",
                   "--query-offset", "offsets.npy")

    def test_alibi_and_sinks(self):
        q, k, v = self.problem()
        slopes, sinks = self.random(4) ** 2, self.random(4)
        self.save("slopes.npy", slopes)
        self.save("sinks.npy", sinks)
        away = np.abs(np.arange(5)[:, None] + 2 - np.arange(7))
        self.check(attention(q, k, v, bias=-slopes[:, None, None] * away), "--alibi", "slopes.npy",
                   "--query-offset", "2")
        self.check(attention(q, k, v, sinks=sinks), "--sinks", "sinks.npy")

    def test_past_and_present(self):
        q, k, v = self.problem()
        past_k, past_v = self.random(2, 2, 3, 8), self.random(2, 2, 3, 9)
        self.save("pk.npy", past_k)
        self.save("pv.npy", past_v)
        k, v = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
        self.check(attention(q, k, v), "--past-key", "pk.npy", "--past-value", "pv.npy",
                   "--present-key", "all-k.npy", "--present-value", "all-v.npy")
        np.testing.assert_array_equal(self.load("all-k.npy"), k)
        np.testing.assert_array_equal(self.load("all-v.npy"), v)

    def test_three_axes_and_two(self):
        q, k, v = self.problem()

        def fold(x):
            return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(*x.shape[::2], -1)

        expected = attention(q, k, v)[0]
        for name, array in (("q", q), ("k", k), ("v", v)):
            self.save(f"{name}.npy", fold(array))
        self.run_files("-o", "o.npy", "--query-heads", 4, "--kv-heads", 2, "--present-key", "p.npy")
        np.testing.assert_allclose(self.load("o.npy"), fold(expected), **CLOSE)
        np.testing.assert_array_equal(self.load("p.npy"), k)  # (B, H, N, d) whatever the input
        for name, array in (("q", q), ("k", k), ("v", v)):
            self.save(f"{name}.npy", fold(array)[1])
        self.run_files("-o", "o.npy", "--query-heads", 4, "--kv-heads", 2)
        np.testing.assert_allclose(self.load("o.npy"), fold(expected)[1], **CLOSE)

    def test_a_ragged_batch(self):
        lengths_q, lengths_k = [2, 0, 3], [4, 1, 2]
        starts_q, starts_k = np.cumsum([0, *lengths_q]), np.cumsum([0, *lengths_k])
        q, k, v = self.random(5, 4, 8), self.random(7, 2, 8), self.random(7, 2, 8)
        for name, array in (("q", q), ("k", k), ("v", v), ("cq", starts_q), ("ck", starts_k)):
            self.save(f"{name}.npy", array)
        self.run_files("--cu-seqlens-q", "cq.npy", "--cu-seqlens-k", "ck.npy", "-o", "o.npy",
                       "--scores", "s.npy", "--lse", "lse.npy", "--causal", "lower-right")
        out, scores, lse = self.load("o.npy"), self.load("s.npy"), self.load("lse.npy")
        self.assertEqual(out.shape, (5, 4, 8))
        self.assertEqual(scores.shape, (3, 4, 3, 4))
        for n, (count_q, count_k) in enumerate(zip(lengths_q, lengths_k)):
            rows = slice(starts_q[n], starts_q[n + 1])
            keys = slice(starts_k[n], starts_k[n + 1])
            one = [x[None].transpose(0, 2, 1, 3) for x in (q[rows], k[keys], v[keys])]
            i, j = np.arange(count_q)[:, None], np.arange(count_k)
            o, p, row_lse = attention(*one, hidden=j > i + count_k - count_q)
            np.testing.assert_allclose(out[rows], o[0].transpose(1, 0, 2), **CLOSE)
            np.testing.assert_allclose(lse[0, :, rows], row_lse[0], **CLOSE)
            np.testing.assert_allclose(scores[n, :, :count_q, :count_k], p[0], **CLOSE)
            self.assertFalse(scores[n, :, count_q:].any() or scores[n, :, :, count_k:].any())


class Output(RunTest):
    def test_lse_and_every_stage_of_the_scores(self):
        q, k, v = self.problem()
        mask = self.random(5, 7)
        self.save("m.npy", mask)
        hidden = np.arange(7) > np.arange(5)[:, None]
        _, p, lse = attention(q, k, v, bias=mask, hidden=hidden, softcap=2)
        raw = np.einsum("bhic,bhjc->bhij", q.astype("f8"), np.repeat(k, 2, 1)) / np.sqrt(8)
        capped = 2 * np.tanh(raw / 2)
        stages = {"raw": raw, "softcap": capped, "softmax": p,
                  "bias": np.where(hidden, -np.inf, capped + mask)}
        for stage, expected in stages.items():
            self.run_files("--attn-mask", "m.npy", "--causal", "upper-left", "--softcap", 2,
                           "--scores", "s.npy", "--scores-stage", stage, "--lse", "lse.npy")
            np.testing.assert_allclose(self.load("s.npy"), expected, err_msg=stage, **CLOSE)
            np.testing.assert_allclose(self.load("lse.npy"), lse, **CLOSE)

    def test_scores_come_in_blocks_of_rows(self):
        # 30 rows of 20,000 keys are several of the blocks that the reference works in.
        q, k, v = self.problem(queries=30, keys=20000, heads=2, kv_heads=1, batch=1, dim=2)
        i, j = np.arange(30)[:, None], np.arange(20000)
        _, p, _ = attention(q, k, v, hidden=j > i + 19970)
        self.run_files("--causal", "lower-right", "--scores", "s.npy")
        np.testing.assert_allclose(self.load("s.npy"), p, rtol=2e-5, atol=1e-9)

    def test_a_row_that_sees_nothing(self):
        self.problem()
        self.run_files("--causal", "upper-left", "--query-offset", "-9", "-o", "o.npy", "--lse",
                       "lse.npy", "--scores", "s.npy")
        self.assertFalse(self.load("o.npy").any() or self.load("s.npy").any())
        self.assertTrue(np.isneginf(self.load("lse.npy")).all())

    def test_dtypes(self):
        q, k, v = self.problem(dtype="f2")
        expected = attention(q, k, v)[0]
        self.run_files("-o", "o.npy")
        self.assertEqual(self.load("o.npy").dtype, "f2")
        # One rounding to f16 on top of f32 arithmetic.
        np.testing.assert_allclose(self.load("o.npy"), expected, rtol=2 ** -11 + 2e-5, atol=2e-6)
        self.run_files("-o", "o.npy", "--dtype", "f32")
        self.assertEqual(self.load("o.npy").dtype, "f4")
        np.testing.assert_allclose(self.load("o.npy"), expected, **CLOSE)

    def test_bfloat16_is_two_byte_void(self):
        q, k, v = self.problem()

        def widened(x):
            return (np.frombuffer(x.tobytes(), "<u2").astype("u4") << 16).view("f4").reshape(x.shape)

        self.run_files("-o", "o.npy", "--dtype", "bf16", "--present-key", "k16.npy",
                       "--present-value", "v16.npy")
        stored = self.load("o.npy")
        self.assertEqual(stored.dtype.str, "|V2")
        k16, v16 = widened(self.load("k16.npy")), widened(self.load("v16.npy"))
        np.testing.assert_allclose(k16, k, rtol=2 ** -8)
        self.heed("run", "-q", "q.npy", "-k", "k16.npy", "-v", "v16.npy", "--dtype", "f32", "-o",
                  "o32.npy")
        np.testing.assert_allclose(self.load("o32.npy"), attention(q, k16, v16)[0], **CLOSE)

    def test_double_is_computed_in_double_and_said_so(self):
        q, k, v = self.problem(dtype="f8")
        o, p, lse = attention(q, k, v, softcap=3)
        _, message = self.run_files("-o", "o.npy", "--lse", "lse.npy", "--scores", "p.npy",
                                    "--softcap", 3)
        self.assertIn("f64 is computed by the reference, slowly", message)
        for name, expected in (("o", o), ("lse", lse), ("p", p)):
            self.assertEqual(self.load(f"{name}.npy").dtype, "f8")
            np.testing.assert_allclose(self.load(f"{name}.npy"), expected, rtol=1e-13, atol=1e-14)
        _, message = self.run_files("-o", "o.npy", "--dtype", "f32", "--softcap", 3)
        self.assertEqual(message, "")
        np.testing.assert_allclose(self.load("o.npy"), o, **CLOSE)

    def test_threads_change_no_bit(self):
        self.problem(queries=70, keys=300)
        self.run_files("-o", "1.npy", "--threads", 1)
        self.run_files("-o", "2.npy", "--threads", 2)
        np.testing.assert_array_equal(self.load("1.npy"), self.load("2.npy"))

    def test_plan_says_what_would_run(self):
        self.problem(queries=64, keys=64)
        out, _ = self.run_files("--plan", "--threads", 1)
        for word in ("kernel    prefill", "memory    ", "workspace", "flop", "time      about"):
            self.assertIn(word, out.decode())
        self.assertFalse((self.folder / "o.npy").exists())
        self.problem(keys=0)
        out, _ = self.run_files("--plan")
        self.assertIn("time      none: no query sees a key", out.decode())
        self.problem(dtype="f8")
        out, _ = self.run_files("--plan", "-o", "o.npy")
        self.assertIn("in double by the reference", out.decode())
        self.assertFalse((self.folder / "o.npy").exists())
        self.assertTrue(all(len(line) <= 80 for line in out.decode().splitlines()))


class Files(RunTest):
    def test_npz_and_safetensors_by_name(self):
        q, k, v = self.problem()
        np.savez(self.folder / "kv.npz", key=k, value=v)
        np.savez_compressed(self.folder / "q.npz", q=q, other=k)
        self.heed("run", "-q", "q.npz:q", "-k", "kv.npz:key", "-v", "kv.npz:value", "-o", "o.npy")
        np.testing.assert_allclose(self.load("o.npy"), attention(q, k, v)[0], **CLOSE)
        self.save_safetensors("kv.safetensors", {"layer:0.key": k, "value": v})
        self.heed("run", "-q", "q.npy", "-k", "kv.safetensors:layer:0.key", "-v",
                  "kv.safetensors:value", "-o", "p.npy")
        np.testing.assert_array_equal(self.load("p.npy"), self.load("o.npy"))
        message = self.refused("run", "-q", "q.npz", "-k", "kv.npz:key", "-v", "v.npy", "-o", "x")
        self.assertIn("--query: q.npz: holds 2 tensors; name one of them, q.npz:NAME", message)
        message = self.refused("run", "-q", "q.npz:x", "-k", "k.npy", "-v", "v.npy", "-o", "x")
        self.assertIn('q.npz: has no tensor "x", only "q", "other"', message)

    def test_foreign_orders(self):
        q, k, v = self.problem()
        self.save("q.npy", np.asfortranarray(q))
        self.save("k.npy", k.astype(">f4"))
        self.run_files("-o", "o.npy")
        np.testing.assert_allclose(self.load("o.npy"), attention(q, k, v)[0], **CLOSE)

    def test_standard_input_and_output(self):
        q, k, v = self.problem()
        stream = io.BytesIO()
        np.save(stream, q)
        out, _ = self.heed("run", "-q", "-", "-k", "k.npy", "-v", "v.npy", "-o", "-",
                           stdin=stream.getvalue())
        np.testing.assert_allclose(np.load(io.BytesIO(out)), attention(q, k, v)[0], **CLOSE)
        out, _ = self.run_files("-o", "/dev/stdout")
        np.testing.assert_allclose(np.load(io.BytesIO(out)), attention(q, k, v)[0], **CLOSE)

    def test_the_same_tensor_thrice_from_standard_input(self):
        x = self.random(1, 2, 5, 8)
        stream = io.BytesIO()
        np.save(stream, x)
        self.heed("run", "-q", "-", "-k", "-", "-v", "-", "-o", "o.npy", stdin=stream.getvalue())
        np.testing.assert_allclose(self.load("o.npy"), attention(x, x, x)[0], **CLOSE)

    def test_an_input_may_be_replaced(self):
        q, k, v = self.problem()
        self.run_files("-o", "v.npy")
        np.testing.assert_allclose(self.load("v.npy"), attention(q, k, v)[0], **CLOSE)


class Refusals(RunTest):
    def refuse(self, *flags):
        return self.refused("run", "-q", "q.npy", "-k", "k.npy", "-v", "v.npy", *flags)

    def test_what_does_not_fit_names_both(self):
        self.problem()
        self.save("wide.npy", self.random(2, 2, 7, 10))
        self.assertIn("query has head_dim 8 but key has 10",
                      self.refused("run", "-q", "q.npy", "-k", "wide.npy", "-v", "v.npy", "-o", "x"))
        self.assertIn("--query-heads is 3", self.refuse("--query-heads", 3, "-o", "x"))
        self.save("m.npy", np.zeros((5, 9), "f4"))
        self.assertIn("9", self.refuse("--attn-mask", "m.npy", "-o", "x"))
        self.save("m.npy", np.zeros((1, 1, 1, 5, 7), "f4"))
        self.assertIn("(1, 1, 1, 5, 7), expected up to", self.refuse("--attn-mask", "m.npy", "-o", "x"))
        self.save("m.npy", np.zeros((5, 7), "i8"))
        self.assertIn("a mask is boolean", self.refuse("--attn-mask", "m.npy", "-o", "x"))
        self.save("n.npy", np.array([3.0, 6.0]))
        self.assertIn("expected a list of whole", self.refuse("--kv-lengths", "n.npy", "-o", "x"))
        self.save("n.npy", np.array([3]))
        self.assertIn("1", self.refuse("--kv-lengths", "n.npy", "-o", "x"))
        self.save("s.npy", np.array([3]))
        self.assertIn("one per query head", self.refuse("--alibi", "s.npy", "-o", "x"))

    def test_flags_that_belong_together(self):
        self.problem()
        self.assertIn("belong together", self.refuse("--past-key", "k.npy", "-o", "x"))
        self.assertIn("belong together", self.refuse("--cu-seqlens-q", "k.npy", "-o", "x"))
        for flags in (("--layer", "a"), ("--context", "k.npy"), ("--rope-base", 1),
                      ("--rope-interleaved",), ("x.npy",)):
            self.assertIn(f"{flags[0]}: goes with --from", self.refuse(*flags, "-o", "x"))
        self.assertIn("do not go together",
                      self.refuse("--past-key", "k.npy", "--past-value", "v.npy", "--cu-seqlens-q",
                                  "k.npy", "--cu-seqlens-k", "k.npy", "-o", "x"))
        self.assertIn("--past-key has head_dim 9 but --key has 8",
                      self.refuse("--past-key", "v.npy", "--past-value", "v.npy", "-o", "x"))

    def test_shapes_that_need_to_be_told(self):
        self.problem()
        self.save("q3.npy", self.random(2, 5, 32))
        run = ("run", "-k", "k.npy", "-v", "v.npy", "-o", "x", "-q")
        self.assertIn("give --query-heads", self.refused(*run, "q3.npy"))
        self.assertIn("does not divide into --query-heads 5",
                      self.refused(*run, "q3.npy", "--query-heads", 5))
        self.assertIn("does not divide", self.refused(*run, "q3.npy", "--query-heads", 0))
        self.save("q5.npy", self.random(1, 1, 1, 1, 1))
        self.assertIn("has shape (1, 1, 1, 1, 1), expected", self.refused(*run, "q5.npy"))
        self.save("qi.npy", np.zeros((2, 4, 5, 8), "i4"))
        self.assertIn("holds i32; give --dtype", self.refused(*run, "qi.npy"))

    def test_ragged_batches_that_are_none(self):
        self.problem(batch=1)
        for name, starts in (("two", [0, 2]), ("three", [0, 2, 5]), ("none", [])):
            self.save(f"{name}.npy", np.array(starts, "i8"))
        self.assertIn("--cu-seqlens-q has 3 values but --cu-seqlens-k has 2",
                      self.refuse("--cu-seqlens-q", "three.npy", "--cu-seqlens-k", "two.npy",
                                  "--query-offset", "lower-right", "-o", "x"))
        for flag in ("--kv-lengths", "--query-offset"):
            self.assertIn("none.npy: holds no number", self.refuse(flag, "none.npy", "-o", "x"))

    def test_outputs(self):
        self.problem()
        self.assertIn("nothing to write; give -o", self.refuse())
        self.assertIn("is given for two outputs", self.refuse("-o", "x.npy", "--lse", "./x.npy"))
        self.assertIn("cannot write here", self.refuse("-o", "none/x.npy"))
        self.assertIn("is a folder", self.refuse("-o", "."))
        self.assertIn("heed run writes .npy", self.refuse("-o", "x.safetensors"))

    def test_files_that_are_missing_or_broken(self):
        self.problem()
        self.assertIn("--key: is missing", self.refused("run", "-q", "q.npy", "-o", "x"))
        self.assertIn("--query: none.npy: no such file",
                      self.refused("run", "-q", "none.npy", "-k", "k.npy", "-v", "v.npy", "-o", "x"))
        whole = (self.folder / "q.npy").read_bytes()
        (self.folder / "q.npy").write_bytes(whole[:-1])
        self.assertIn("follow the header", self.refuse("-o", "x"))

    def test_numbers_that_make_no_sense(self):
        self.problem()
        self.refuse("-o", "x", "--threads", "-1")
        self.assertIn("expected at most 1024", self.refuse("-o", "x", "--threads", 5000))
        self.refuse("-o", "x", "--window-left", "-2")
        self.refuse("-o", "x", "--softcap", "0")
        self.refuse("-o", "x", "--scale", "nan")
        self.refuse("-o", "x", "--causal", "middle")
        self.refuse("-o", "x", "--scores-stage", "late")
        huge = np.array([-2 ** 63, 2 ** 63 - 1])
        self.save("n.npy", huge)
        self.refuse("-o", "x", "--kv-lengths", "n.npy", "--query-offset", "lower-right")
        self.refuse("-o", "x", "--cu-seqlens-q", "n.npy", "--cu-seqlens-k", "n.npy",
                    "--query-offset", "lower-right")


class Watched(RunTest):
    """Long runs: a progress bar on terminals only, and Ctrl-C that leaves nothing behind."""

    def setUp(self):
        super().setUp()
        # f64 of this size takes the reference some minutes: long enough to be stopped.
        self.problem(queries=4000, keys=4000, heads=8, kv_heads=8, batch=1, dim=64, dtype="f8")
        self.arguments = [support.HEED, "run", "-q", "q.npy", "-k", "k.npy", "-v", "v.npy",
                          "-o", "o.npy", "--scores", "s.npy"]
        self.before = sorted(path.name for path in self.folder.iterdir())

    def stop(self, process, number):
        process.send_signal(number)
        return process.wait(timeout=60)

    def wait_for_outputs(self):
        while sorted(path.name for path in self.folder.iterdir()) == self.before:
            time.sleep(0.01)

    def test_signals_end_it_cleanly(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen(self.arguments, cwd=self.folder, stderr=subprocess.PIPE) as process:
                self.wait_for_outputs()
                self.assertEqual(self.stop(process, number), code)
                message = process.stderr.read().decode()
            self.assertIn("heed: stopped, nothing was written", message)
            self.assertNotIn("\r", message)  # no bar where no one is watching
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), self.before)

    def test_a_bar_with_the_time_left_on_a_terminal(self):
        mine, theirs = pty.openpty()
        with subprocess.Popen(self.arguments, cwd=self.folder, stderr=theirs) as process:
            os.close(theirs)
            seen = b""
            while b" left" not in seen:
                seen += os.read(mine, 1000)
            self.assertEqual(self.stop(process, signal.SIGINT), 130)
        os.close(mine)
        self.assertRegex(seen.decode(), r"heed run \[#*\.+\] \d+ %, .* left")


if __name__ == "__main__":
    support.main()
