"""The layer check must fail on each kind of wrong include, and name it."""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).parents[2] / "tools/check_layers.py"
WRONG = {
    "src/base/a.cc": '#include "kernels/plan.h"',
    "src/reference/a.cc": '#include "kernels/plan.h"',
    "src/kernels/a-inl.h": '#include "reference/attention.h"',
    "src/trace/a.cc": "#include <hwy/highway.h>",
    "cli/a.cc": '#include "base/checks.h"',
    "include/heed/a.h": '#include "base/checks.h"',
    "src/unknown/a.cc": "",
}
RIGHT = {
    "src/kernels/a.cc": '#include "base/checks.h"\n#include <hwy/highway.h>',
    "src/trace/a.cc": '#include "reference/attention.h"\n#include "trace/format.h"',
    "src/kernels/a_test.cc": '#include "reference/attention.h"',
    "cli/a.cc": '#include "heed/attention.h"\n#include "cli/commands.h"',
}


def check(path, text):
    with tempfile.TemporaryDirectory() as root:
        file = pathlib.Path(root, path)
        file.parent.mkdir(parents=True)
        file.write_text(text)
        return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)


for path, text in WRONG.items():
    result = check(path, text)
    assert result.returncode == 1 and path in result.stdout, (path, text, result)
for path, text in RIGHT.items():
    result = check(path, text)
    assert result.returncode == 0, (path, text, result)
print(f"{len(WRONG)} refused, {len(RIGHT)} accepted")
