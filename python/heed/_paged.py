"""Keys and values of many sequences in pages of one pool."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from heed._attention import Array, attention
from heed._cache import expect_shape


class PagedKVCache:
    """Keys and values of sequences that come, grow, fork and go, in pages of `page_size` tokens.

    A fork shares its pages with the sequence it came from until one of the two writes into the last,
    so that a common prompt is stored once. Attention first gathers the pages it reads.

    >>> import numpy as np
    >>> x = np.eye(4, dtype=np.float32)[None]  # 4 tokens of one head
    >>> cache = PagedKVCache(kv_heads=1, key_dim=4, pages=8, page_size=2)
    >>> prompt = cache.add()
    >>> cache.append(prompt, x[:, :3], x[:, :3])
    >>> answer = cache.fork(prompt)
    >>> cache.append(answer, x[:, 3:], x[:, 3:])
    >>> cache.length(prompt), cache.length(answer), cache.pages_in_use
    (3, 4, 3)
    >>> out = cache.attention([prompt, answer], np.stack([x[:, 2:3], x[:, 3:]]))
    >>> np.allclose(out[1], attention(x, x, x, is_causal=True)[:, 3:])
    True
    """

    def __init__(self, kv_heads: int, key_dim: int, value_dim: Optional[int] = None, *, pages: int,
                 page_size: int = 16, dtype: Any = np.float32):
        for name, size in (("pages", pages), ("page_size", page_size)):
            if size < 1:
                raise ValueError(f"{name} is {size}, expected at least 1")
        value_dim = key_dim if value_dim is None else value_dim
        self._keys = np.empty((pages, kv_heads, page_size, key_dim), dtype)
        self._values = np.empty((pages, kv_heads, page_size, value_dim), dtype)
        self._free = list(range(pages))[::-1]
        self._owners = [0] * pages  # how many sequences hold a page
        self._tables: Dict[int, List[int]] = {}
        self._lengths: Dict[int, int] = {}
        self._next = 0

    @property
    def page_size(self) -> int:
        """Tokens of one page."""
        return self._keys.shape[2]

    @property
    def pages_in_use(self) -> int:
        """Pages held by some sequence."""
        return len(self._owners) - len(self._free)

    def length(self, sequence: int) -> int:
        """How many tokens the sequence has."""
        return self._lengths[self._known(sequence)]

    def add(self) -> int:
        """A new, empty sequence."""
        return self._enter([], 0)

    def fork(self, sequence: int) -> int:
        """A new sequence that begins as this one, sharing its pages."""
        table = self._tables[self._known(sequence)]
        for page in table:
            self._owners[page] += 1
        return self._enter(list(table), self._lengths[sequence])

    def remove(self, sequence: int) -> None:
        """Forgets the sequence; pages that no other one holds are free again."""
        for page in self._tables.pop(self._known(sequence)):
            self._release(page)
        del self._lengths[sequence]

    def append(self, sequence: int, key: Array, value: Array) -> None:
        """The next tokens of a sequence: key (kv_heads, n, key_dim) and value likewise.

        MemoryError, with nothing written, if the pool has too few free pages."""
        begin = self._lengths[self._known(sequence)]
        key, value = (expect_shape(given, like.shape[1:], 1, like.dtype, name) for given, like, name
                      in ((key, self._keys, "key"), (value, self._values, "value")))
        if key.shape[1] != value.shape[1]:
            raise ValueError(f"key has {key.shape[1]} tokens but value has {value.shape[1]}")
        end = begin + key.shape[1]
        self._make_writable(self._tables[sequence], begin, end)
        table, places = np.array(self._tables[sequence], np.intp), np.arange(begin, end)
        pages, slots = table[places // self.page_size], places % self.page_size
        self._keys[pages, :, slots] = key.swapaxes(0, 1)
        self._values[pages, :, slots] = value.swapaxes(0, 1)
        self._lengths[sequence] = end

    def attention(self, sequences: Sequence[int], query: Array, **options: Any) -> Any:
        """Attention of the last tokens of sequences, query (len(sequences), heads, n, key_dim).

        Causal, the last query of each standing at its last key; `options` as for heed.attention."""
        lengths = [self.length(sequence) for sequence in sequences]
        tables = [self._tables[sequence] for sequence in sequences]
        causal = {"is_causal": True, "causal_alignment": "lower_right"}
        keys, values = (self._gathered(pool, tables) for pool in (self._keys, self._values))
        return attention(query, keys, values, **{**causal, **options, "kv_lengths": lengths})

    def _gathered(self, pool: np.ndarray, tables: List[List[int]]) -> np.ndarray:
        """(sequences, kv_heads, tokens, dim); what lies past a sequence's end is arbitrary."""
        _, heads, size, dim = pool.shape
        most = max(map(len, tables), default=0)
        padded = np.array([table + [0] * (most - len(table)) for table in tables], np.intp)
        pages = pool[padded.reshape(len(tables), most)]  # (sequences, pages, heads, page_size, dim)
        return pages.swapaxes(1, 2).reshape(len(tables), heads, most * size, dim)

    def _make_writable(self, table: List[int], begin: int, end: int) -> None:
        """Pages of its own for positions begin to end, or MemoryError with nothing changed."""
        last = begin // self.page_size
        shared = begin < end and last < len(table) and self._owners[table[last]] > 1
        needed = -(-end // self.page_size) - len(table) + shared
        if needed > len(self._free):
            raise MemoryError(f"{needed} pages are needed but {len(self._free)} of "
                              f"{len(self._owners)} are free")
        if shared:
            old, table[last] = table[last], self._take()
            self._keys[table[last]], self._values[table[last]] = self._keys[old], self._values[old]
            self._release(old)
        while len(table) * self.page_size < end:
            table.append(self._take())

    def _take(self) -> int:
        page = self._free.pop()
        self._owners[page] = 1
        return page

    def _release(self, page: int) -> None:
        self._owners[page] -= 1
        if self._owners[page] == 0:
            self._free.append(page)

    def _enter(self, table: List[int], length: int) -> int:
        sequence, self._next = self._next, self._next + 1
        self._tables[sequence], self._lengths[sequence] = table, length
        return sequence

    def _known(self, sequence: int) -> int:
        if sequence not in self._tables:
            raise ValueError(f"sequence {sequence!r} is not one of the {len(self._tables)} here")
        return sequence

    def __repr__(self) -> str:
        return (f"<heed.PagedKVCache: {len(self._tables)} sequences in {self.pages_in_use} of "
                f"{len(self._owners)} pages of {self.page_size} tokens, {self._keys.dtype}>")
