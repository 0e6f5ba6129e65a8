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
    with pytest.raises(ValueError, match="value has head_dim 3 but the cache has 4"):
        cache.append(x, x[..., :3])
    with pytest.raises(ValueError, match="key has 3 tokens but value has 2"):
        cache.append(x, x[:, :, :2])
    with pytest.raises(TypeError, match="key is f64, expected float32, float16 or bfloat16"):
        cache.append(x.astype(float), x)
    with pytest.raises(TypeError, match="dtype is float64, expected float32, float16, bfloat16 or int8"):
        heed.KVCache(1, 1, 1, dtype=np.float64)
    with pytest.raises(ValueError, match="query has head_dim 3 but key has 4"):
        cache.attention(x[..., :3])
    with pytest.raises(TypeError, match="return_scores"):
        cache.attention(x, return_scores="softmax")
    with pytest.raises(ValueError, match="capacity is 0"):
        heed.KVCache(1, 1, 1, capacity=0)
    assert len(cache) == 0


# What a number may lose: nothing, half of its last bit, or half a step of its row's 127.
LOST = {"float32": 0, "float16": 2.0 ** -11, "int8": 0.5 / 127 * (1 + 1e-5)}


@pytest.mark.parametrize("dtype, size", [(np.float32, 64), ("float16", 32), (np.int8, 16 + 4)])
def test_every_element_type_stores_what_it_can(dtype, size):
    rng, cache = np.random.default_rng(3), heed.KVCache(1, 2, 16, dtype=dtype)
    x = rng.standard_normal((1, 2, 20, 16), np.float32)
    cache.append(x, x)
    assert cache.dtype == np.dtype(dtype).name and cache.nbytes == 256 * 2 * 2 * size
    assert (np.abs(cache.values - x) <= LOST[cache.dtype] * np.abs(x).max(-1, keepdims=True)).all()
    out, lse = cache.attention(x[:, :, -1:], return_lse=True)
    kept = cache.keys.astype(np.float32), cache.values.astype(np.float32)
    whole, whole_lse = heed.attention(x[:, :, -1:], *kept, return_lse=True)
    moved = rounded = 0
    if cache.dtype == "int8":  # queries and weights are rounded to half of 1/32767 of their largest
        moved = np.abs(x[:, :, -1:]).max() / 65534 * np.abs(kept[0]).sum(-1).max() / np.sqrt(16)
        rounded = (np.expm1(2 * moved) + np.exp(2 * moved) * 20 / 65534) * np.abs(kept[1]).max()
    np.testing.assert_allclose(out, whole, rtol=1e-5, atol=1e-6 + rounded)
    np.testing.assert_allclose(lse, whole_lse, rtol=1e-5, atol=moved)


def test_bfloat16_needs_no_ml_dtypes_to_decode():
    cache, x = heed.KVCache(1, 1, 4, dtype="bfloat16"), np.ones((1, 1, 2, 4), np.float32)
    cache.append(x, 1.5 * x)  # both are bfloat16 numbers
    assert cache.dtype == "bfloat16"
    np.testing.assert_allclose(cache.attention(x[:, :, :1]), 1.5 * x[:, :, :1], rtol=2.0 ** -22)


def test_a_cache_is_not_changed_while_it_is_read():
    """A score_mod runs in the middle of a read: the change is refused, and nothing hangs."""
    cache, x = heed.KVCache(1, 1, 4), np.ones((1, 1, 8, 4), np.float32)
    cache.append(x, x)

    def grows(scores, batch, head, query, key):
        cache.append(x, x)

    with pytest.raises(RuntimeError, match="the cache is in use"):
        cache.attention(x, score_mod=grows)
    assert len(cache) == 8
    assert cache.attention(x, score_mod=lambda *tile: len(cache)).shape == x.shape


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
    with pytest.raises(ValueError, match="key has 2 heads but the cache has 1"):
        cache.append(a, np.ones((2, 3, 2), np.float32), x)
    with pytest.raises(ValueError, match="sequence 0 is given twice"):
        cache.append([a, a], np.stack([x, x]), np.stack([x, x]))
    with pytest.raises(ValueError, match="page_size is 0"):
        heed.PagedKVCache(1, 2, pages=1, page_size=0)
    assert cache.pages_in_use == 0


def test_forks_of_a_prefix_and_a_cascade():
    """Answers to one prompt: grown in one call, attended to alone, as a cascade, and ragged."""
    rng = np.random.default_rng(5)
    cache = heed.PagedKVCache(2, 8, 4, pages=64, page_size=4)
    k, v = rng.standard_normal((2, 21, 8), np.float32), rng.standard_normal((2, 21, 4), np.float32)
    prompt = cache.add()
    cache.append(prompt, k, v)
    answers = [cache.fork(prompt, 18) for _ in range(6)]
    assert cache.pages_in_use == 6 and cache.shared_prefix(answers) == 18
    own_k, own_v = (rng.standard_normal((6, 2, 3, d), np.float32) for d in (8, 4))
    cache.append(answers, own_k, own_v)
    assert cache.shared_prefix(answers) == 16 == 4 * cache.page_size
    assert len({tuple(cache.block_table(a)[:4]) for a in answers}) == 1
    q = rng.standard_normal((6, 4, 2, 8), np.float32)
    options = dict(softcap=5.0, window=(15, None), alibi_slopes=[0.1, 0.2, 0.3, 0.4])
    out, lse = cache.attention(answers, q, return_lse=True, **options)
    for n in range(6):
        whole = [np.concatenate([a[:, :18], b[n]], axis=1) for a, b in ((k, own_k), (v, own_v))]
        alone = heed.attention(q[n], *whole, is_causal=True, causal_alignment="lower_right",
                               **options)
        assert (alone == out[n]).all()
    shared, shared_lse = cache.cascade_attention(answers, q, return_lse=True, **options)
    np.testing.assert_allclose(shared, out, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shared_lse, lse, rtol=1e-5, atol=1e-6)
    ragged = cache.attention(answers[:2], q[:2].swapaxes(1, 2).reshape(4, 4, 8)[:3],
                             cu_seqlens_q=[0, 2, 3], **options)
    assert (ragged[:2] == out[0].swapaxes(0, 1)).all()
    cache.truncate(answers[0], 0)
    assert cache.length(answers[0]) == 0
    with pytest.raises(ValueError, match="length is 22, expected 0 to 21"):
        cache.truncate(prompt, 22)
