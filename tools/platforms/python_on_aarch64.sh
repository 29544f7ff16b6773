#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a Python program with torch's wheel for aarch64 under qemu, on a CPU target of ours: scalar, neon or sve256.
#
#     tools/platforms/python_on_aarch64.sh TARGET PROGRAM [ARGUMENT...]
#
#     tools/platforms/python_on_aarch64.sh neon examples/mnist_training.py --data digits --no-progress
#     tools/platforms/python_on_aarch64.sh sve256 tools/platforms/torch_digests.py lines
#
# torch's own kernels take NEON too, or SVE of 256 bits. Only the program runs under the emulator: build/aarch64-python,
# or the folder that FOLDER names, gets Debian's packages and the wheels of requirements/aarch64.txt, unpacked (2 GB),
# and the compiled module from the cross compiler, and keeps them.
#
# Needs the network, debootstrap, g++-aarch64-linux-gnu, qemu-user, libhwy-dev and, as `python3` or what PYTHON names,
# a Python 3.11 with the packages of requirements/build.txt, such as that of `make build`: PYTHON=.venv/bin/python.

set -eu
[ $# -ge 2 ] || { sed -n '3,8s/^# *//p' "$0" >&2; exit 2; }
target=$1
shift
case $target in
  scalar | neon) cpu=cortex-a72 ;;
  sve256) cpu=max,sve-max-vq=2 ;;
  *) echo "$target is none of scalar, neon and sve256" >&2; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "${FOLDER:-$root/build/aarch64-python}"
folder=$(cd "${FOLDER:-$root/build/aarch64-python}" && pwd)
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
  "$python" -m pip install --target "$folder/site" --no-deps $platforms --platform manylinux2014_aarch64 \
    --python-version "$version" --only-binary :all: -r "$root/requirements/aarch64.txt"
  # torch is linked to CUDA libraries, and calls none of their functions where there is no GPU: empty ones stand in, and
  # Python is told to look for a function when it is called.
  cuda=$folder/site/nvidia/cu13/lib
  for library in "$folder"/site/torch/lib/*.so; do aarch64-linux-gnu-readelf -d "$library"; done |
    sed -n 's/.*NEEDED.*\[\(lib\(cu\|nccl\|nv\)[^]]*\)\].*/\1/p' | sort -u | while read -r name; do
    [ "$name" = libcuda.so.1 ] || [ -e "$cuda/$name" ] || [ -e "$folder/site/torch/lib/$name" ] ||
      aarch64-linux-gnu-g++ -shared -Wl,-soname,"$name" -o "$cuda/$name" -x c++ /dev/null
  done
  echo 'import os, sys; sys.setdlopenflags(os.RTLD_LAZY)' > "$folder/site/sitecustomize.py"
  touch "$folder/site.done"
fi

# Debian's pyconfig.h lies in a folder for the machine, beside that of Python.
include=$folder/root/usr/include
cmake -S "$root" -B "$folder/build" -G Ninja --toolchain "$root/cmake/toolchains/aarch64.cmake" \
  -DREPDL_TARGETS="scalar;neon;sve256" -DREPDL_BUILD_PYTHON=ON -DREPDL_BUILD_TESTS=OFF -DPython_EXECUTABLE="$python" \
  -DPython_INCLUDE_DIR="$include/python$version" -DCMAKE_CXX_FLAGS="-idirafter $include"
cmake --build "$folder/build" --target _core
rm -rf "$folder/package"
mkdir "$folder/package"
cp -r "$root/python/repdl" "$folder/package"
rm -f "$folder"/package/repdl/_core*.so  # this machine's
cp "$folder"/build/python/bindings/_core*.so "$folder/package/repdl/_core.so"

# torch looks there for the kind of CPU, and crashes where it reads of this machine's.
mkdir -p "$folder/root/proc"
for number in $(seq 0 $(($(nproc) - 1))); do
  printf '%s\n' "processor : $number" 'Features : fp asimd aes pmull sha1 sha2 crc32 cpuid' 'CPU implementer : 0x41' \
    'CPU architecture: 8' 'CPU variant : 0x0' 'CPU part : 0xd08' 'CPU revision : 3' ''
done > "$folder/root/proc/cpuinfo"

REPDL_TARGET=$target PYTHONPATH=$folder/package:$folder/site exec qemu-aarch64 -cpu "$cpu" -L "$folder/root" \
  "$folder/root/usr/bin/python3" "$@"
