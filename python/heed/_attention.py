"""The operator: attention, plan, merge_states, selfish_attention."""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

from heed import _core
from heed._count import optional_count

Array = Any  # NumPy, or anything with __dlpack__ or the buffer protocol
ScoreMod = Callable[[Array, int, int, int, int], None]


def attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Optional[Array] = None,
    is_causal: bool = False,
    scale: Optional[float] = None,
    *,
    softcap: Optional[float] = None,
    window: Tuple[Optional[int], Optional[int]] = (None, None),
    causal_alignment: str = "upper_left",
    query_offset: Union[int, Sequence[int], None] = None,
    kv_lengths: Optional[Sequence[int]] = None,
    alibi_slopes: Optional[Sequence[float]] = None,
    sinks: Optional[Sequence[float]] = None,
    cu_seqlens_q: Optional[Sequence[int]] = None,
    cu_seqlens_k: Optional[Sequence[int]] = None,
    return_lse: bool = False,
    return_scores: Optional[str] = None,
    score_mod: Optional[ScoreMod] = None,
    out: Optional[Array] = None,
    threads: Optional[int] = None,
) -> Any:
    """softmax(query @ key.T * scale + ...) @ value, exact, fused, in linear memory.

    query (..., n_q, d_k), key (..., n_k, d_k), value (..., n_k, d_v) of two to four axes: tokens and
    dim, heads before them, batch first. float32, float16 or bfloat16; query heads may be a multiple of
    key/value heads. Arrays are NumPy's, or anything with ``__dlpack__`` or the buffer protocol, read
    where they are as long as the last axis is contiguous. float64 is computed by heed's reference in
    double, which takes its time.

    attn_mask         boolean, True = attend; or numbers that are added to the scores. Broadcasts.
    is_causal         query i sees keys j <= i + offset. As in PyTorch, offset is 0
                      (``causal_alignment="upper_left"``): with n_q < n_k, as when decoding, you want
                      ``causal_alignment="lower_right"``, offset = n_k - n_q.
    scale             default 1 / sqrt(d_k)
    softcap           s = softcap * tanh(s / softcap), before masks
    window            (left, right): keys from i + offset - left to i + offset + right
    query_offset      the offset itself, in place of causal_alignment, one or one per batch row; windows
                      and ALiBi use it too
    kv_lengths        keys past it are hidden; one per batch row
    alibi_slopes      s -= slope * |i + offset - j|; one per query head
    sinks             adds exp(sink) to each row's sum; one per query head
    cu_seqlens_q, _k  a ragged batch: query (tokens, heads, dim), sequence n being tokens
                      cu_seqlens_q[n] to cu_seqlens_q[n + 1]
    score_mod         f(scores, batch, head, query, key) changes a tile of scores in place; its entry
                      [i, j] belongs to query + i and key + j. Called many times, from any thread.
    out               where the result goes; shares no memory with what is read
    threads           at most this many; the result does not depend on it

    Returns the output, shaped like query with the last axis of value; with return_lse also the natural
    log of each row's sum; with return_scores "raw", "softcap", "bias" or "softmax" also the scores
    after that stage (computed by the reference; hidden ones are -inf after "bias").

    >>> import numpy as np
    >>> x = np.eye(3, dtype=np.float32)
    >>> attention(x, x, x, is_causal=True)[0]
    array([1., 0., 0.], dtype=float32)
    >>> out, weights = attention(x, x, x, scale=0.0, return_scores="softmax")
    >>> weights[0]
    array([0.33333334, 0.33333334, 0.33333334], dtype=float32)
    """
    return _core.attention(
        query, key, value,
        _core.Keywords(attn_mask, is_causal, scale, softcap, window, causal_alignment, query_offset,
                       kv_lengths, alibi_slopes, sinks, cu_seqlens_q, cu_seqlens_k, score_mod,
                       threads),
        return_lse, return_scores, out)


def plan(query: Array, key: Array, value: Array, attn_mask: Optional[Array] = None,
         is_causal: bool = False, scale: Optional[float] = None, *, softcap: Optional[float] = None,
         window: Tuple[Optional[int], Optional[int]] = (None, None),
         causal_alignment: str = "upper_left", query_offset: Union[int, Sequence[int], None] = None,
         kv_lengths: Optional[Sequence[int]] = None,
         alibi_slopes: Optional[Sequence[float]] = None, sinks: Optional[Sequence[float]] = None,
         cu_seqlens_q: Optional[Sequence[int]] = None,
         cu_seqlens_k: Optional[Sequence[int]] = None, score_mod: Optional[ScoreMod] = None,
         threads: Optional[int] = None) -> Dict[str, Any]:
    """What attention() would run for these arguments: kernel, instruction set, tiles, memory, flops.

    >>> import numpy as np
    >>> x = np.zeros((8, 512, 64), np.float32)
    >>> plan(x, x, x)["flops"] == 4 * 8 * 512 * 512 * 64
    True
    """
    return _core.plan(
        query, key, value,
        _core.Keywords(attn_mask, is_causal, scale, softcap, window, causal_alignment, query_offset,
                       kv_lengths, alibi_slopes, sinks, cu_seqlens_q, cu_seqlens_k, score_mod,
                       threads))


def merge_states(a: Array, lse_a: Array, b: Array, lse_b: Array) -> Tuple[Array, Array]:
    """Two outputs over disjoint keys, with their lse, become (output, lse) over all of the keys.

    >>> import numpy as np
    >>> q, k = np.ones((1, 2), np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    >>> halves = [attention(q, k[s], k[s], return_lse=True) for s in (slice(0, 2), slice(2, 4))]
    >>> merged, lse = merge_states(*halves[0], *halves[1])
    >>> np.allclose(merged, attention(q, k, k))
    True
    """
    return _core.merge_states(a, lse_a, b, lse_b)


def selfish_attention(keys: Array, query: Array, threads: Optional[int] = None) -> Array:
    """One query per batch row, the keys serving as values too, unscaled: (B, N, D), (B, D) to (B, D).

    >>> keys = [[[1, 0, 1], [1, 0, -1], [-1, 1, 0], [-1, 0, 1]]]
    >>> selfish_attention(keys, [[2, 0, -1]]).round(2)
    array([[ 0.98,  0.01, -0.75]], dtype=float32)
    """
    return _core.selfish_attention(keys, query, optional_count("threads", threads) or 0)
