#!/usr/bin/env python3
"""The runner of the documentation notices what it should: a page that lies fails."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).with_name("run_docs.py")


class RunDocs(unittest.TestCase):
    def run_page(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, RUNNER, "--heed", "/bin/echo", *options, page],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout, page.read_text(encoding="utf-8")

    def test_what_is_shown_is_compared(self):
        self.assertEqual(self.run_page("```console\n$ heed one\none\n$ heed two\ntwo\n```\n")[0], 0)
        code, printed, _ = self.run_page("```console\n$ heed one\ntwo\n```\n")
        self.assertEqual(code, 1)
        self.assertIn("+one", printed)

    def test_dots_match_anything(self):
        page = "```console\n$ printf 'a\\nb\\nc 12 ms\\n'\na\n...\nc ... ms\n```\n"
        self.assertEqual(self.run_page(page)[0], 0)
        self.assertEqual(self.run_page(page.replace("ms\n```", "s\n```"))[0], 1)

    def test_exit_codes_are_compared(self):
        self.assertEqual(self.run_page("```console\n$ false\n```\n")[0], 1)
        self.assertEqual(self.run_page("```console\n$ false  # exit code 1\n```\n")[0], 0)
        self.assertEqual(self.run_page("```console\n$ true  # exit code 1\n```\n")[0], 1)
        self.assertEqual(self.run_page("```sh\nfalse\ntrue\n```\n")[0], 1)

    def test_commands_go_on_after_a_backslash(self):
        self.assertEqual(self.run_page("```console\n$ heed a \\\n    b\na b\n```\n")[0], 0)

    def test_files_are_written_and_blocks_skipped(self):
        page = ("<!-- file: a/b.json -->\n```json\n{}\n```\n"
                "```console\n$ cat a/b.json\n{}\n```\n"
                "<!-- not run: needs a network -->\n```sh\nfalse\n```\n")
        self.assertEqual(self.run_page(page)[0], 0)

    def test_output_without_a_command_is_refused(self):
        self.assertEqual(self.run_page("```console\nlost\n```\n")[0], 1)
        self.assertEqual(self.run_page("```console\n$ true\n")[0], 1)

    def test_update_pastes_what_comes(self):
        page = "```console\n$ heed one\nold\nlines\n$ heed two\n```\nend\n"
        code, _, text = self.run_page(page, "--update")
        self.assertEqual(code, 0)
        self.assertEqual(text, "```console\n$ heed one\none\n$ heed two\ntwo\n```\nend\n")


if __name__ == "__main__":
    unittest.main()
