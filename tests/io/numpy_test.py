#!/usr/bin/env python3
"""Files between NumPy and heed, both ways: what NumPy writes heed reads, and the reverse.

    numpy_test.py build/tests/io/heed_io_rewrite
"""
import itertools
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SKIPPED = 77  # what CTest is told when a test cannot run here

try:
    import numpy as np
except ImportError:
    print("skipped: this python3 has no NumPy")
    sys.exit(SKIPPED)

REWRITE = pathlib.Path(sys.argv[1]).resolve()
TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
SHAPES = ((), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 1, 4))


def array_of(dtype, shape):
    """Values that use every byte of an element, NaN and infinities among the floating ones."""
    size = int(np.prod(shape))
    if dtype == "?":
        return np.arange(size).reshape(shape) % 3 == 0
    if dtype[0] == "f":
        odd = np.array([np.nan, np.inf, -np.inf, -0.0, 1 / 3, 6e4, 6e-8])
        return np.resize(odd, size).astype(dtype).reshape(shape)
    limits = np.iinfo(dtype)
    return np.linspace(float(limits.min) / 2, float(limits.max) / 2, size).astype(dtype).reshape(shape)


class NumPy(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heed-io-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def rewrite(self, from_name, to_name):
        done = subprocess.run([REWRITE, from_name, to_name], cwd=self.folder, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return self.folder / to_name

    def expect_same(self, actual, expected, note):
        self.assertEqual(actual.dtype, expected.dtype.newbyteorder("="), note)
        self.assertEqual(actual.shape, expected.shape, note)
        native = np.ascontiguousarray(expected, expected.dtype.newbyteorder("="))
        self.assertEqual(actual.tobytes(), native.tobytes(), note)

    def test_npy_of_every_version_order_and_type(self):
        arrays = {}
        with zipfile.ZipFile(self.folder / "all.npz", "w") as archive:  # in one file: one run
            for dtype, shape, version, order, endian in itertools.product(
                    TYPES, SHAPES, [(1, 0), (2, 0), (3, 0)], "CF", "<>"):
                array = array_of(dtype, shape)
                array = np.array(array, array.dtype.newbyteorder(endian), order=order)
                name = f"{array.dtype.str} {shape} version {version[0]} order {order} {endian}"
                with archive.open(name + ".npy", "w") as file:
                    np.lib.format.write_array(file, array, version)
                arrays[name] = array
        for form in ("stored.npz", "small.deflated.npz"):
            with np.load(self.rewrite("all.npz", form)) as written:
                self.assertEqual(list(written), list(arrays))
                for name, array in arrays.items():
                    self.expect_same(written[name], array, name)

    def test_one_npy(self):
        for array in (array_of("f4", (3, 4)), np.asfortranarray(array_of("f8", (3, 4))),
                      array_of("i4", (3, 4)).astype(">i4"), array_of("f2", ())):
            np.save(self.folder / "a.npy", array)
            self.expect_same(np.load(self.rewrite("a.npy", "b.npy")), array, array.dtype)

    def test_deflated_and_back(self):
        arrays = {f"{n}.{dtype}": array_of(dtype, (40, 50)) for n, dtype in enumerate(TYPES)}
        np.savez_compressed(self.folder / "a.npz", **arrays)
        with np.load(self.rewrite("a.npz", "b.deflated.npz")) as written:
            self.assertEqual(list(written), list(arrays))
            for name, array in arrays.items():
                self.expect_same(written[name], array, name)
        with zipfile.ZipFile(self.folder / "b.deflated.npz") as archive:
            self.assertIsNone(archive.testzip())
            self.assertTrue(all(entry.compress_type == zipfile.ZIP_DEFLATED
                                for entry in archive.infolist()))

    def test_through_safetensors_and_back(self):
        arrays = {f"{n}.{dtype}": array_of(dtype, (3, 5)) for n, dtype in enumerate(TYPES)}
        np.savez(self.folder / "a.npz", **arrays)
        self.rewrite("a.npz", "m.safetensors")
        with np.load(self.rewrite("m.safetensors", "b.npz")) as written:
            self.assertEqual(sorted(written), sorted(arrays))
            for name, array in arrays.items():
                self.expect_same(written[name], array, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
