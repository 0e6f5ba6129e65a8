#!/usr/bin/env python3
"""Golden files: pages that heed explain must print byte for byte.

    golden.py --heed build/heed [NAME ...]            exit 0, or 1 with what differs
    golden.py --heed build/heed --update [NAME ...]   writes what is printed now (make goldens)
    golden.py --list                                  the names, one per line

cases.txt names each page and the arguments it is printed with; pages/ holds them. What depends on
the build or the machine (heed's version, the kernel that was compared with) is replaced by a word.
"""
import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
VERSION = re.compile(r'(?<="heed": ")[^"]+(?=")')
KERNEL = re.compile(r"the fast kernel \(.*?\) is at most \S+ ulp from the trace, at \S+")


def cases():
    """{name: arguments}"""
    found = {}
    for line in (HERE / "cases.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, arguments = line.split(None, 1)
            found[name] = shlex.split(arguments)
    return found


def printed(heed, arguments):
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    done = subprocess.run([heed, "explain", *arguments], cwd=ROOT, env=environment,
                          stdout=subprocess.PIPE, timeout=300, check=True)
    text = done.stdout.decode("utf-8")
    return KERNEL.sub("the fast kernel agrees", VERSION.sub("VERSION", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heed", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    known = cases()
    if options.list:
        print("\n".join(known))
        return 0
    heed = options.heed.resolve()
    differing = 0
    for name in options.names or known:
        path = HERE / "pages" / name
        now = printed(heed, known[name])
        if options.update:
            path.write_text(now, encoding="utf-8", newline="")
            continue
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if now != before:
            differing += 1
            sys.stdout.writelines(list(difflib.unified_diff(
                before.splitlines(True), now.splitlines(True), f"pages/{name}", "printed"))[:80])
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
