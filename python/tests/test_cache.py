"""heed.KVCache: decoding step by step equals attending to everything at once."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import heed

settings.register_profile("heed", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("heed")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 3), st.integers(1, 9),
       st.integers(0, 2**32 - 1))
def test_steps_of_any_size_equal_the_whole(steps, groups, capacity, seed):
    rng, tokens = np.random.default_rng(seed), sum(steps)
    q = rng.standard_normal((2, 2 * groups, tokens, 8), np.float32)
    k, v = (rng.standard_normal((2, 2, tokens, d), np.float32) for d in (8, 4))
    cache, begin, parts = heed.KVCache(2, 2, 8, 4, capacity=capacity), 0, []
    for n in steps:
        now = slice(begin, begin := begin + n)
        cache.append(k[:, :, now], v[:, :, now])
        if n:
            parts.append(cache.attention(q[:, :, now]))
    assert len(cache) == tokens <= cache.capacity
    assert (cache.keys == k).all() and (cache.values == v).all()
    if parts:
        whole = heed.attention(q, k, v, is_causal=True)
        np.testing.assert_allclose(np.concatenate(parts, axis=2), whole, rtol=1e-5, atol=1e-5)


def test_truncate_and_options():
    cache = heed.KVCache(1, 1, 2, dtype=np.float16)
    x = np.arange(8, dtype=np.float16).reshape(1, 1, 4, 2)
    cache.append(x, x)
    cache.truncate(2)
    assert (cache.keys == x[:, :, :2]).all() and "2 tokens" in repr(cache)
    assert (cache.attention(x[:, :, :1], window=(0, None)) == x[:, :, 1:2]).all()
    with pytest.raises(ValueError, match="length is 3, expected 0 to 2"):
        cache.truncate(3)


def test_errors_name_both_shapes():
    cache, x = heed.KVCache(1, 2, 4), np.zeros((1, 2, 3, 4), np.float32)
    with pytest.raises(ValueError, match=r"value has shape \(1, 2, 3, 3\), expected \(1, 2, 3, 4\)"):
        cache.append(x, x[..., :3])
    with pytest.raises(ValueError, match="key has 3 tokens but value has 2"):
        cache.append(x, x[:, :, :2])
    with pytest.raises(TypeError, match="key is float64, expected float32"):
        cache.append(x.astype(float), x)
    with pytest.raises(ValueError, match="capacity is 0"):
        heed.KVCache(1, 1, 1, capacity=0)
    assert len(cache) == 0
