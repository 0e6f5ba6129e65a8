"""heed.attention against the three steps in float64: shapes, layouts, element types, options."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import heed
from three_step import three_step, tolerance, visible_pairs

settings.register_profile("heed", deadline=None, derandomize=True, max_examples=150)
settings.load_profile("heed")

sizes = st.integers(1, 40)
seeds = st.integers(0, 2**32 - 1)
dtypes = st.sampled_from([np.float16, np.float32, np.float64])


def check(got, expected, q, k, v, scale=None):
    got = np.asarray(got)
    stored = {2: 2.0**-11, 4: 2.0**-24, 8: None}[got.dtype.itemsize]
    eps = np.finfo(np.float64 if got.dtype == np.float64 else np.float32).eps
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=0,
                               atol=tolerance(q, k, v, scale, eps, stored))


def laid_out(rng, layout, batch, heads, tokens, dim, dtype):
    """[batch, heads, tokens, dim] as different programs keep it in memory."""
    normal = lambda *shape: rng.standard_normal(shape).astype(dtype)
    if layout == "bhnd":
        return normal(batch, heads, tokens, dim)
    if layout == "bnhd":
        return normal(batch, tokens, heads, dim).transpose(0, 2, 1, 3)
    if layout == "sliced":
        return normal(batch, heads + 1, tokens * 2, dim + 3)[:, 1:, ::2, 2:dim + 2]
    if layout == "reversed":
        return normal(batch, heads, tokens, dim)[:, :, ::-1]
    if layout == "one for all":
        return np.broadcast_to(normal(1, 1, tokens, dim), (batch, heads, tokens, dim))
    assert layout == "columns first"
    return normal(batch, heads, dim, tokens).swapaxes(2, 3)


layouts = st.sampled_from(["bhnd", "bnhd", "sliced", "reversed", "one for all", "columns first"])


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), sizes, sizes, st.integers(1, 20),
       st.integers(1, 20), dtypes, layouts, layouts, layouts, seeds)
def test_any_shape_layout_and_type(batch, kv_heads, groups, n_q, n_k, d_k, d_v, dtype, of_q, of_k,
                                   of_v, seed):
    rng = np.random.default_rng(seed)
    q = laid_out(rng, of_q, batch, kv_heads * groups, n_q, d_k, dtype)
    k = laid_out(rng, of_k, batch, kv_heads, n_k, d_k, dtype)
    v = laid_out(rng, of_v, batch, kv_heads, n_k, d_v, dtype)
    out, lse = heed.attention(q, k, v, return_lse=True)
    expected, expected_lse, _ = three_step(q, k, v)
    assert out.dtype == dtype and lse.dtype == (np.float64 if dtype == np.float64 else np.float32)
    check(out, expected, q, k, v)
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-5, atol=tolerance(q, k, np.ones(1)))


@given(sizes, sizes, st.integers(1, 3), st.booleans(), st.sampled_from(["upper_left", "lower_right"]),
       st.none() | st.integers(0, 9), st.none() | st.integers(0, 9),
       st.none() | st.floats(0.5, 30), st.none() | st.floats(0.01, 2),
       st.sampled_from(["none", "boolean", "numbers", "one row"]), st.booleans(), seeds)
def test_options_together(n_q, n_k, heads, causal, aligned, left, right, softcap, scale, masked,
                          with_sinks, seed):
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal((2, heads, n, 8), np.float32) for n in (n_q, n_k, n_k))
    offset = n_k - n_q if causal and aligned == "lower_right" else 0
    bias, mask = 0.0, None
    visible = visible_pairs(n_q, n_k, offset if causal else None, (left, right), offset)
    if masked == "boolean":
        mask = rng.random((2, 1, n_q, n_k)) < 0.7
        visible = visible & mask
    elif masked == "numbers":
        bias = mask = rng.standard_normal((heads, n_q, n_k), np.float32)
    elif masked == "one row":
        bias = mask = rng.standard_normal((n_q, n_k), np.float32)[:1]
    sinks = rng.standard_normal(heads) if with_sinks else None
    out, lse, weights = heed.attention(
        q, k, v, mask, causal, scale, softcap=softcap, window=(left, right),
        causal_alignment=aligned, query_offset=None if causal else offset, sinks=sinks,
        return_lse=True, return_scores="softmax")
    expected, expected_lse, p = three_step(q, k, v, scale=scale, softcap=softcap, bias=bias,
                                           visible=visible, sinks=sinks)
    check(out, expected, q, k, v, scale)
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-5, atol=tolerance(q, k, np.ones(1), scale))
    np.testing.assert_allclose(weights, p, rtol=1e-5, atol=1e-6)


def test_two_and_three_axes():
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((4, n, 8), np.float32) for n in (5, 7, 7))
    check(heed.attention(q, k, v), three_step(q, k, v)[0], q, k, v)
    check(heed.attention(q[0], k[0], v[0]), three_step(q[0], k[0], v[0])[0], q, k, v)


def test_a_hidden_row_gives_zero():
    x = np.ones((2, 2), np.float32)
    out, lse = heed.attention(x, x, x, attn_mask=np.array([[False, False], [True, True]]),
                              return_lse=True)
    assert (out[0] == 0).all() and lse[0] == -np.inf and (out[1] == 1).all()


def test_kv_lengths_and_alibi():
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((2, 3, n, 8), np.float32) for n in (4, 9, 9))
    lengths, slopes = [9, 5], np.array([0.5, 0.25, 0.125])
    visible = np.arange(9)[None, :] < np.array(lengths)[:, None]
    away = np.abs(np.arange(4)[:, None] + 2 - np.arange(9)[None, :])
    out = heed.attention(q, k, v, kv_lengths=lengths, alibi_slopes=slopes, query_offset=2)
    expected = three_step(q, k, v, bias=-slopes[:, None, None] * away,
                          visible=visible[:, None, None, :])[0]
    check(out, expected, q, k, v)


def test_one_offset_per_batch_row():
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, 1, n, 8), np.float32) for n in (4, 9, 9))
    out = heed.attention(q, k, v, is_causal=True, query_offset=[5, 0])
    for row, offset in enumerate([5, 0]):
        seen = visible_pairs(4, 9, offset)
        check(out[row], three_step(q[row], k[row], v[row], visible=seen)[0], q, k, v)


def test_a_ragged_batch_is_its_sequences_one_by_one():
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((n, 2, 8), np.float32) for n in (7, 12, 12))
    cu_q, cu_k = [0, 3, 7], [0, 8, 12]
    out, lse = heed.attention(q, k, v, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k, return_lse=True)
    assert out.shape == (7, 2, 8) and lse.shape == (7, 2)
    for n in range(2):
        rows, keys = slice(cu_q[n], cu_q[n + 1]), slice(cu_k[n], cu_k[n + 1])
        alone, alone_lse = heed.attention(*(x.swapaxes(0, 1) for x in (q[rows], k[keys], v[keys])),
                                          return_lse=True)
        assert (out[rows].swapaxes(0, 1) == alone).all()
        assert (lse[rows].T == alone_lse).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_out_is_written_in_place_whatever_its_layout(dtype):
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((2, 3, 5, 8)).astype(dtype) for _ in range(3))
    memory = np.full((2, 5, 4, 8), 7, dtype)
    out = memory.transpose(0, 2, 1, 3)[:, :3]
    assert heed.attention(q, k, v, out=out) is out
    assert (out == heed.attention(q, k, v)).all()
    assert (memory[:, :, 3] == 7).all()


@pytest.mark.parametrize("stage", ["raw", "softcap", "bias", "softmax"])
def test_return_scores(stage):
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((2, n, 4), np.float32) for n in (3, 5, 5))
    bias = rng.standard_normal((3, 5), np.float32)
    scores = heed.attention(q, k, v, bias, softcap=2.0, return_scores=stage)[1]
    raw = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / 2
    capped = 2 * np.tanh(raw / 2)
    expected = {"raw": raw, "softcap": capped, "bias": capped + bias,
                "softmax": three_step(q, k, v, softcap=2.0, bias=bias)[2]}[stage]
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-7)


def test_hidden_scores_are_minus_infinity_after_the_bias():
    x = np.eye(3, dtype=np.float32)
    scores = heed.attention(x, x, x, is_causal=True, return_scores="bias")[1]
    assert (np.isneginf(scores) == np.triu(np.ones((3, 3), bool), 1)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_ragged_batch_and_its_scores(dtype):
    """Each sequence is as it is alone; scores of the shorter ones are padded with 0."""
    rng = np.random.default_rng(8)
    q, k, v = (rng.standard_normal((n, 2, 4)).astype(dtype) for n in (5, 7, 7))
    starts_q, starts_k = [0, 2, 2, 5], [0, 4, 5, 7]
    out, lse, scores = heed.attention(q, k, v, cu_seqlens_q=starts_q, cu_seqlens_k=starts_k,
                                      return_lse=True, return_scores="softmax")
    assert (out.dtype, scores.dtype, scores.shape) == (dtype, dtype, (3, 2, 3, 4))
    for n in range(3):
        rows, keys = slice(*starts_q[n:n + 2]), slice(*starts_k[n:n + 2])
        one = heed.attention(*(x.swapaxes(0, 1) for x in (q[rows], k[keys], v[keys])),
                             return_lse=True, return_scores="softmax")
        assert (out[rows].swapaxes(0, 1) == one[0]).all() and (lse[rows].T == one[1]).all()
        used = scores[n, :, :one[2].shape[1], :one[2].shape[2]]
        assert (used == one[2]).all() and scores[n].sum() == used.sum()


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((4, 130, 32), np.float32) for _ in range(3))
    assert (heed.attention(q, k, v, threads=1) == heed.attention(q, k, v, threads=2)).all()


def test_buffers_and_dlpack_are_read_in_place():
    x = np.arange(12, dtype=np.float32).reshape(4, 3) / 10

    class OnlyDlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

    expected = heed.attention(x, x, x)
    assert (heed.attention(memoryview(x), memoryview(x), memoryview(x)) == expected).all()
    assert (heed.attention(OnlyDlpack(x), OnlyDlpack(x), OnlyDlpack(x)) == expected).all()
    columns = OnlyDlpack(np.asfortranarray(x))
    assert (heed.attention(columns, columns, columns) == expected).all()
    out = np.empty_like(x)
    heed.attention(x, x, x, out=OnlyDlpack(out))
    assert (out == expected).all()


def test_merge_states_joins_disjoint_keys():
    rng = np.random.default_rng(8)
    q, k, v = (rng.standard_normal((2, 3, n, 8), np.float32) for n in (5, 11, 11))
    parts = [heed.attention(q, k[:, :, s], v[:, :, s], return_lse=True)
             for s in (slice(0, 4), slice(4, 11))]
    out, lse = heed.merge_states(*parts[0], *parts[1])
    expected, expected_lse, _ = three_step(q, k, v)
    check(out, expected, q, k, v)
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-6)


def test_selfish_attention():
    rng = np.random.default_rng(9)
    keys, query = rng.standard_normal((3, 7, 5), np.float32), rng.standard_normal((3, 5), np.float32)
    expected = three_step(query[:, None, None], keys[:, None], keys[:, None], scale=1.0)[0][:, 0, 0]
    check(heed.selfish_attention(keys, query), expected, query, keys, keys, 1.0)
    strided = np.repeat(keys, 2, axis=1)[:, ::2]
    assert (heed.selfish_attention(strided, memoryview(query)) ==
            heed.selfish_attention(keys.tolist(), query.tolist())).all()


def test_plan_says_what_would_run():
    x = np.zeros((4, 256, 64), np.float32)
    plan = heed.plan(x, x, x, is_causal=True)
    assert plan["flops"] == 2 * (64 + 64) * 4 * 256 * 257 / 2
    assert plan["target"] == heed.current_target() and plan["target"] in heed.supported_targets()


def test_bfloat16_by_ml_dtypes():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    rng = np.random.default_rng(10)
    q, k, v = (rng.standard_normal((2, 6, 8)).astype(bfloat16) for _ in range(3))
    out = heed.attention(q, k, v)
    assert out.dtype == bfloat16
    np.testing.assert_allclose(out.astype(np.float64), three_step(q, k, v)[0], rtol=0,
                               atol=tolerance(q, k, v, stored=2.0**-8))
