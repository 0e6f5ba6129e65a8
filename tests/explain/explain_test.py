#!/usr/bin/env python3
"""heed explain as people call it.    explain_test.py build/heed"""
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import unittest

import numpy

HEED = str(pathlib.Path(sys.argv[1]).resolve())
ROOT = pathlib.Path(__file__).resolve().parents[2]
I_LOVE_AI = ROOT / "examples" / "i-love-ai.json"
PLAIN = {"PATH": os.environ["PATH"]}


def run(*arguments, stdin="", env=PLAIN, cwd=ROOT):
    return subprocess.run([HEED, *map(str, arguments)], input=stdin.encode(), env=env, cwd=cwd,
                          capture_output=True, timeout=120, check=False)


def on_a_terminal(*arguments, env):
    """What the command prints when its output is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([HEED, *map(str, arguments)], stdout=slave, env=env)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(master)
    process.wait()
    return text.decode().replace("\r\n", "\n")


class Inputs(unittest.TestCase):
    def explain(self, *arguments, **options):
        done = run("explain", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(done.stderr, b"")
        return done.stdout.decode()

    def values(self, node, *arguments, **options):
        trace = json.loads(self.explain(*arguments, "--format", "json", **options))
        return next(n["values"] for n in trace["nodes"] if n["id"] == node)

    def test_a_problem_from_standard_input_is_the_problem_from_the_file(self):
        text = I_LOVE_AI.read_text(encoding="utf-8")
        self.assertEqual(self.explain("-", stdin=text), self.explain(I_LOVE_AI))

    def test_npy_matrices_are_found_beside_the_problem_file(self):
        with tempfile.TemporaryDirectory() as folder:
            numpy.save(f"{folder}/x.npy", numpy.array([[1, 0], [0, 1], [1, 1]], dtype=numpy.float32))
            problem = pathlib.Path(folder, "p.json")
            problem.write_text('{"x": "x.npy", "w_q": [[1, 0], [1, 1]], "w_k": [[0, 1], [1, 0]],'
                               ' "w_v": [[1, 2], [0, 1]]}', encoding="utf-8")
            self.assertEqual(self.values("O", problem), self.values("O", I_LOVE_AI))
            self.assertIn("inputs      imported", self.explain(problem))

    def test_the_notes_figures_to_six_places(self):
        weights = self.values("A", I_LOVE_AI)
        for row, truth in zip(weights, [[0.197776, 0.401112, 0.401112],
                                        [0.248255, 0.248255, 0.503490],
                                        [0.140029, 0.283995, 0.575975]]):
            for a, b in zip(row, truth):
                self.assertAlmostEqual(a, b, delta=1e-6)

    def test_a_sentence_is_generated_and_says_so(self):
        text = self.explain("--text", "the cat sat on the mat", "--heads", "2", "--dim", "4")
        self.assertIn("generated (seed 7), not learned", text)
        self.assertIn("the#2", text)
        self.assertEqual(text, self.explain("--text", "the cat sat on the mat", "--heads", "2"))
        self.assertNotEqual(text, self.explain("--text", "the cat sat on the mat", "--heads", "2",
                                               "--seed", "8"))

    def test_text_renames_the_tokens_of_a_file(self):
        self.assertIn("you", self.explain(I_LOVE_AI, "--text", "you love me"))

    def test_random_five_by_512(self):
        text = self.explain("--random", "7", "--tokens", "5", "--dim", "512")
        self.assertIn("Q 5×512", text)
        self.assertIn("786,432", text)

    def test_heads_mask_and_scale(self):
        self.assertIn("Concatenated heads", self.explain(I_LOVE_AI, "--heads", "2"))
        self.assertEqual(self.values("M", I_LOVE_AI, "--mask", "causal")[0][1], "-inf")
        self.assertEqual(self.values("M", I_LOVE_AI, "--mask", "pad:2")[2][2], "-inf")
        self.assertNotIn("Scaled", self.explain(I_LOVE_AI, "--scale", "none"))
        self.assertEqual(self.values("Z", I_LOVE_AI, "--scale", "2")[2][2], 6)
        self.assertEqual(self.values("Z", I_LOVE_AI, "--scale", "auto"), self.values("Z", I_LOVE_AI))
        with tempfile.TemporaryDirectory() as folder:
            numpy.save(f"{folder}/m.npy", numpy.tri(3, dtype=bool))
            self.assertEqual(self.values("A", I_LOVE_AI, "--mask", f"{folder}/m.npy"),
                             self.values("A", I_LOVE_AI, "--mask", "causal"))

    def test_only_the_steps_asked_for(self):
        text = self.explain(I_LOVE_AI, "--step", "scores,softmax")
        self.assertIn("Scores", text)
        self.assertIn("Attention weights", text)
        self.assertNotIn("Queries", text)

    def test_output_goes_to_a_file_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            self.assertEqual(self.explain(I_LOVE_AI, "--format", "html", "-o", page), "")
            self.assertEqual(page.read_text(encoding="utf-8"),
                             self.explain(I_LOVE_AI, "--format", "html"))
            self.assertEqual(os.listdir(folder), ["page.html"])

    def test_seventeen_digits_and_the_kernel(self):
        text = self.explain(I_LOVE_AI, "-vv")
        self.assertIn("0.70710678118654746", text)
        self.assertRegex(text, r"the fast kernel \(.+\) is at most\s+\d+\s+ulp")

    def test_every_product_printed_adds_up_to_the_value_printed(self):
        for node, row, column in [("Q", 3, 2), ("S", 2, 3), ("O", 3, 2)]:
            at = f"{node}[{row},{column}]"
            working = json.loads(self.explain(I_LOVE_AI, "--format", "json", "--at", at))
            total = 0.0
            for a, b, product in working["terms"]:
                self.assertEqual(a * b, product)
                total += product
            self.assertEqual(total, working["value"])


class Colour(unittest.TestCase):
    def test_the_same_text_without_escapes_when_piped(self):
        plain = run("explain", I_LOVE_AI, env={**PLAIN, "TERM": "xterm-256color"}).stdout.decode()
        self.assertNotIn("\x1b", plain)
        colored = on_a_terminal("explain", I_LOVE_AI, "--width", "80",
                                env={**PLAIN, "TERM": "xterm-256color"})
        self.assertIn("\x1b[", colored)
        import re
        self.assertEqual(re.sub("\x1b\\[[0-9;]*m", "", colored), plain)

    def test_no_color_and_dumb_terminals_are_respected(self):
        for extra in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", on_a_terminal("explain", I_LOVE_AI, env={**PLAIN, **extra}))
        self.assertIn("\x1b", on_a_terminal("explain", I_LOVE_AI, "--color", "always",
                                            env={**PLAIN, "TERM": "dumb"}))
        self.assertNotIn("\x1b", on_a_terminal("explain", I_LOVE_AI, "--color", "never",
                                               env={**PLAIN, "TERM": "xterm"}))


class Errors(unittest.TestCase):
    def refused(self, message, *arguments, **options):
        done = run("explain", *arguments, **options)
        self.assertEqual(done.returncode, 2, done.stdout.decode())
        self.assertEqual(done.stdout, b"")
        self.assertIn(message, done.stderr.decode())

    def test_bad_input_is_exit_code_2_and_names_the_spot(self):
        self.refused("give a problem file", )
        self.refused("W_K: row 2 has 3 values, expected 2 (line 3)", "-",
                     stdin='{"x": [[1, 0]], "w_q": [[1, 2], [3, 4]],\n"w_k": [[1, 2],\n[1, 2, 3]]}')
        self.refused('did you mean "tokens"?', "-", stdin='{"tokns": []}')
        self.refused("nowhere.json", "nowhere.json")
        self.refused("expected text, md, latex, svg, html or json", I_LOVE_AI, "--format", "pdf")
        self.refused("there is no M", I_LOVE_AI, "--at", "M[1,1]")
        self.refused("there is no S[9,1]", I_LOVE_AI, "--at", "S[9,1]")
        self.refused('there is no "mask" in this problem', I_LOVE_AI, "--step", "mask")
        self.refused("expected entry, row, col or outer", I_LOVE_AI, "--view", "diagonal")
        self.refused("expected all or a number from 1 to 1", I_LOVE_AI, "--batch", "2")
        self.refused("expected 0 to 17", I_LOVE_AI, "--digits", "18")
        self.refused("expected auto, always or never", I_LOVE_AI, "--color", "perhaps")
        self.refused("expected auto, none or a number", I_LOVE_AI, "--scale", "large")
        self.refused("cannot be shared out to 3 heads", I_LOVE_AI, "--heads", "3")
        self.refused("has 2 words but the problem has 3 tokens", I_LOVE_AI, "--text", "two words")
        self.refused("has no words", "--text", " ")
        self.refused("not both", I_LOVE_AI, "--random", "7")
        self.refused("belong to --text and --random", I_LOVE_AI, "--dim", "3")
        self.refused("is 4 but the text has 2 words", "--text", "two words", "--tokens", "4")
        self.refused("more than can be shown", "--random", "1", "--tokens", "5", "--dim", "1000000")

    def test_nothing_is_left_where_it_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("nowhere", I_LOVE_AI, "-o", f"{folder}/nowhere/page.txt")
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
