#!/bin/sh
# Builds a wheel of the Python package and runs its tests in a virtual environment that holds nothing
# but the wheel and what the tests need. Needs the Python package index.
#   tools/make_wheel.sh build-wheel
set -eu
work=$1
python=${PYTHON:-python3}

rm -rf "$work/dist" "$work/empty"
"$python" -m venv "$work/builder"
"$work/builder/bin/python" -m pip install --quiet --disable-pip-version-check build </dev/null
"$work/builder/bin/python" -m build --wheel --outdir "$work/dist" .
"$python" -m venv "$work/empty"
"$work/empty/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/dist/*.whl \
  pytest hypothesis ml_dtypes </dev/null
shared=$(cd .. && pwd)/shared
(cd "$work" && HEED_SHARED_DIR=$shared empty/bin/python -m pytest -q -p no:cacheprovider ../python/tests)
ls -l "$work"/dist/*.whl
