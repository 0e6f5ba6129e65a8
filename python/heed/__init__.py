"""Attention you can trust and see.

>>> import heed, numpy as np
>>> q = np.array([[1, 0], [1, 1], [2, 1]], dtype=np.float32)
>>> k = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.float32)
>>> v = np.array([[1, 2], [0, 1], [1, 3]], dtype=np.float32)
>>> heed.attention(q, k, v).round(3)
array([[0.599, 2.   ],
       [0.752, 2.255],
       [0.716, 2.292]], dtype=float32)
"""
from heed import _core
from heed._attention import attention, merge_states, plan, selfish_attention
from heed._cache import KVCache
from heed._core import __version__, current_target, supported_targets
from heed._explain import Node, Report, Trace, check, explain
from heed._layer import MultiHeadAttention, QkNorm, Rotary
from heed._paged import PagedKVCache

__all__ = [
    "KVCache", "MultiHeadAttention", "Node", "PagedKVCache", "QkNorm", "Report", "Rotary", "Trace",
    "__version__", "attention", "check", "current_target", "explain", "merge_states", "plan",
    "selfish_attention", "supported_targets",
]
