"""What `heed bench` promises on the command line. No timing decides anything here: times only have to
agree with each other.

    cli_test.py PATH_OF_HEED
"""
import json
import math
import subprocess
import sys
import unittest

HEED = sys.argv.pop(1)
QUICK = ["--seconds", "0", "--rounds", "1"]


def heed(*arguments):
    return subprocess.run([HEED, "bench", *arguments], capture_output=True, text=True, check=False)


def measured(*arguments):
    done = heed("--json", *QUICK, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Json(unittest.TestCase):
    def test_a_result_has_its_keys_and_they_agree(self):
        report = measured("--shapes", "P1", "--threads", "1")
        (result,) = report["results"]
        self.assertEqual((result["shape"], result["threads"], result["dtype"]), ("P1", 1, "f32"))
        self.assertGreater(result["ms_best"], 0)
        self.assertGreaterEqual(result["ms_median"], result["ms_best"])
        flops = 4 * 512 * 512 * 64 * 8
        self.assertAlmostEqual(result["gflops"] * result["ms_best"] * 1e6 / flops, 1, places=6)
        (peak,) = report["limits"]["fma"]
        self.assertEqual(peak["threads"], 1)
        self.assertAlmostEqual(result["fraction"], result["gflops"] / peak["gflops"])
        calm = result["gflops"] * result["ms_best"] / result["ms_calm"]
        self.assertAlmostEqual(result["fraction_calm"], calm / report["limits"]["fma_calm_gflops"])
        self.assertLessEqual(result["ms_calm"], result["ms_best"])
        self.assertTrue(0 <= report["limits"]["interrupted"] <= 1)
        self.assertGreater(result["error_vs_plain"], 0)
        self.assertLessEqual(result["error_vs_plain"], 2)
        self.assertEqual(result["target"], {"must": 0.86, "aim": 0.92})
        self.assertGreater(result["workspace_bytes"], 0)

    def test_only_prefill_on_one_thread_is_timed_in_pieces(self):
        for result in measured("--shapes", "P1,D1-f32,S1,L5")["results"]:
            self.assertEqual("ms_calm" in result, result["shape"] == "P1" and result["threads"] == 1)

    def test_decode_is_measured_against_reading_as_many_bytes(self):
        report = measured("--shapes", "D1", "--threads", "1")
        self.assertEqual([r["dtype"] for r in report["results"]], ["f32", "f16", "bf16", "i8"])
        read = {(limit["bytes"], limit["dtype"]): limit["gbps"]
                for limit in report["limits"]["read"]}
        for result, size in zip(report["results"], (4, 2, 2)):
            bytes_read = 2 * 8 * 4096 * 128 * size
            self.assertAlmostEqual(result["gbps"] * result["ms_best"] * 1e6 / bytes_read, 1, places=6)
            self.assertAlmostEqual(result["fraction"], result["gbps"] / read[bytes_read, result["dtype"]])
        in_places = report["limits"]["read_in_places"]
        self.assertEqual({(limit["bytes"], limit["dtype"]) for limit in in_places}, set(read))
        self.assertEqual({limit["places"] for limit in in_places}, {4})
        self.assertTrue(all(limit["gbps"] > 0 for limit in in_places))

    def test_every_answer_is_right_on_every_kind_of_shape(self):
        report = measured("--shapes", "P2c,P5,P6,P7,D1-bf16,S1", "--threads", "1")
        self.assertEqual([r["shape"] for r in report["results"]],
                         ["P2c", "P5", "P6", "P7", "D1", "S1"])
        for result in report["results"]:
            self.assertLessEqual(result["error_vs_plain"], 2, result["shape"])
            self.assertTrue(math.isfinite(result["fraction"]))

    def test_all_threads_are_the_default(self):
        threads = [r["threads"] for r in measured("--shapes", "P1")["results"]]
        self.assertEqual(threads[0], 1)
        self.assertEqual(threads, sorted(set(threads)))


class Table(unittest.TestCase):
    def test_fits_80_columns_and_names_every_shape(self):
        done = heed("--shapes", "P1,D1-f16", *QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertRegex(done.stdout, r"(?m)^P1 +1 ")
        self.assertRegex(done.stdout, r"(?m)^D1-f16 +1 ")
        self.assertEqual(done.stderr, "")  # progress is for terminals

    def test_help_tells_what_the_names_stand_for(self):
        done = heed("--help")
        self.assertEqual(done.returncode, 0)
        for name in "P1 P2 P2c P3c P4c P5 P6 P7 D1 D2 D3 S1".split():
            self.assertRegex(done.stdout, rf"(?m)^ +{name} ")


class Refused(unittest.TestCase):
    def refused(self, *arguments):
        done = heed(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done.stdout))
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_an_unknown_shape_is_refused_with_the_known_ones(self):
        said = self.refused("--shapes", "P1,Q9")
        self.assertIn("'Q9'", said)
        self.assertIn("P1, P2, P2c", said)

    def test_threads_that_are_not_there(self):
        for bad in ("0", "100000", "-1", "two", "1.5", ""):
            self.refused("--shapes", "P1", "--threads", bad)
        self.assertIn("1 to ", self.refused("--shapes", "P1", "--threads", "1,100000"))

    def test_a_pace_that_makes_no_sense(self):
        for bad in (["--seconds", "-1"], ["--seconds", "nan"], ["--seconds", "1e99"],
                    ["--rounds", "0"], ["--rounds", "-3"], ["--rounds", "many"]):
            self.refused("--shapes", "P1", *bad)


if __name__ == "__main__":
    unittest.main()
