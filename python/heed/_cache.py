"""Keys and values kept from one step of decoding to the next."""
from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np

from heed._attention import Array, attention


class KVCache:
    """Keys (batch, kv_heads, length, key_dim) and values of the tokens so far, in memory that grows.

    Appending copies only the new tokens, but for a doubling of the memory now and then; attention
    reads the cache where it is.

    >>> import numpy as np
    >>> x = np.eye(4, dtype=np.float32)[None, None]  # 4 tokens of one head
    >>> cache = KVCache(batch=1, kv_heads=1, key_dim=4)
    >>> steps = []
    >>> for i in range(4):
    ...     token = x[:, :, i:i + 1]
    ...     cache.append(token, token)
    ...     steps.append(cache.attention(token))
    >>> len(cache)
    4
    >>> np.allclose(np.concatenate(steps, axis=2), attention(x, x, x, is_causal=True))
    True
    """

    def __init__(self, batch: int, kv_heads: int, key_dim: int, value_dim: Optional[int] = None, *,
                 dtype: Any = np.float32, capacity: int = 256):
        if capacity < 1:
            raise ValueError(f"capacity is {capacity}, expected at least 1")
        value_dim = key_dim if value_dim is None else value_dim
        self._keys = np.empty((batch, kv_heads, capacity, key_dim), dtype)
        self._values = np.empty((batch, kv_heads, capacity, value_dim), dtype)
        self._length = 0

    def __len__(self) -> int:
        """How many tokens are in it."""
        return self._length

    @property
    def capacity(self) -> int:
        """How many tokens fit before the memory grows."""
        return self._keys.shape[2]

    @property
    def keys(self) -> np.ndarray:
        """(batch, kv_heads, length, key_dim), a view."""
        return self._keys[:, :, :self._length]

    @property
    def values(self) -> np.ndarray:
        """(batch, kv_heads, length, value_dim), a view."""
        return self._values[:, :, :self._length]

    def append(self, key: Array, value: Array) -> None:
        """The next tokens: key (batch, kv_heads, n, key_dim) and value likewise."""
        key, value = (expect_shape(given, like.shape, 2, like.dtype, name) for given, like, name
                      in ((key, self._keys, "key"), (value, self._values, "value")))
        if key.shape[2] != value.shape[2]:
            raise ValueError(f"key has {key.shape[2]} tokens but value has {value.shape[2]}")
        length = self._length + key.shape[2]
        if length > self.capacity:
            self._keys, self._values = (self._grown(old, max(length, 2 * self.capacity))
                                        for old in (self._keys, self._values))
        self._keys[:, :, self._length:length] = key
        self._values[:, :, self._length:length] = value
        self._length = length

    def truncate(self, length: int) -> None:
        """Forgets all tokens but the first `length`, for example rejected ones."""
        if not 0 <= length <= self._length:
            raise ValueError(f"length is {length}, expected 0 to {self._length}")
        self._length = length

    def attention(self, query: Array, **options: Any) -> Any:
        """Attention of the last tokens, query (batch, heads, n, key_dim), over all that is cached.

        Causal, the last query standing at the last key; `options` as for heed.attention."""
        causal = {"is_causal": True, "causal_alignment": "lower_right"}
        return attention(query, self.keys, self.values, **{**causal, **options})

    def _grown(self, old: np.ndarray, capacity: int) -> np.ndarray:
        new = np.empty((*old.shape[:2], capacity, old.shape[3]), old.dtype)
        new[:, :, :self._length] = old[:, :, :self._length]
        return new

    def __repr__(self) -> str:
        batch, heads, capacity, _ = self._keys.shape
        return (f"<heed.KVCache: {self._length} tokens of {capacity}, batch {batch}, "
                f"{heads} heads, {self._keys.dtype}>")


def expect_shape(given: Array, shape: Tuple[int, ...], tokens: int, dtype: Any,
                 name: str) -> np.ndarray:
    """`given` as NumPy, which must have this dtype and shape but for the size of axis `tokens`."""
    array = np.asarray(given)
    if array.ndim != len(shape) or any(have != want for axis, (have, want) in
                                       enumerate(zip(array.shape, shape)) if axis != tokens):
        wanted = ", ".join("n" if axis == tokens else str(size) for axis, size in enumerate(shape))
        raise ValueError(f"{name} has shape {array.shape}, expected ({wanted})")
    if array.dtype != dtype:
        raise TypeError(f"{name} is {array.dtype}, expected {dtype}")
    return array
