#!/usr/bin/env python3
"""Drives `heed run` itself over every open Attention case of the ONNX project.

    conformance_test.py build/heed     skips, saying so, where ../shared/conformance is not there
"""
import json
import pathlib
import sys
import unittest

import support
from support import np

CASES = pathlib.Path(__file__).resolve().parents[3] / "shared" / "conformance" / "onnx"
STAGES = ["raw", "softcap", "bias", "softmax"]


def flags_of(case, inputs):
    """The flags that say what the node's attributes say."""
    attributes = case["attributes"]
    flags = []
    for attribute, flag in [("scale", "--scale"), ("softcap", "--softcap"),
                            ("q_num_heads", "--query-heads"), ("kv_num_heads", "--kv-heads")]:
        if attributes.get(attribute):
            flags += [flag, attributes[attribute]]
    for attribute, flag in [("left_window_size", "--window-left"),
                            ("right_window_size", "--window-right")]:
        if attributes.get(attribute, -1) >= 0:
            flags += [flag, attributes[attribute]]
    if attributes.get("is_causal"):
        flags += ["--causal", "upper-left"]
    # Where query 0 stands: after the past, or so that the last query meets the last key.
    if "nonpad_kv_seqlen" in inputs:
        flags += ["--query-offset", "lower-right"]
    else:
        past = inputs.get("past_key")
        flags += ["--query-offset", np.load(past).shape[2] if past else 0]
    return flags


INPUT_FLAGS = {"Q": "--query", "K": "--key", "V": "--value", "attn_mask": "--attn-mask",
               "past_key": "--past-key", "past_value": "--past-value",
               "nonpad_kv_seqlen": "--kv-lengths"}
OUTPUT_FLAGS = {"Y": "-o", "present_key": "--present-key", "present_value": "--present-value",
                "qk_matmul_output": "--scores"}


class Conformance(support.HeedTest):
    def check(self, folder):
        case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
        files = {role: {t["node_name"]: folder / t["file"] for t in case["tensors"]
                        if t["role"] == role} for role in ("input", "output")}
        arguments = flags_of(case, files["input"])
        for name, path in files["input"].items():
            arguments += [INPUT_FLAGS[name], path]
        for name in files["output"]:
            arguments += [OUTPUT_FLAGS[name], f"{name}.npy"]
        arguments += ["--scores-stage", STAGES[case["attributes"].get("qk_matmul_output_mode", 0)]]
        self.heed("run", *arguments)
        tolerance = case["onnx_tolerance"]
        for name, path in files["output"].items():
            expected, actual = np.load(path), self.load(f"{name}.npy")
            self.assertEqual(actual.dtype, expected.dtype, name)
            self.assertEqual(actual.shape, expected.shape, name)
            np.testing.assert_allclose(actual, expected, err_msg=name, **tolerance)
            if name.startswith("present"):
                np.testing.assert_array_equal(actual, expected, err_msg=name)

    def test_every_open_case(self):
        folders = sorted(CASES.glob("test_attention_*"))
        self.assertGreater(len(folders), 30)
        for folder in folders:
            with self.subTest(folder.name):
                self.check(folder)
        print(f"{len(folders)} cases")


if __name__ == "__main__":
    if not CASES.is_dir():
        print(f"skipped: the conformance cases are not there ({CASES})")
        sys.exit(support.SKIPPED)
    support.main()
