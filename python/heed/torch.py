"""PyTorch's scaled_dot_product_attention, by heed, for CPU tensors and inference.

    import torch, heed.torch
    torch.nn.functional.scaled_dot_product_attention = heed.torch.scaled_dot_product_attention

Same signature, same semantics. What heed does not compute (dropout, gradients, other devices) raises;
nothing falls back to PyTorch.
"""
from __future__ import annotations

from typing import Optional

import torch

from heed._attention import attention

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _refuse(condition: bool, message: str) -> None:
    if condition:
        raise ValueError("heed.torch.scaled_dot_product_attention: " + message)


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

    def four_axes(t):
        if t.dim() == 2:
            t = t[None]
        t = t.expand(*lead, *t.shape[-3:])
        t = t.reshape(-1, *t.shape[-3:])
        return t if t.stride(-1) == 1 or t.shape[-1] <= 1 else t.contiguous()

    q, k, v = (four_axes(t.detach()) for t in (query, key, value))
    out = torch.empty(*q.shape[:-1], v.shape[-1], dtype=query.dtype)
    mask = None
    if attn_mask is not None:
        mask = attn_mask.detach()
        if mask.dim() > 3:
            mask = mask.expand(*lead, *mask.shape[-3:])
            mask = mask.reshape(-1, *mask.shape[-3:])
    attention(q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale, out=out)
    shape = (query.shape[-2],) if query.dim() == 2 else (*lead, heads, query.shape[-2])
    return out.reshape(*shape, v.shape[-1])
