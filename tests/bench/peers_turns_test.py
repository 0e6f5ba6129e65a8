"""A turn begins when the threads of the competitor before it are asleep."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
from competitor import Competitor, Gone  # noqa: E402

# Answers at once, and leaves a thread spinning that says when it is done.
SPINNER = """
import sys, threading, time
def spin():
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        pass
    open(sys.argv[1], "w").close()
for line in sys.stdin:
    threading.Thread(target=spin).start()
    print("{}", flush=True)
"""


class Turns(unittest.TestCase):
    def test_settling_waits_for_threads_that_spin(self):
        with tempfile.TemporaryDirectory() as folder:
            done = pathlib.Path(folder) / "done"
            spinner = Competitor("spinner", [sys.executable, "-c", SPINNER, str(done)])
            try:
                self.assertEqual(spinner.ask(op="run"), {})
                spinner.settle()
                self.assertTrue(done.exists())
            finally:
                spinner.close()

    def test_one_that_is_gone_is_settled(self):
        gone = Competitor("gone", [sys.executable, "-c", "raise SystemExit('no such library')"])
        with self.assertRaisesRegex(Gone, "no such library"):
            gone.ask(op="run")
        gone.settle()
        Competitor("never there", ["/no/such/program"]).settle()


if __name__ == "__main__":
    unittest.main()
