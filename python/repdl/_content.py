# SPDX-License-Identifier: MIT
"""Hashes of what tensors and other values hold, as records of runs have them: 128 bits of XXH3."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch

from repdl import _values
from repdl._needs import library
from repdl._values import kind as kind, leaves as leaves

UNHASHED = bytes(16)
"""In the place of a hash: a view that no op has read yet, or a tensor without data."""

UNINITIALISED = bytes(15) + b"\1"
"""In the place of a hash: memory that nothing has written yet."""

digest: Callable[[bytes | memoryview[int]], bytes] = library("xxhash").xxh3_128_digest


@cache
def _salt(what: str) -> bytes:
    return digest(what.encode())


def with_kind(raw: bytes, what: str) -> bytes:
    """The hash of bytes, together with what they are."""
    return digest(raw + _salt(what))


def of(tensor: torch.Tensor) -> bytes:
    raw = raw_hash(tensor)
    return UNHASHED if raw is None else with_kind(raw, kind(tensor))


raw_hash: Callable[[torch.Tensor], bytes | None] = partial(_values.raw_hash, new=library("xxhash").xxh3_128)
"""Of the bytes of the elements in the order of their indices; None if there are none to read."""


def of_object(value: Any) -> tuple[str, bytes]:
    """What a value that is no tensor is, and its hash; of an object that is unknown, its type alone."""
    what, data = _values.of_object(value)
    return what, UNHASHED if data is None else with_kind(digest(data), what)
