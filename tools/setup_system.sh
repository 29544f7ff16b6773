#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the system packages that `make demo` and `make test` need, or says which line to type.
#
#     tools/setup_system.sh [PYTHON]
#     tools/setup_system.sh --platforms   # cross compilers and emulators, which `make test` can do without
#     tools/setup_system.sh --pages       # Chromium, which `make test-pages` looks at pages in
#
# Only what is missing is installed, with apt-get, as root or with a sudo that asks no password. PYTHON is the
# interpreter of the virtual environment, python3 by default. With DRY_RUN=1 nothing is installed.

set -u
compiler=${CXX:-c++}
required=""
optional=""

has_header() {
  if command -v "$compiler" >/dev/null; then
    echo "#include <$1>" | "$compiler" -E -x c++ - >/dev/null 2>&1
  else
    [ -e "/usr/include/$1" ]
  fi
}
has_python() { "$python" -c "$1" >/dev/null 2>&1; }

# What the build and the tests of this machine need.
find_basics() {
  command -v "$compiler" >/dev/null || required="$required g++"
  if command -v "$python" >/dev/null; then
    if ! has_python 'import sys; sys.exit(sys.version_info < (3, 11))'; then
      echo "$python is $("$python" --version), and Python 3.11 or later is needed: make PYTHON=python3.12 ..." >&2
      exit 1
    fi
    name=$(basename "$python")  # Debian's packages are called as the interpreter is
    has_python 'import ensurepip, venv' || required="$required $name-venv"
    has_python 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' || required="$required $name-dev"
  else
    required="$required $python $python-venv $python-dev"
  fi
  has_header mpfr.h || required="$required libmpfr-dev"
  # CMake fetches these where they are not installed.
  has_header hwy/highway.h || optional="$optional libhwy-dev"
  has_header gtest/gtest.h || optional="$optional libgtest-dev"
  has_header benchmark/benchmark.h || optional="$optional libbenchmark-dev"
}

# Each toolchain file names its compiler, its emulator and the packages that have them.
find_platforms() {
  for toolchain in "$(dirname "$0")"/../cmake/toolchains/*.cmake; do
    for program in $(sed -nE 's/^set\(CMAKE_(CXX_COMPILER|CROSSCOMPILING_EMULATOR) ([^ )]+).*/\2/p' "$toolchain"); do
      command -v "$program" >/dev/null && continue
      for package in $(sed -n 's/^# Debian: //p' "$toolchain"); do
        case "$optional " in *" $package "*) ;; *) optional="$optional $package" ;; esac
      done
    done
  done
}

# Under any of the names that the tests look for.
find_browser() {
  for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null && return
  done
  required=" chromium"
}

if [ "${1:-}" = --platforms ]; then
  without="the tests skip those platforms"
  find_platforms
elif [ "${1:-}" = --pages ]; then
  find_browser
else
  python=${1:-python3}
  without="CMake fetches the sources"
  find_basics
fi

missing="$required$optional"
[ -z "$missing" ] && exit 0

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
if [ -z "${DRY_RUN:-}" ] && command -v apt-get >/dev/null && as_root true 2>/dev/null; then
  echo "Installing$missing"
  as_root apt-get update
  # shellcheck disable=SC2086  # a list of words
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing && exit 0
fi

if [ -z "$required" ]; then
  echo "Not installed, so $without:$optional. To have them from the system:"
  echo "  sudo apt-get install -y$optional"
  exit 0
fi
echo "System packages are missing, and could not be installed from here. Type:" >&2
echo "  sudo apt-get install -y$missing" >&2
exit 1
