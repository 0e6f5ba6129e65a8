#!/bin/sh
# npm_test.sh SCRIPT: a script of package.json as a test; skipped (77) where the page is not built,
# or where the script needs a browser and there is none.
set -eu
cd "$(dirname "$0")/.."
skip() { echo "skipped: $1"; exit 77; }
[ -f node_modules/.installed ] && [ -f dist/index.html ] || skip "the page is not built here; make web does it"
case "$1" in
  *browser | *times) command -v chromium || command -v chromium-browser || command -v google-chrome || [ -n "${CHROMIUM:-}" ] ||
    skip "there is no Chromium here" ;;
esac
exec npm run --silent "$1"
