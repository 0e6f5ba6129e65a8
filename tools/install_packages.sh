#!/bin/sh
# Installs the Debian packages of the named groups where they are missing; instant when they are not.
#   tools/install_packages.sh build test web lint tex
# Where apt is absent (another system), says what is needed and goes on: CMake then names what it lacks.
set -eu

packages_of() {
  case "$1" in
    build) echo g++ cmake ninja-build pkg-config libhwy-dev libtbb-dev \
                nlohmann-json3-dev libcli11-dev libfmt-dev libcpp-httplib-dev zlib1g-dev ;;
    test)  echo libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev python3 python3-dev \
                python3-numpy python3-pytest python3-hypothesis pybind11-dev ;;
    web)   echo nodejs npm emscripten chromium fonts-dejavu-core fonts-noto-cjk ;;
    lint)  echo clang clang-format clang-tidy ;;
    sanitize) echo clang libclang-rt-14-dev ;;
    coverage) echo gcovr ;;
    neon)  echo g++-aarch64-linux-gnu qemu-user libhwy-dev:arm64 libgtest-dev:arm64 \
                libgmock-dev:arm64 librapidcheck-dev:arm64 ;;
    tex)   echo texlive-latex-base texlive-latex-recommended texlive-latex-extra poppler-utils ;;
    bench) echo libbenchmark-dev libopenblas-dev ;;
    wheel) echo python3 python3-dev python3-venv ;;
    peers) echo libeigen3-dev libopenblas-dev python3 python3-venv ;;
    *) echo "install_packages.sh: no group '$1'" >&2; exit 2 ;;
  esac
}

# The architectures for which a package is installed.
installed() {
  dpkg-query -W -f='${db:Status-Status} ${Architecture}\n' "$1" 2>/dev/null | sed -n 's/^installed //p'
}

# `node` counts as nodejs wherever it came from; likewise npm.
present() {
  case "$1" in
    nodejs) command -v node >/dev/null ;;
    npm)    command -v npm >/dev/null ;;
    *:*)    installed "$1" | grep -q . ;;
    *)      installed "$1" | grep -qx -e all -e "$(dpkg --print-architecture)" ;;
  esac
}

if ! command -v apt-get >/dev/null; then
  echo "install_packages.sh: no apt-get here; needed:" "$(for group; do packages_of "$group"; done)"
  exit 0
fi
missing=
for group; do
  for package in $(packages_of "$group"); do
    present "$package" || missing="$missing $package"
  done
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
as_root=; [ "$(id -u)" = 0 ] || as_root=sudo
case "$missing" in *:arm64*) $as_root dpkg --add-architecture arm64 ;; esac
$as_root apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
