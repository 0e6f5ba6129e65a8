"""What the tests of the command line share: the program, a scratch folder, and skipping."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77  # what CTest is told when a test cannot run here

try:
    import numpy as np
except ImportError:
    print("skipped: this python3 has no NumPy")
    sys.exit(SKIPPED)

HEED = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None


class HeedTest(unittest.TestCase):
    """Each test has a folder of its own, `self.folder`, and runs heed inside it."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heed-run-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def heed(self, *arguments, stdin=b"", code=0):
        """Runs heed, checks its exit code, and gives (stdout, stderr)."""
        done = subprocess.run([HEED, *map(str, arguments)], cwd=self.folder, input=stdin,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, code, (arguments, done.stderr.decode()))
        return done.stdout, done.stderr.decode()

    def refused(self, *arguments):
        """Runs heed on something it must refuse: exit code 2, nothing written; gives the message."""
        before = sorted(self.folder.rglob("*"))
        out, message = self.heed(*arguments, code=2)
        self.assertEqual(out, b"")
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return message

    def save(self, name, array):
        np.save(self.folder / name, array)
        return name

    def save_safetensors(self, name, tensors, **metadata):
        header, data = {"__metadata__": metadata} if metadata else {}, b""
        for key, array in tensors.items():
            dtype = {"f2": "F16", "f4": "F32", "i8": "I64"}[array.dtype.str[1:]]
            end = len(data) + array.nbytes
            header[key] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), end]}
            data += array.tobytes()
        text = json.dumps(header).encode()
        (self.folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)

    def load(self, name):
        return np.load(self.folder / name)


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
