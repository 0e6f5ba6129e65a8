#!/usr/bin/env python3
"""`heed info` of every kind of file, as a table and as JSON.

    info_test.py build/heed
"""
import json

import support
from support import np


class Info(support.HeedTest):
    def listing(self, name):
        out, _ = self.heed("info", "--json", name)
        return json.loads(out)

    def table(self, name):
        out, _ = self.heed("info", name)
        return out.decode()

    def test_npy(self):
        self.save("x.npy", np.array([[1.5, -2, np.nan], [np.inf, -np.inf, np.inf]], dtype="f4"))
        listing = self.listing("x.npy")
        self.assertEqual((listing["file"], listing["format"]), ("x.npy", "npy"))
        self.assertEqual(listing["tensors"], [{
            "name": "", "dtype": "f32", "shape": [2, 3], "min": -2.0, "max": 1.5, "finite": 2,
            "nan": 1, "positive_infinity": 2, "negative_infinity": 1}])
        self.assertEqual(self.table("x.npy"),
                         "x.npy: npy, 1 tensor\n"
                         "name  dtype   shape  min  max  NaN  inf\n"
                         "-       f32  (2, 3)   -2  1.5    1    3\n")

    def test_every_type_numpy_writes(self):
        for dtype in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"):
            for order in "<>":
                values = np.array([0, 1, 1], dtype=np.dtype(dtype).newbyteorder(order))
                self.save("x.npy", values)
                tensor = self.listing("x.npy")["tensors"][0]
                self.assertEqual((tensor["min"], tensor["max"], tensor["shape"]), (0, 1, [3]))

    def test_npz(self):
        np.savez_compressed(self.folder / "x.npz", a=np.zeros((0, 3)), b=np.arange(3),
                            c=np.asfortranarray(np.arange(6).reshape(2, 3)))
        tensors = self.listing("x.npz")["tensors"]
        self.assertEqual([t["name"] for t in tensors], ["a", "b", "c"])
        self.assertEqual([t["dtype"] for t in tensors], ["f64", "i64", "i64"])
        self.assertIsNone(tensors[0]["min"])
        self.assertEqual(tensors[2]["max"], 5)

    def test_safetensors_and_index(self):
        self.save_safetensors("m.safetensors", {"w": np.arange(4, dtype="f4").reshape(2, 2),
                                                 "n": np.array([7], dtype="i8")}, format="pt")
        listing = self.listing("m.safetensors")
        self.assertEqual(listing["metadata"], {"format": "pt"})
        self.assertEqual([t["name"] for t in listing["tensors"]], ["w", "n"])
        (self.folder / "m.safetensors.index.json").write_text(
            json.dumps({"metadata": {"total_size": 16}, "weight_map": {"w": "m.safetensors"}}))
        listing = self.listing("m.safetensors.index.json")
        self.assertEqual(listing["format"], "safetensors index")
        self.assertEqual([t["name"] for t in listing["tensors"]], ["w"])

    def test_problem_files(self):
        (self.folder / "p.json").write_text(json.dumps({
            "title": "small", "batch": [{"x": [[1, 0], [0, 1]]}, {"x": [[2, 2]]}],
            "w_q": [[1, 0], [1, 1]], "w_k": [[0, 1], [1, 0]], "w_v": [[1, 2], [0, 1]]}))
        listing = self.listing("p.json")
        self.assertEqual((listing["format"], listing["metadata"]["title"]), ("problem", "small"))
        shapes = {t["name"]: t["shape"] for t in listing["tensors"]}
        self.assertEqual(shapes["X of sequence 2"], [1, 2])
        self.assertEqual(shapes["W_V"], [2, 2])

    def test_a_table_is_80_columns_wide(self):
        names = ["w", "model.layers.31.self_attn.q_proj.weight." + "x" * 60]
        self.save_safetensors("m.safetensors",
                               {name: np.full((4096, 1), -1.2345e-5, "f4") for name in names})
        lines = self.table("m.safetensors").splitlines()
        self.assertEqual(lines[3], names[1])  # alone on its line, the figures below
        self.assertLessEqual(max(len(line) for line in lines if line != names[1]), 80)
        self.assertEqual(len(lines[1]), len(lines[4]))

    def test_names_cannot_speak_to_the_terminal(self):
        self.save_safetensors("m.safetensors", {"a\x1b[31m": np.zeros(1, "f4")})
        self.assertIn("a\\x1b[31m", self.table("m.safetensors"))

    def test_standard_input(self):
        self.save("x.npy", np.arange(3, dtype="f4"))
        out, _ = self.heed("info", "-", stdin=(self.folder / "x.npy").read_bytes())
        self.assertIn("(3,)", out.decode())

    def test_refuses_what_is_no_file_of_tensors(self):
        (self.folder / "x").write_bytes(b"hello")
        self.assertIn("is none of .npy", self.refused("info", "x"))
        self.assertIn("no such file", self.refused("info", "y"))
        self.assertIn("FILE is required", self.refused("info"))


if __name__ == "__main__":
    support.main()
