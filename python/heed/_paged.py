"""Keys and values of many sequences in pages of one pool."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Union

import numpy as np

from heed import _core
from heed._attention import Array
from heed._cache import decoding_options
from heed._count import count, optional_count


class PagedKVCache:
    """Keys and values of sequences that come, grow, fork and go, in pages of `page_size` tokens.

    A fork shares its pages with the sequence it came from until one of the two writes into the last,
    so that a common prompt is stored once. Attention reads the pages where they are; dtype is as in
    KVCache.

    >>> import heed, numpy as np
    >>> x = np.eye(4, dtype=np.float32)[None]  # 4 tokens of one head
    >>> cache = PagedKVCache(kv_heads=1, key_dim=4, pages=8, page_size=2)
    >>> prompt = cache.add()
    >>> cache.append(prompt, x[:, :3], x[:, :3])
    >>> answer = cache.fork(prompt)
    >>> cache.append(answer, x[:, 3:], x[:, 3:])
    >>> cache.length(prompt), cache.length(answer), cache.pages_in_use
    (3, 4, 3)
    >>> out = cache.attention([prompt, answer], np.stack([x[:, 2:3], x[:, 3:]]))
    >>> np.allclose(out[1], heed.attention(x, x, x, is_causal=True)[:, 3:])
    True
    """

    def __init__(self, kv_heads: int, key_dim: int, value_dim: Optional[int] = None, *, pages: int,
                 page_size: int = 16, dtype: Any = np.float32):
        self._core = _core.PagedKVCache(count("kv_heads", kv_heads), count("key_dim", key_dim),
                                        optional_count("value_dim", value_dim), dtype,
                                        count("pages", pages), count("page_size", page_size))

    @property
    def page_size(self) -> int:
        """Tokens of one page."""
        return self._core.page_size

    @property
    def pages(self) -> int:
        """Pages of the pool."""
        return self._core.pages

    @property
    def pages_in_use(self) -> int:
        """Pages held by some sequence."""
        return self._core.pages - self._core.free_pages

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self._core.nbytes

    @property
    def dtype(self) -> str:
        """What it stores: "float32", "float16", "bfloat16" or "int8"."""
        return self._core.dtype

    def length(self, sequence: int) -> int:
        """How many tokens the sequence has."""
        return self._core.length(sequence)

    def block_table(self, sequence: int) -> List[int]:
        """The pages of the sequence, in the order of its tokens."""
        return self._core.block_table(sequence)

    def shared_prefix(self, sequences: Sequence[int]) -> int:
        """How many leading tokens lie in pages that all of the sequences hold."""
        return self._core.shared_prefix(list(sequences))

    def add(self) -> int:
        """A new, empty sequence."""
        return self._core.add()

    def fork(self, sequence: int, length: Optional[int] = None) -> int:
        """A new sequence that begins as this one (its first `length` tokens), sharing its pages."""
        return self._core.fork(sequence, optional_count("length", length, least=0))

    def remove(self, sequence: int) -> None:
        """Forgets the sequence; pages that no other one holds are free again."""
        self._core.remove(sequence)

    def truncate(self, sequence: int, length: int) -> None:
        """Forgets all tokens of the sequence but the first `length`."""
        if not 0 <= length <= self.length(sequence):
            raise ValueError(f"length is {length}, expected 0 to {self.length(sequence)}")
        self._core.truncate(sequence, length)

    def append(self, sequence: Union[int, Sequence[int]], key: Array, value: Array) -> None:
        """The next tokens of a sequence: key (kv_heads, n, key_dim) and value likewise; or of
        several at once: a list of them, and key (sequences, kv_heads, n, key_dim).

        MemoryError, with nothing written, if the pool has too few free pages."""
        self._core.append([int(sequence)] if isinstance(sequence, (int, np.integer)) else list(sequence),
                          key, value)

    def attention(self, sequences: Sequence[int], query: Array, *, return_lse: bool = False,
                  out: Optional[Array] = None, **options: Any) -> Any:
        """Attention of the last tokens of sequences, query (len(sequences), heads, n, key_dim).

        Causal, the last query of each standing at its last key; `options` as for heed.attention, but
        for return_scores. Ragged queries (tokens, heads, key_dim) need cu_seqlens_q alone."""
        return self._core.attention(list(sequences), query, decoding_options(**options), return_lse,
                                    out)

    def cascade_attention(self, sequences: Sequence[int], query: Array, *, return_lse: bool = False,
                          out: Optional[Array] = None, **options: Any) -> Any:
        """The same up to rounding, for sequences that begin alike (forks of one prompt): the pages
        they share are read once for all of them."""
        return self._core.cascade_attention(list(sequences), query, decoding_options(**options),
                                            return_lse, out)

    def __repr__(self) -> str:
        return (f"<heed.PagedKVCache: {self._core.sequences} sequences in {self.pages_in_use} of "
                f"{self.pages} pages of {self.page_size} tokens, {self.dtype}>")
