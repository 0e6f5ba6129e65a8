#!/usr/bin/env python3
"""Refuses an #include that points upward: dependencies between the folders go one way.

    tools/check_layers.py [ROOT]     exit 0, or 1 with one line per offence

The allowed directions are ALLOWED below; docs/architecture.md draws them.
"""
import pathlib
import re
import sys

# folder -> the src/ folders it may include, besides itself and the public headers.
ALLOWED = {
    "src/base": set(),
    "src/reference": {"base"},
    "src/trace": {"base", "reference"},
    "src/kernels": {"base"},
    "src/cache": {"base", "kernels"},
    "src/layer": {"base", "kernels", "cache"},
    "src/io": {"base"},
    "src/capi": set(),
    "cli": set(),
    "python": set(),
    "web": set(),
    "bench": set(),
    "examples": set(),
    "include": set(),
}
LAYERS = {name.removeprefix("src/") for name in ALLOWED if name.startswith("src/")}
# Each of these headers may appear in one place only (and its tests).
ONE_FOLDER = {
    "hwy/": ("src/kernels",),
    "tbb/": ("src/base",),
    "cblas.h": ("bench",),
    "mpi.h": (),
    "Python.h": ("python",),
    "pybind11/": ("python",),
    "emscripten": ("web",),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
SUFFIXES = {".h", ".cc", ".c"}


def folder_of(path):
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def offences(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.suffix not in SUFFIXES or relative.parts[0] not in ("src", *ALLOWED):
            continue
        if "node_modules" in relative.parts or relative.stem.endswith("_test"):
            continue
        folder = folder_of(relative)
        if folder not in ALLOWED:
            yield f"{relative}: {folder} is not a layer"
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            layer = name.split("/")[0].removeprefix("src/")
            if layer in LAYERS and "/" in name and layer != folder.removeprefix("src/"):
                if layer not in ALLOWED[folder]:
                    yield f"{relative}:{number}: {folder} must not include {name}"
            for prefix, homes in ONE_FOLDER.items():
                if name.startswith(prefix) and folder not in homes:
                    yield f"{relative}:{number}: {name} belongs to {', '.join(homes) or 'no folder'}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = list(offences(root.resolve()))
    print("\n".join(found) if found else "layers: every include points the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
