#!/bin/sh
# SPDX-License-Identifier: MIT
# Trains the LeNet of examples/mnist_training.py on scikit-learn's digits in an emulated Debian for aarch64.
#
#     sudo tools/platforms/python_on_aarch64.sh [FOLDER]
#
# Makes FOLDER, build/aarch64-debian by default, with debootstrap: about 4 GB and, with the emulator, hours. It needs root,
# the network, a package index with wheels of torch for aarch64, and a kernel that hands programs of aarch64 to qemu
# (Debian: debootstrap qemu-user-static binfmt-support). The example compares its digests with the expected ones.

set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$root/build/aarch64-debian}

[ "$(id -u)" = 0 ] || { echo "chroot needs root: sudo $0 $*" >&2; exit 1; }
for program in debootstrap qemu-aarch64-static; do
  command -v "$program" >/dev/null || {
    echo "$program is missing: apt-get install debootstrap qemu-user-static binfmt-support" >&2
    exit 1
  }
done
[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || {
  echo "the kernel does not hand programs of aarch64 to qemu: apt-get install binfmt-support, or mount binfmt_misc" >&2
  exit 1
}

if [ ! -e "$folder/.complete" ]; then
  debootstrap --arch=arm64 --variant=minbase \
    --include=ca-certificates,g++,git,libhwy-dev,make,python3,python3-dev,python3-venv bookworm "$folder"
  touch "$folder/.complete"
fi
mkdir -p "$folder/repdl" "$folder/proc"
git -C "$root" archive HEAD | tar -x -C "$folder/repdl"
cp /etc/resolv.conf "$folder/etc/resolv.conf"
mountpoint -q "$folder/proc" || mount -t proc proc "$folder/proc"
trap 'umount "$folder/proc"' EXIT

# shellcheck disable=SC2016  # for the shell inside
chroot "$folder" /bin/sh -euc '
  cd /repdl
  [ -d /venv ] || python3 -m venv /venv
  /venv/bin/pip install torch scikit-learn .
  for target in scalar neon; do
    REPDL_TARGET=$target /venv/bin/python examples/mnist_training.py --data digits --no-progress
  done'
