# SPDX-License-Identifier: MIT
"""Digest and marks of results, as the heads of the golden files define them, of arrays of bits."""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

Bits = np.ndarray[Any, Any]

_NANS = {
    "float32": (0x7F800000, 0x7FC00000),
    "bfloat16": (0x7F80, 0x7FC0),
    "float16": (0x7C00, 0x7E00),
    "float64": (0x7FF0 << 48, 0x7FF8 << 48),
    "float8_e4m3fn": (0x7E, 0x7F),
    "float8_e5m2": (0x7C, 0x7E),
}
"""By dtype, the bits of infinity, or of the largest number if there is none, and of the NaN that stands for all."""

MAX_MARKS = 64


def with_one_nan(bits: Bits, dtype: str) -> Bits:
    """The elements in a row, every NaN as one. Those of a floating-point dtype are given as unsigned integers."""
    bits = np.ascontiguousarray(bits).reshape(-1)
    if dtype not in _NANS:
        return bits
    infinity, nan = (bits.dtype.type(value) for value in _NANS[dtype])
    without_sign = bits & bits.dtype.type(np.iinfo(bits.dtype).max >> 1)
    return np.where(without_sign > infinity, nan, bits)


def _bytes(results: Sequence[Bits]) -> list[bytes]:
    return [bits.astype(bits.dtype.newbyteorder("<"), copy=False).tobytes() for bits in results]


def digest(results: Sequence[Bits]) -> str:
    """The SHA-256 of the elements of all results, from `with_one_nan`."""
    return hashlib.sha256(b"".join(_bytes(results))).hexdigest()


def block_size(num_elements: int) -> int:
    """How many elements a mark is of."""
    return max(-(-num_elements // MAX_MARKS), 1)


def marks(results: Sequence[Bits]) -> str:
    """Four hexadecimal digits for each block of elements."""
    count = sum(bits.size for bits in results)
    if count == 0:
        return "-"
    block, text, crc, held = block_size(count), "", 0, 0
    for bits, data in zip(results, _bytes(results), strict=True):
        first = 0
        while first < bits.size:
            last = min(first + block - held, bits.size)
            crc = binascii.crc_hqx(data[first * bits.itemsize : last * bits.itemsize], crc)
            held, first = held + last - first, last
            if held == block:
                text, crc, held = f"{text}{crc:04x}", 0, 0
    return f"{text}{crc:04x}" if held else text


def first_difference(results: Sequence[Bits], expected: str) -> str:
    """Where results differ first from those with other marks."""
    count, found = sum(bits.size for bits in results), marks(results)
    if len(found) != len(expected):
        return f"there are {count} elements, and other marks: {len(found) // 4} for {len(expected) // 4}"
    block = block_size(count)
    for i in range(0, len(found), 4):
        if found[i : i + 4] != expected[i : i + 4]:
            first = i // 4 * block
            return f"the first difference is among elements {first} to {min(first + block, count) - 1} of {count}"
    return "the marks are equal, though the digests are not"
