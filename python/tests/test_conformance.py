"""The open ONNX cases for Attention, through Python."""
import json
import os
import pathlib

import numpy as np
import pytest

import heed

ROOT = pathlib.Path(os.environ.get("HEED_SHARED_DIR", ""), "conformance", "onnx")
CASES = sorted(path.parent for path in ROOT.glob("test_attention_*/case.json"))
STAGES = ["raw", "softcap", "bias", "softmax"]


def test_the_cases_are_there():
    if not ROOT.is_dir():
        pytest.skip("the conformance cases are not beside this project")
    assert len(CASES) > 20


def four_axes(x, heads):
    """(B, N, H * d) as (B, H, N, d), in place."""
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def padded(mask, keys):
    """A mask shorter than the keys hides the rest."""
    missing = keys - mask.shape[-1]
    if missing <= 0 or mask.shape[-1] == 1:
        return mask
    hidden = False if mask.dtype == bool else -np.inf
    return np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=hidden)


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder):
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    attributes, tensors = case["attributes"], {}
    for tensor in case["tensors"]:
        if tensor["dtype"] == "bfloat16":
            pytest.skip("NumPy has no bfloat16")
        tensors[tensor["node_name"]] = np.load(folder / tensor["file"])
    q = four_axes(tensors["Q"], attributes.get("q_num_heads"))
    k, v = (four_axes(tensors[name], attributes.get("kv_num_heads")) for name in "KV")
    past = tensors.get("past_key")
    if past is not None:
        k = np.concatenate([past, k], axis=2)
        v = np.concatenate([tensors["past_value"], v], axis=2)
    mask = tensors.get("attn_mask")
    if mask is not None:
        mask = padded(mask, k.shape[2])
        if mask.dtype != bool and mask.dtype.kind != "f":
            mask = mask.astype(np.float64)
    lengths = tensors.get("nonpad_kv_seqlen")
    offset = 0 if past is None else past.shape[2]
    window = [attributes.get(side, -1) for side in ("left_window_size", "right_window_size")]
    mode = attributes.get("qk_matmul_output_mode", 0) if "qk_matmul_output" in tensors else None
    results = heed.attention(
        q, k, v, mask, bool(attributes.get("is_causal", 0)), attributes.get("scale"),
        softcap=attributes.get("softcap") or None, kv_lengths=lengths,
        window=tuple(None if side < 0 else side for side in window),
        query_offset=offset if lengths is None else lengths - q.shape[2],
        return_scores=None if mode is None else STAGES[mode])
    out = results if mode is None else results[0]
    expected = four_axes(tensors["Y"], attributes.get("q_num_heads"))
    near = {name: case["onnx_tolerance"][name] for name in ("rtol", "atol")}
    np.testing.assert_allclose(out.astype(np.float64), expected.astype(np.float64), **near)
    if mode is not None:
        scores, wanted = results[1].astype(np.float64), tensors["qk_matmul_output"].astype(np.float64)
        np.testing.assert_allclose(scores, wanted, **near)
