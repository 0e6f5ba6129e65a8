#!/usr/bin/env python3
"""Runs what the documentation shows, and compares what it says comes out.

    run_docs.py --heed build/heed docs/cli.md ...     exit 0, or 1 with what differs
    run_docs.py --heed build/heed --update docs/...   pastes the output that came instead

Fenced blocks of a page run in order, in one scratch folder per page:

    ```console      Lines that begin with "$ " are commands; the lines below each, up to the next
                    command or the end of the block, are what it prints (stdout and stderr as they
                    come). A command ending in a backslash goes on on the next line. "..." inside a
                    line stands for any text, a line of only "..." for any number of lines.
                    A command succeeds unless it ends in "# exit code N".
    ```sh           Commands that must succeed; what they print is not shown, so not compared.
    anything else   Is not run.

A comment on the line before a block says more about it:

    <!-- file: NAME -->          the block's text is written to NAME in the scratch folder
    <!-- not run: REASON -->     the block is skipped

Commands find `heed` and a `python3` with NumPy first on PATH, `examples` of the project as a folder
beside them, 80 columns, no colour and a UTF-8 locale.
"""
import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(`{3,})(\S*)\s*$")
NOTE = re.compile(r"^<!-- (file|not run): (.+?) -->$")
EXIT_CODE = re.compile(r"#\s*exit code (\d+)\s*$")
TIME_LIMIT_SECONDS = 300


@dataclasses.dataclass
class Block:
    line: int  # of the first line inside, counted from 0
    language: str
    note: tuple | None  # ("file", NAME) or ("not run", REASON)
    text: list


def blocks_of(lines):
    """The fenced blocks of a page, in order."""
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if not fence:
            number += 1
            continue
        note = NOTE.match(lines[number - 1]) if number else None
        begin = number = number + 1
        while number < len(lines) and lines[number].rstrip() != fence.group(1):
            number += 1
        if number == len(lines):
            raise SystemExit(f"line {begin}: this block does not end")
        yield Block(begin, fence.group(2), note and note.groups(), lines[begin:number])
        number += 1


def commands_of(block):
    """(offset of the first output line, command, expected output lines) of a console block."""
    found = []
    number = 0
    while number < len(block.text):
        line = block.text[number]
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\") and number + 1 < len(block.text):
                number += 1
                command += "\n" + block.text[number]
            found.append((number + 1, command, []))
        elif found:
            found[-1][2].append(line)
        else:
            raise SystemExit(f'line {block.line + number + 1}: output before any "$ command"')
        number += 1
    return found


def matches(expected, actual):
    """Whether the output is the expected lines, "..." standing for anything."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


class Scratch:
    """A folder and an environment to run the commands of one page in."""

    def __init__(self, heed, folder):
        self.folder = folder
        tools = folder / ".bin"
        tools.mkdir()
        (tools / "heed").symlink_to(heed.resolve())
        (tools / "python3").symlink_to(sys.executable)
        if (ROOT / "examples").exists():
            (folder / "examples").symlink_to(ROOT / "examples")
        self.environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", NO_COLOR="1",
                                COLUMNS="80", LC_ALL="C.UTF-8", TERM="dumb")

    def run(self, script):
        done = subprocess.run(["sh", "-e", "-c", script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIME_LIMIT_SECONDS, check=False)
        text = done.stdout.decode("utf-8", "replace")
        return done.returncode, [line.rstrip() for line in text.splitlines()]


def run_page(path, heed, update):
    """Runs one page; returns how many commands ran and the complaints."""
    lines = path.read_text(encoding="utf-8").splitlines()
    complaints, ran, replacements = [], 0, []
    with tempfile.TemporaryDirectory(prefix="heed-docs-") as folder:
        scratch = Scratch(heed, pathlib.Path(folder))

        def check_exit(line, command, code, wanted, output):
            if code != wanted:
                complaints.append(f"{path}:{line}: exit code {code}, not {wanted}: {command}\n"
                                  + "\n".join(f"    {text}" for text in output))

        for block in blocks_of(lines):
            kind, value = block.note or (None, None)
            if kind == "not run":
                continue
            if kind == "file":
                target = scratch.folder / value
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("\n".join(block.text) + "\n", encoding="utf-8")
            elif block.language == "sh":
                ran += 1
                code, output = scratch.run("\n".join(block.text))
                check_exit(block.line + 1, block.text[0], code, 0, output)
            elif block.language == "console":
                for offset, command, expected in commands_of(block):
                    ran += 1
                    code, output = scratch.run(command)
                    line = block.line + offset
                    wanted = EXIT_CODE.search(command)
                    check_exit(line, command, code, int(wanted.group(1)) if wanted else 0, output)
                    if matches([text.rstrip() for text in expected], output):
                        continue
                    elided = any("..." in text for text in expected)
                    if update and not elided:
                        replacements.append((line, len(expected), output))
                    else:
                        difference = difflib.unified_diff(expected, output, "shown", "printed",
                                                          lineterm="")
                        complaints.append(f"{path}:{line}: {command}\n" + "\n".join(difference))
    for line, count, output in reversed(replacements):
        lines[line:line + count] = output
    if replacements:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ran, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heed", type=pathlib.Path, required=True, help="the program to run")
    parser.add_argument("--update", action="store_true", help="paste what comes out")
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    failed = False
    for page in arguments.pages:
        ran, complaints = run_page(page, arguments.heed, arguments.update)
        failed = failed or bool(complaints)
        print(f"{page}: {ran} commands, {len(complaints)} complaints")
        print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
