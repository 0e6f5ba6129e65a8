"""heed.MultiHeadAttention against the projections and three steps in float64."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import heed
from three_step import three_step, visible_pairs

settings.register_profile("heed", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("heed")


def heads_of(x, heads):
    """(..., tokens, heads * d) as (..., heads, tokens, d)."""
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(-2, -3)


def multi_head(x, context, w, b, heads, kv_heads, visible=True, change=lambda rows, start: rows):
    x, context = np.asarray(x, np.float64), np.asarray(context, np.float64)
    q, k, v = (heads_of(source @ w[n] + b[n], h)
               for n, (source, h) in enumerate([(x, heads), (context, kv_heads), (context, kv_heads)]))
    y = three_step(change(q, 0), change(k, 0), v, visible=visible)[0]
    return y.swapaxes(-2, -3).reshape(*x.shape[:-1], -1) @ w[3] + b[3]


def random_layer(rng, d_model, d_context, heads, kv_heads, m, l, scale=0.3):
    shapes = [(d_model, heads * m), (d_context, kv_heads * m), (d_context, kv_heads * l),
              (heads * l, d_model)]
    weights = [(scale * rng.standard_normal(shape)).astype(np.float32) for shape in shapes]
    biases = [(scale * rng.standard_normal(shape[1])).astype(np.float32) for shape in shapes]
    return weights, biases


# Every sum is of fewer than 64 products of magnitude near 1: rounding stays below 64 * 2^-23 of the
# magnitudes, of which four follow each other.
CLOSE = {"rtol": 4 * 64 * 2.0**-23, "atol": 4 * 64 * 2.0**-23}


@given(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 2), st.integers(1, 3),
       st.integers(1, 4), st.integers(1, 6), st.integers(1, 6), st.booleans(), st.booleans(),
       st.integers(0, 2**32 - 1))
def test_layers_of_any_size(batch, n_q, n_k, kv_heads, groups, d, m, l, crossing, transposed, seed):
    rng = np.random.default_rng(seed)
    heads, d_context = kv_heads * groups, d + 1 if crossing else d
    w, b = random_layer(rng, d, d_context, heads, kv_heads, m, l)
    given_w = [np.ascontiguousarray(x.T).T for x in w] if transposed else w
    layer = heed.MultiHeadAttention(*given_w, num_heads=heads, num_kv_heads=kv_heads, b_q=b[0],
                                    b_k=b[1], b_v=b[2], b_o=b[3])
    assert layer.parameter_count == sum(x.size for x in w + b)
    x = rng.standard_normal((batch, n_q, d), np.float32)
    context = rng.standard_normal((batch, n_k, d_context), np.float32) if crossing else None
    got = layer(x, context)
    np.testing.assert_allclose(got, multi_head(x, x if context is None else context, w, b, heads,
                                               kv_heads), **CLOSE)


def test_causal_rotary_and_norm():
    rng = np.random.default_rng(1)
    w, b = random_layer(rng, 6, 6, 2, 1, 4, 3)
    x = rng.standard_normal((7, 6), np.float32)
    norm = rng.standard_normal(4).astype(np.float32)

    def change(rows, start):
        rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6) * norm
        angle = (start + np.arange(7))[:, None] * 10000.0 ** (-np.arange(2) / 2)
        a, c = rows[..., :2], rows[..., 2:]
        return np.concatenate([a * np.cos(angle) - c * np.sin(angle),
                               c * np.cos(angle) + a * np.sin(angle)], -1)

    layer = heed.MultiHeadAttention(*w, num_heads=2, num_kv_heads=1, b_q=b[0], b_k=b[1], b_v=b[2],
                                    b_o=b[3], rotary=heed.Rotary(), qk_norm=heed.QkNorm(norm, norm))
    expected = multi_head(x, x, w, b, 2, 1, visible_pairs(7, 7, 0), change)
    np.testing.assert_allclose(layer(x, is_causal=True), expected, **CLOSE)
    shifted = layer(x, is_causal=True, query_positions=5, key_positions=list(range(5, 12)))
    np.testing.assert_allclose(shifted, expected, **CLOSE)  # RoPE sees differences only


def test_out_and_half_precision():
    rng = np.random.default_rng(2)
    w, b = random_layer(rng, 8, 8, 2, 2, 4, 4)
    layer = heed.MultiHeadAttention(*[x.astype(np.float16) for x in w], num_heads=2)
    x = rng.standard_normal((5, 8)).astype(np.float16)
    out = np.empty((5, 8), np.float16)
    assert layer(x, out=out) is out
    expected = multi_head(x, x, [y.astype(np.float16).astype(float) for y in w], [0] * 4, 2, 2)
    np.testing.assert_allclose(out, expected, rtol=2.0**-10, atol=2.0**-10)


def test_errors():
    eye = np.eye(4, dtype=np.float32)
    with pytest.raises(ValueError, match="w_q has 4 columns, which is no multiple of 3 heads"):
        heed.MultiHeadAttention(eye, eye, eye, eye, num_heads=3)
    with pytest.raises(ValueError, match=r"w_k has shape \(4\), expected \(in, out\)"):
        heed.MultiHeadAttention(eye, eye[0], eye, eye, num_heads=2)
    with pytest.raises(ValueError, match="rotary pairs is 'odd'"):
        heed.MultiHeadAttention(eye, eye, eye, eye, num_heads=2, rotary=heed.Rotary(pairs="odd"))
    layer = heed.MultiHeadAttention(eye, eye, eye, eye, num_heads=2)
    with pytest.raises(ValueError, match="(?s)5.*4|4.*5"):
        layer(np.ones((3, 5), np.float32))
    with pytest.raises(ValueError, match=r"x has shape \(4\)"):
        layer(eye[0])
