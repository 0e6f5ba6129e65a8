"""The multi-head layer."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

from heed import _core
from heed._attention import Array, ScoreMod
from heed._count import count, optional_count


class Rotary(NamedTuple):
    """Rotary position embedding: pair c of a token at p turns by p / scaling * base ** (-2c / dims)."""
    base: float = 10000.0
    scaling: float = 1.0
    pairs: str = "half_split"  # c with c + dims/2; or "interleaved": 2c with 2c + 1
    dims: Optional[int] = None  # leading numbers of a head's row that turn; default: all


class QkNorm(NamedTuple):
    """RMS norm of each head's query and key rows, with weights shared by all heads (None: 1)."""
    query: Optional[Array] = None
    key: Optional[Array] = None
    epsilon: float = 1e-6


class MultiHeadAttention:
    """Projections, heads, attention and the output projection as one layer: x @ w_q and so on.

    w_q (d_model, num_heads * m), w_k (d_context, num_kv_heads * m), w_v (d_context, num_kv_heads * l),
    w_o (num_heads * l, d_model), of any strides: the weight of a PyTorch Linear is passed as
    ``linear.weight.T``. float32, float16 or bfloat16; copied once into the order the kernel reads.

    >>> import numpy as np
    >>> eye = np.eye(4, dtype=np.float32)
    >>> layer = MultiHeadAttention(eye, eye, eye, eye, num_heads=2)
    >>> layer.parameter_count
    64
    >>> x = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
    >>> layer(x, is_causal=True).round(4)
    array([[0.    , 0.1   , 0.2   , 0.3   ],
           [0.2253, 0.3253, 0.4364, 0.5364],
           [0.5235, 0.6235, 0.7497, 0.8497]], dtype=float32)
    """

    def __init__(self, w_q: Array, w_k: Array, w_v: Array, w_o: Array, *, num_heads: int,
                 num_kv_heads: Optional[int] = None, b_q: Optional[Array] = None,
                 b_k: Optional[Array] = None, b_v: Optional[Array] = None,
                 b_o: Optional[Array] = None, rotary: Optional[Rotary] = None,
                 qk_norm: Optional[QkNorm] = None):
        self._core = _core.MultiHeadAttention([w_q, w_k, w_v, w_o], [b_q, b_k, b_v, b_o],
                                              count("num_heads", num_heads),
                                              optional_count("num_kv_heads", num_kv_heads), rotary,
                                              qk_norm)

    def __call__(self, x: Array, context: Optional[Array] = None,
                 attn_mask: Optional[Array] = None, is_causal: bool = False,
                 scale: Optional[float] = None, *, softcap: Optional[float] = None,
                 window: Tuple[Optional[int], Optional[int]] = (None, None),
                 causal_alignment: str = "upper_left",
                 query_offset: Union[int, Sequence[int], None] = None,
                 kv_lengths: Optional[Sequence[int]] = None,
                 alibi_slopes: Optional[Sequence[float]] = None,
                 sinks: Optional[Sequence[float]] = None, score_mod: Optional[ScoreMod] = None,
                 query_positions: Union[int, Sequence[int], None] = None,
                 key_positions: Union[int, Sequence[int], None] = None,
                 out: Optional[Array] = None, threads: Optional[int] = None) -> Any:
        """x (tokens, d_model) or (batch, tokens, d_model) to the same; keys and values come from
        context (tokens, d_context), with the same batch, or from x itself. The rest as in
        ``attention``. Positions, for RoPE, are that of the first token or one per token."""
        keywords = _core.Keywords(attn_mask, is_causal, scale, softcap, window, causal_alignment,
                                  query_offset, kv_lengths, alibi_slopes, sinks, None, None,
                                  score_mod, threads)
        return self._core.run(x, context, keywords, query_positions, key_positions, out)

    @property
    def d_model(self) -> int:
        return self._core.d_model

    @property
    def d_context(self) -> int:
        return self._core.d_context

    @property
    def num_heads(self) -> int:
        return self._core.query_heads

    @property
    def num_kv_heads(self) -> int:
        return self._core.kv_heads

    @property
    def key_dim(self) -> int:
        """Numbers of one head's key."""
        return self._core.key_dim

    @property
    def value_dim(self) -> int:
        """Numbers of one head's value."""
        return self._core.value_dim

    @property
    def parameter_count(self) -> int:
        """Numbers in the weights, biases and norms."""
        return self._core.parameter_count

    def __repr__(self) -> str:
        return (f"<heed.MultiHeadAttention: d_model {self.d_model}, {self.num_heads} heads on "
                f"{self.num_kv_heads}, {self.parameter_count} parameters>")
