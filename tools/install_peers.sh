#!/bin/sh
# Installs the peers that come from the Python package index into a virtual environment of their own.
#   tools/install_peers.sh build-peers/venv
# One that cannot be installed is named and left out; the comparison then lists it as absent.
set -eu
venv=$1
here=$(dirname "$0")

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
while read -r package; do
  case "$package" in ''|'#'*) continue ;; esac
  "$venv/bin/python" -c "import importlib.util as u; exit(u.find_spec('$package') is None)" && continue
  echo "installing: $package"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$package" </dev/null ||
    echo "install_peers.sh: $package cannot be installed here"
done <"$here/../bench/peers/requirements.txt"
