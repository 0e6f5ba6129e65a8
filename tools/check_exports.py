#!/usr/bin/env python3
"""Compares what a shared library exports with a committed list, so that the ABI cannot change unseen.

    tools/check_exports.py LIBRARY LIST            exit 1 and a line per difference
    tools/check_exports.py LIBRARY LIST --update   rewrites the list, to be reviewed and committed
"""
import pathlib
import subprocess
import sys


def exported(library):
    table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                           text=True).stdout
    names = (line.split()[-1] for line in table.splitlines())
    # Version nodes (HEED_0.1) are listed as absolute symbols; the functions carry them as a suffix.
    return sorted({name.split("@")[0] for name in names if not name.startswith("HEED_")})


def main():
    library, listed_in = sys.argv[1], pathlib.Path(sys.argv[2])
    now = exported(library)
    if "--update" in sys.argv[3:]:
        listed_in.write_text("".join(name + "\n" for name in now))
        return 0
    listed = listed_in.read_text().split()
    for name in sorted(set(now) - set(listed)):
        print(f"{name}: exported but not in {listed_in.name}")
    for name in sorted(set(listed) - set(now)):
        print(f"{name}: in {listed_in.name} but no longer exported")
    print(f"{len(now)} symbols exported, {len(listed)} listed")
    return 0 if now == listed else 1


if __name__ == "__main__":
    sys.exit(main())
