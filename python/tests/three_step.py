"""Attention as one would write it in NumPy, in float64: what heed's results are compared with."""
import numpy as np


def visible_pairs(n_q, n_k, causal_offset=None, window=(None, None), offset=0):
    """[n_q, n_k], True where query i may see key j by position."""
    stands = np.arange(n_q)[:, None]
    keys = np.arange(n_k)[None, :]
    seen = np.ones((n_q, n_k), bool)
    if causal_offset is not None:
        seen &= keys <= stands + causal_offset
    left, right = window
    if left is not None:
        seen &= keys >= stands + offset - left
    if right is not None:
        seen &= keys <= stands + offset + right
    return seen


def three_step(q, k, v, *, scale=None, softcap=None, bias=0.0, visible=True, sinks=None):
    """(output, lse, weights) of q (..., h, n_q, d), k and v (..., h_kv, n_k, d)."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    if q.ndim > 2:
        groups = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, groups, axis=-3), np.repeat(v, groups, axis=-3)
    s = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap is not None:
        s = softcap * np.tanh(s / softcap)
    s = np.where(visible, s + bias, -np.inf)
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        top = np.maximum(top, np.asarray(sinks)[:, None, None])
    top = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(s - top)
    total = weights.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(np.asarray(sinks)[:, None, None] - top)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    p = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return p @ v, lse, p


def tolerance(q, k, v, scale=None, eps=np.finfo(np.float32).eps, stored=None):
    """Largest absolute error of an output computed in arithmetic of precision `eps`.

    A score is a sum of d products, off by at most (d + 2) eps times the sum of their magnitudes; the
    weights then are off by twice that relatively, plus n_k + 8 roundings of exp, sum and quotient;
    an output is a mean of values. Storing it in a type of precision `stored` rounds once more.
    """
    q, k, v = (np.abs(np.asarray(x, np.float64)) for x in (q, k, v))
    if q.size == 0 or k.size == 0 or v.size == 0:
        return 0.0
    d, n_k = q.shape[-1], k.shape[-2]
    magnitude = q.max() * k.max() * d * abs(1 / np.sqrt(d) if scale is None else scale)
    relative = eps * (2 * (d + 2) * magnitude + 2 * (n_k + 8))
    return v.max() * (relative + (stored or 0.0)) + np.finfo(np.float16).tiny * bool(stored)
