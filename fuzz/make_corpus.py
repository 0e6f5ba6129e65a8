#!/usr/bin/env python3
"""Writes the seeds of the corpus anew: small files of every kind, as other programs write them.

    fuzz/make_corpus.py     needs NumPy; files that a fuzzer found are left alone
"""
import io
import json
import pathlib
import struct
import zipfile

import numpy as np
from numpy.lib import format as npy_format

CORPUS = pathlib.Path(__file__).parent / "corpus"


def put(parser, name, data):
    folder = CORPUS / parser
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def npy(array, version=None):
    stream = io.BytesIO()
    npy_format.write_array(stream, np.asanyarray(array), version)
    return stream.getvalue()


def npz(compressed, **arrays):
    stream = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, array in arrays.items():
            # A fixed date, so that the same seeds come out every time.
            entry = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=name == "large") as out:
                out.write(npy(array))
    return stream.getvalue()


def safetensors(header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    matrix = np.arange(6, dtype="<f4").reshape(2, 3)
    put("npy", "f4", npy(matrix))
    put("npy", "f4-version-2", npy(matrix, (2, 0)))
    put("npy", "f4-version-3", npy(matrix, (3, 0)))
    put("npy", "f8-big-endian", npy(np.array([1.5, np.nan, np.inf], dtype=">f8")))
    put("npy", "i2-fortran", npy(np.asfortranarray(np.arange(24, dtype="<i2").reshape(2, 3, 4))))
    put("npy", "bool", npy(np.array([True, False, True])))
    put("npy", "u1-empty", npy(np.zeros((0, 3), dtype="u1")))
    put("npy", "i8-scalar", npy(np.array(7, dtype="<i8")))
    put("npy", "bf16", npy(np.array([0x3f80, 0xbf80], dtype="<u2")).replace(b"'<u2'", b"'<V2'"))
    put("npz", "stored", npz(False, key=matrix, mask=np.array([True, False])))
    put("npz", "deflated", npz(True, key=np.zeros((16, 16), dtype="<f2"), n=np.int64(3)))
    put("npz", "zip64", npz(False, large=matrix))
    put("npz", "empty", npz(False))
    put("safetensors", "two", safetensors({
        "__metadata__": {"format": "pt"},
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
    }, bytes(range(22))))
    put("safetensors", "empty", safetensors({}, b""))
    put("safetensors", "bool-and-scalar", safetensors({
        "flag": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]},
        "scalar": {"dtype": "I64", "shape": [], "data_offsets": [2, 10]},
        "none": {"dtype": "U8", "shape": [0, 4], "data_offsets": [10, 10]},
    }, b"\x01\x02" + bytes(8)))
    put("safetensors_index", "two-shards", json.dumps({
        "metadata": {"total_size": 22},
        "weight_map": {"w": "model-00001-of-00002.safetensors",
                       "b": "model-00002-of-00002.safetensors"},
    }).encode())
    put("problem", "every-key.json", json.dumps({
        "title": "every key", "tokens": ["a", "b"], "x": [[1, 0], [0, 1]],
        "w_q": [[1, 0], [1, 1]], "w_k": [[0, 1], [1, 0]], "w_v": [[1, 2], [0, 1]],
        "w_o": [[1, 0], [0, 1]], "b_q": [0.5, 0], "heads": 1, "mask": [[1, 0], [1, 1]],
        "scale": 0.5, "softcap": 2, "causal": "lower_right", "window_left": 1,
        "alibi_slopes": [0.25], "sinks": [-1],
    }).encode())
    put("problem", "batch-of-keys.json", json.dumps({
        "batch": [{"keys": [[1, 0], [0, 1]], "query": [1, 2]},
                  {"keys": [[2, 0], [0, 3]], "query": [0, 1]}], "values": "keys", "scale": 1,
    }).encode())


if __name__ == "__main__":
    main()
