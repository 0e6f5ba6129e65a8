"""Keys and values kept from one step of decoding to the next."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from heed import _core
from heed._attention import Array, ScoreMod
from heed._count import count, optional_count


def decoding_options(
    attn_mask: Optional[Array] = None, is_causal: bool = True, scale: Optional[float] = None, *,
    softcap: Optional[float] = None, window: Tuple[Optional[int], Optional[int]] = (None, None),
    causal_alignment: str = "lower_right", query_offset: Union[int, Sequence[int], None] = None,
    kv_lengths: Optional[Sequence[int]] = None, alibi_slopes: Optional[Sequence[float]] = None,
    sinks: Optional[Sequence[float]] = None, cu_seqlens_q: Optional[Sequence[int]] = None,
    score_mod: Optional[ScoreMod] = None, threads: Optional[int] = None,
) -> _core.Keywords:
    """The options of attention(), causal and with the last query at the last key unless said."""
    return _core.Keywords(attn_mask, is_causal, scale, softcap, window, causal_alignment,
                          query_offset, kv_lengths, alibi_slopes, sinks, cu_seqlens_q, None,
                          score_mod, threads)


class KVCache:
    """Keys (batch, kv_heads, length, key_dim) and values of the tokens so far, in memory that grows.

    Appending copies only the new tokens, but for a doubling of the memory now and then; attention
    reads the cache where it is. dtype is float32, float16, bfloat16 (``"bfloat16"``, or that of
    ml_dtypes) or int8, which keeps one scale per token and head: the largest magnitude of that row is
    127 of its steps, and a number errs by at most half a step.

    >>> import heed, numpy as np
    >>> x = np.eye(4, dtype=np.float32)[None, None]  # 4 tokens of one head
    >>> cache = KVCache(batch=1, kv_heads=1, key_dim=4)
    >>> steps = []
    >>> for i in range(4):
    ...     token = x[:, :, i:i + 1]
    ...     cache.append(token, token)
    ...     steps.append(cache.attention(token))
    >>> len(cache)
    4
    >>> np.allclose(np.concatenate(steps, axis=2), heed.attention(x, x, x, is_causal=True))
    True
    """

    def __init__(self, batch: int, kv_heads: int, key_dim: int, value_dim: Optional[int] = None, *,
                 dtype: Any = np.float32, capacity: int = 256):
        self._core = _core.KVCache(count("batch", batch), count("kv_heads", kv_heads),
                                   count("key_dim", key_dim), optional_count("value_dim", value_dim),
                                   dtype, count("capacity", capacity))

    def __len__(self) -> int:
        """How many tokens are in it."""
        return self._core.length

    @property
    def capacity(self) -> int:
        """How many tokens fit before the memory grows."""
        return self._core.capacity

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._core.nbytes

    @property
    def dtype(self) -> str:
        """What it stores: "float32", "float16", "bfloat16" or "int8"."""
        return self._core.dtype

    @property
    def keys(self) -> np.ndarray[Any, Any]:
        """(batch, kv_heads, length, key_dim), a copy; of int8, the float32 numbers it stands for."""
        return self._core.keys

    @property
    def values(self) -> np.ndarray[Any, Any]:
        """(batch, kv_heads, length, value_dim), likewise."""
        return self._core.values

    def append(self, key: Array, value: Array) -> None:
        """The next tokens: key (batch, kv_heads, n, key_dim) and value likewise.

        float32, float16 or bfloat16, converted to what the cache stores."""
        self._core.append(key, value)

    def truncate(self, length: int) -> None:
        """Forgets all tokens but the first `length`, for example rejected ones."""
        if not 0 <= length <= len(self):
            raise ValueError(f"length is {length}, expected 0 to {len(self)}")
        self._core.truncate(length)

    def attention(self, query: Array, *, return_lse: bool = False, out: Optional[Array] = None,
                  **options: Any) -> Any:
        """Attention of the last tokens, query (batch, heads, n, key_dim), over all that is cached.

        Causal, the last query standing at the last key; `options` as for heed.attention, but for
        return_scores (pass `keys` and `values` to heed.attention for that) and ragged batches."""
        return self._core.attention(query, decoding_options(**options), return_lse, out)

    def __repr__(self) -> str:
        return (f"<heed.KVCache: {len(self)} tokens of {self.capacity}, batch {self._core.batch}, "
                f"{self._core.kv_heads} heads, {self.dtype}>")
