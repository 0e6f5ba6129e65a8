#!/bin/sh
# npm_test.sh SCRIPT: a script of package.json as a test; skipped (77) where the page is not built.
set -eu
cd "$(dirname "$0")/.."
if ! [ -f node_modules/.installed ] || ! [ -f dist/index.html ]; then
  echo "skipped: the page is not built here; make web does it"
  exit 77
fi
exec npm run --silent "$1"
