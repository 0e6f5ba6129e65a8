#!/usr/bin/env python3
"""snippets.py itself: sections become functions, and a page that lies is noticed."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "snippets.py"
PAGE = """# Title
## One
```cpp
#include <vector>
int x = 1;
```
goes on
```cpp
std::printf("%d\\n", x);
```
```text
1
```
## Two
```cpp
int main() {
}
```
<!-- not run: needs more -->
```cpp
nonsense
```
"""


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / "page.md"
        self.page.write_text(PAGE, encoding="utf-8")

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def check(self, prints, code=0):
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\nprintf '{prints}'\nexit {code}\n", encoding="utf-8")
        program.chmod(0o755)
        return self.run_script("check", program, self.page)

    def test_blocks_of_a_section_are_one_function(self):
        source = self.folder / "out.cc"
        self.assertEqual(self.run_script("extract", self.page, "-o", source).returncode, 0)
        text = source.read_text(encoding="utf-8")
        self.assertLess(text.index("#include <vector>"), text.index("void section_0() {"))
        self.assertLess(text.index("int x = 1;"), text.index('std::printf("%d'))
        self.assertEqual(text.count("section_0()"), 2)
        self.assertIn("void section_1() {\n}", text)
        self.assertNotIn("nonsense", text)

    def test_what_is_printed_is_compared_section_by_section(self):
        right = "@@ page.md:2\\n1\\n@@ page.md:14\\n"
        self.assertEqual(self.check(right).returncode, 0)
        wrong = self.check("@@ page.md:2\\n2\\n@@ page.md:14\\n")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("page.md:2 (One)", wrong.stdout)
        self.assertEqual(self.check("@@ page.md:2\\n1\\n@@ page.md:14\\nmore\\n").returncode, 1)
        self.assertEqual(self.check("@@ page.md:2\\n").returncode, 1)

    def test_a_program_that_fails_is_noticed(self):
        failed = self.check("@@ page.md:2\\n1\\n", code=3)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("exit code 3, after page.md:2", failed.stdout)


if __name__ == "__main__":
    unittest.main()
