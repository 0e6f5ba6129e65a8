#!/usr/bin/env python3
"""Compiles and runs the C++ that the documentation shows.

    snippets.py extract PAGE... -o snippets.cc     the code of all pages as one program
    snippets.py check PROGRAM PAGE...              runs it; exit 1 where it prints something else

The ```cpp blocks of one section (from one heading to the next) are one function, in order: later
blocks go on where earlier ones stopped. #include lines go to the top of the file. A block that has
an int main() of its own is that function. The ```text blocks of the section are what it prints;
"..." stands for any text, a line of only "..." for any number of lines. `<!-- not run: REASON -->`
before a block leaves it out.
"""
import argparse
import dataclasses
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
from run_docs import blocks_of, matches  # noqa: E402

MARK = "@@ "
TIME_LIMIT_SECONDS = 120


@dataclasses.dataclass
class Section:
    page: pathlib.Path
    title: str
    line: int  # of the heading, counted from 1
    code: list = dataclasses.field(default_factory=list)  # (line, text) of every block
    prints: list = dataclasses.field(default_factory=list)

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"


def sections_of(page):
    """The sections of a page that have code."""
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks = list(blocks_of(lines))
    inside = {n for b in blocks for n in range(b.line - 1, b.line + len(b.text) + 1)}
    headings = [n for n, text in enumerate(lines) if text.startswith("#") and n not in inside]
    sections = [Section(page, lines[n].lstrip("# "), n + 1) for n in headings]
    for block in blocks:
        if block.note and block.note[0] == "not run":
            continue
        if block.language not in ("cpp", "text"):
            continue
        before = [s for s in sections if s.line <= block.line]
        if not before:
            raise SystemExit(f"{page}:{block.line}: code before the first heading")
        if block.language == "cpp":
            before[-1].code.append((block.line, block.text))
        elif before[-1].code:
            before[-1].prints += block.text
    return [s for s in sections if s.code]


def function_of(section, number):
    """(include lines, the section as a function)."""
    includes, body = [], []
    whole = any("int main()" in text for _, block in section.code for text in block)
    for line, block in section.code:
        body.append(f'#line {line + 1} "{section.page}"')
        for text in block:
            if text.startswith("#include"):
                includes.append(text)
                body.append("")
            else:
                body.append(text.replace("int main()", f"void section_{number}()"))
    if not whole:
        body = [f"void section_{number}() {{", *body, "}"]
    return includes, body


def extract(pages, target):
    sections = [s for page in pages for s in sections_of(page)]
    includes, functions, calls = {"#include <cstdio>"}, [], []
    for number, section in enumerate(sections):
        needed, body = function_of(section, number)
        includes.update(needed)
        functions += body
        calls += [f'  std::puts("{MARK}{section.place}");', f"  section_{number}();"]
    text = ["// Written from the documentation by tests/docs_snippets/snippets.py.",
            *sorted(includes), *functions, '#line 1 "main"', "int main() {", *calls, "}"]
    target.write_text("\n".join(text) + "\n", encoding="utf-8")


def check(program, pages):
    done = subprocess.run([program], stdout=subprocess.PIPE, timeout=TIME_LIMIT_SECONDS, check=False)
    printed, place = {}, None
    for text in done.stdout.decode("utf-8", "replace").splitlines():
        if text.startswith(MARK):
            place = text[len(MARK):]
            printed[place] = []
        else:
            printed[place].append(text.rstrip())
    complaints = [] if done.returncode == 0 else [f"exit code {done.returncode}, after {place}"]
    sections = [s for page in pages for s in sections_of(page)]
    for section in sections:
        actual = printed.get(section.place, [])
        if not matches(section.prints, actual):
            complaints += [f"{section.place} ({section.title}) prints", *("    " + t for t in actual)]
    print("\n".join(complaints) or f"{len(sections)} sections of C++ print what the pages say")
    return 1 if complaints or not sections else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    extracting = commands.add_parser("extract")
    extracting.add_argument("pages", nargs="+", type=pathlib.Path)
    extracting.add_argument("-o", dest="target", required=True, type=pathlib.Path)
    checking = commands.add_parser("check")
    checking.add_argument("program")
    checking.add_argument("pages", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "extract":
        return extract(arguments.pages, arguments.target)
    return check(arguments.program, arguments.pages)


if __name__ == "__main__":
    sys.exit(main())
