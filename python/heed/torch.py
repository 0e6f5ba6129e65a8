"""PyTorch's scaled_dot_product_attention, by heed, for CPU tensors and inference.

    import torch, heed.torch
    torch.nn.functional.scaled_dot_product_attention = heed.torch.scaled_dot_product_attention

Same signature, same semantics, the same layout of the result, on as many threads as PyTorch uses and
where it can on PyTorch's own. What heed does not compute (dropout, gradients, other devices) raises;
nothing falls back to PyTorch.
"""
from __future__ import annotations

import ctypes
import functools
import pathlib
from typing import Optional

import torch

from heed import _core

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _refuse(condition: bool, message: str) -> None:
    if condition:
        raise ValueError("heed.torch.scaled_dot_product_attention: " + message)


@functools.lru_cache(maxsize=None)
def _gomp_parallel() -> int:
    """Where the OpenMP library that PyTorch runs on begins a parallel region; 0 if there is none.

    PyTorch's threads wait for more work by spinning: a second pool of threads would have to share the
    cores with them.
    """
    maps = pathlib.Path("/proc/self/maps")
    if "parallel backend: OpenMP" not in torch.__config__.parallel_info() or not maps.exists():
        return 0
    loaded = {line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines()}
    paths = [p for p in map(pathlib.Path, loaded) if p.name.startswith(("libgomp", "libiomp5", "libomp"))]
    folder = pathlib.Path(torch.__file__).parent
    own = [p for p in paths if folder in p.parents] or paths
    if len(own) != 1:
        return 0
    try:
        return ctypes.cast(ctypes.CDLL(str(own[0])).GOMP_parallel, ctypes.c_void_p).value or 0
    except (AttributeError, OSError):
        return 0


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Optional[torch.Tensor],
            is_causal: bool, scale: Optional[float], out: torch.Tensor) -> None:
    keywords = _core.Keywords(mask, is_causal, scale, None, (None, None), "upper_left", None, None, None,
                              None, None, None, None, torch.get_num_threads())
    if _gomp_parallel():
        _core.attention_by_openmp(_gomp_parallel(), q, k, v, keywords, out)
    else:
        _core.attention(q, k, v, keywords, False, None, out)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """softmax(query @ key.T * scale + attn_mask) @ value, as torch.nn.functional has it."""
    tensors = (query, key, value) if attn_mask is None else (query, key, value, attn_mask)
    _refuse(dropout_p != 0.0, f"dropout_p is {dropout_p}, expected 0: heed computes inference")
    _refuse(attn_mask is not None and is_causal, "attn_mask and is_causal exclude each other")
    _refuse(any(t.device.type != "cpu" for t in tensors), "tensors must be on the CPU")
    _refuse(torch.is_grad_enabled() and any(t.requires_grad for t in tensors),
            "gradients are not computed: use torch.no_grad() or torch.inference_mode()")
    _refuse(query.dtype not in _DTYPES, f"query is {query.dtype}, expected float32, float16 or bfloat16")
    _refuse(key.dtype != query.dtype or value.dtype != query.dtype,
            f"query is {query.dtype}, key {key.dtype}, value {value.dtype}: expected one dtype")
    heads = query.shape[-3] if query.dim() > 2 else 1
    kv_heads = key.shape[-3] if key.dim() > 2 else 1
    _refuse(not enable_gqa and heads != kv_heads,
            f"query has {heads} heads but key has {kv_heads}: set enable_gqa=True")
    lead = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])

    def four_axes(t: torch.Tensor) -> torch.Tensor:
        if t.dim() == 2:
            t = t[None]
        t = t.expand(*lead, *t.shape[-3:])
        t = t.reshape(-1, *t.shape[-3:])
        return t if t.stride(-1) == 1 or t.shape[-1] <= 1 else t.contiguous()

    q, k, v = (four_axes(t.detach()) for t in (query, key, value))
    if query.dim() == 4 and query.stride(1) < query.stride(2):  # heads side by side, as in the query
        out = torch.empty(q.shape[0], q.shape[2], q.shape[1], v.shape[-1], dtype=query.dtype).transpose(1, 2)
    else:
        out = torch.empty(*q.shape[:-1], v.shape[-1], dtype=query.dtype)
    mask = None
    if attn_mask is not None:
        mask = attn_mask.detach()
        if mask.dim() > 3:
            mask = mask.expand(*lead, *mask.shape[-3:])
            mask = mask.reshape(-1, *mask.shape[-3:])
    _attend(q, k, v, mask, is_causal, scale, out)
    shape = (query.shape[-2],) if query.dim() == 2 else (*lead, heads, query.shape[-2])
    return out.reshape(*shape, v.shape[-1])
