"""heed.KVCache and heed.PagedKVCache: decoding step by step equals attending to everything at once."""
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
    with pytest.raises(ValueError, match=r"value has shape \(1, 2, 3, 3\), expected \(1, 2, n, 4\)"):
        cache.append(x, x[..., :3])
    with pytest.raises(ValueError, match="key has 3 tokens but value has 2"):
        cache.append(x, x[:, :, :2])
    with pytest.raises(TypeError, match="key is float64, expected float32"):
        cache.append(x.astype(float), x)
    with pytest.raises(ValueError, match="capacity is 0"):
        heed.KVCache(1, 1, 1, capacity=0)
    assert len(cache) == 0


# --- In pages -------------------------------------------------------------------------------------

@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.booleans()), max_size=12),
       st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_paged_sequences_are_as_if_each_were_alone(steps, page_size, seed):
    """Appends, forks and removals in any order leave every sequence with its own tokens."""
    rng = np.random.default_rng(seed)
    cache, plain = heed.PagedKVCache(2, 4, pages=200, page_size=page_size), {}
    plain[cache.add()] = np.zeros((2, 0, 4), np.float32)
    for which, n, forks in steps:
        sequence = sorted(plain)[which % len(plain)]
        if forks:
            plain[cache.fork(sequence)] = plain[sequence]
        new = rng.standard_normal((2, n, 4), np.float32)
        cache.append(sequence, new, -new)
        plain[sequence] = np.concatenate([plain[sequence], new], axis=1)
    if len(plain) > 2:
        gone = sorted(plain)[0]
        cache.remove(gone)
        del plain[gone]
    query = rng.standard_normal((len(plain), 4, 1, 4), np.float32)
    got = cache.attention(list(plain), query)
    for row, (sequence, tokens) in enumerate(plain.items()):
        assert cache.length(sequence) == tokens.shape[1]
        alone = heed.attention(query[row], tokens, -tokens)
        np.testing.assert_allclose(got[row], alone, rtol=1e-5, atol=1e-6)
    for sequence in plain:
        cache.remove(sequence)
    assert cache.pages_in_use == 0


def test_a_full_pool_refuses_and_writes_nothing():
    cache, x = heed.PagedKVCache(1, 2, pages=2, page_size=2), np.ones((1, 3, 2), np.float32)
    a = cache.add()
    cache.append(a, x, x)
    with pytest.raises(MemoryError, match="1 pages are needed but 0 of 2 are free"):
        cache.append(a, x, x)
    b = cache.fork(a)
    with pytest.raises(MemoryError):  # the shared page would have to be copied
        cache.append(b, x[:, :1], x[:, :1])
    assert cache.length(a) == cache.length(b) == 3 and cache.pages_in_use == 2
    cache.remove(a)
    cache.append(b, x[:, :1], x[:, :1])
    assert cache.length(b) == 4 and "1 sequences in 2 of 2 pages" in repr(cache)


def test_paged_errors():
    cache, x = heed.PagedKVCache(1, 2, pages=2), np.ones((1, 3, 2), np.float32)
    with pytest.raises(ValueError, match="sequence 5 is not one of the 0 here"):
        cache.length(5)
    a = cache.add()
    with pytest.raises(ValueError, match=r"key has shape \(2, 3, 2\), expected \(1, n, 2\)"):
        cache.append(a, np.ones((2, 3, 2), np.float32), x)
    with pytest.raises(ValueError, match="page_size is 0"):
        heed.PagedKVCache(1, 2, pages=1, page_size=0)
    assert cache.pages_in_use == 0
