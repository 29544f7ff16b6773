#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the LeNet of examples/mnist_training.py on scikit-learn's digits with Debian's Python for aarch64, under qemu.
#
#     tools/platforms/python_on_aarch64.sh [FOLDER]
#
# The example compares its digests with the expected ones and fails where they differ. Only it runs under the emulator:
# FOLDER, build/aarch64-python by default, gets Debian's packages and the wheels of requirements/run.txt, unpacked, and
# the compiled module from the cross compiler, and keeps them. Of its 6 GB most are CUDA libraries, which torch from
# PyPI asks for; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu does without.
#
# Needs the network, debootstrap, g++-aarch64-linux-gnu, qemu-user, libhwy-dev and, as `python3` or what PYTHON names,
# a Python 3.11 with the packages of requirements/build.txt, such as that of `make build`: PYTHON=.venv/bin/python.

set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${1:-$root/build/aarch64-python}"
folder=$(cd "${1:-$root/build/aarch64-python}" && pwd)
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
export PATH="$(dirname "$python"):$PATH"  # cmake and ninja of a virtual environment
debian=bookworm
version=3.11  # of Debian's Python

for program in debootstrap aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v "$program" >/dev/null || {
    echo "$program is missing: apt-get install debootstrap g++-aarch64-linux-gnu qemu-user libhwy-dev" >&2
    exit 1
  }
done

# Only unpacked: to configure packages takes root and the emulator, and Python runs without.
if [ ! -e "$folder/root.done" ]; then
  debootstrap --download-only --arch=arm64 --variant=minbase --include=python3,libpython3-dev "$debian" "$folder/root"
  for package in "$folder"/root/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
  touch "$folder/root.done"
fi

if [ ! -e "$folder/site.done" ]; then
  platforms=""  # the versions of the C library that a wheel may ask for
  for minor in $(seq 17 36); do platforms="$platforms --platform manylinux_2_${minor}_aarch64"; done
  # shellcheck disable=SC2086  # a list of words
  "$python" -m pip install --target "$folder/site" $platforms --platform manylinux2014_aarch64 \
    --python-version "$version" --only-binary :all: -r "$root/requirements/run.txt"
  touch "$folder/site.done"
fi

# Debian's pyconfig.h lies in a folder for the machine, beside that of Python.
include=$folder/root/usr/include
cmake -S "$root" -B "$folder/build" -G Ninja --toolchain "$root/cmake/toolchains/aarch64.cmake" \
  -DREPDL_BUILD_PYTHON=ON -DREPDL_BUILD_TESTS=OFF -DPython_EXECUTABLE="$python" \
  -DPython_INCLUDE_DIR="$include/python$version" -DCMAKE_CXX_FLAGS="-idirafter $include"
cmake --build "$folder/build" --target _core
rm -rf "$folder/package"
mkdir "$folder/package"
cp -r "$root/python/repdl" "$folder/package"
rm -f "$folder"/package/repdl/_core*.so  # this machine's
cp "$folder"/build/python/bindings/_core*.so "$folder/package/repdl/_core.so"

# torch looks there for the kind of CPU, and crashes where it reads of this machine's.
mkdir -p "$folder/root/proc"
for cpu in $(seq 0 $(($(nproc) - 1))); do
  printf '%s\n' "processor : $cpu" 'Features : fp asimd aes pmull sha1 sha2 crc32 cpuid' 'CPU implementer : 0x41' \
    'CPU architecture: 8' 'CPU variant : 0x0' 'CPU part : 0xd08' 'CPU revision : 3' ''
done > "$folder/root/proc/cpuinfo"

for target in scalar neon; do
  echo "Target $target:"
  REPDL_TARGET=$target PYTHONPATH=$folder/package:$folder/site qemu-aarch64 -cpu cortex-a72 -L "$folder/root" \
    "$folder/root/usr/bin/python3" "$root/examples/mnist_training.py" --data digits --no-progress
done
