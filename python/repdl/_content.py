# SPDX-License-Identifier: MIT
"""Hashes of what a tensor holds: its elements in the order of their indices, its dtype and its shape.

Strides do not show. Bits are hashed as they are: +0 and -0 differ, and so do two NaN of different bits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch

from repdl._needs import library

UNHASHED = bytes(16)
"""In the place of a hash: a view that no op has read yet, or a tensor without data."""

UNINITIALISED = bytes(15) + b"\1"
"""In the place of a hash: memory that nothing has written yet."""

_PIECE, _TRANSPOSED_PIECE = 1 << 28, 1 << 20
"""Bytes of a tensor that are laid out anew at once, at most, where it has several rows. Those of a matrix that is
transposed are few enough for the cache."""

_xxh3 = library("xxhash").xxh3_128_digest
_memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
_memory_view.restype = ctypes.py_object
_memory_view.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
_READ = 0x100
_data_ptr = torch._C.TensorBase.data_ptr
_numpy = torch._C.TensorBase.numpy


def digest(data: bytes | memoryview[int]) -> bytes:
    return _xxh3(data)  # type: ignore[no-any-return]


def kind(tensor: torch.Tensor) -> str:
    """As "float32[8, 16]"."""
    if tensor.is_nested:
        return f"nested {tensor.dtype}"
    try:
        return _kind(tensor.dtype, tensor.shape)
    except TypeError:  # sizes that are symbols, while torch traces
        return f"symbolic {tensor.dtype}"


@cache
def _kind(dtype: torch.dtype, shape: torch.Size) -> str:
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


@cache
def _salt(what: str) -> bytes:
    return digest(what.encode())


def with_kind(raw: bytes, what: str) -> bytes:
    """The hash of bytes, together with what they are."""
    return digest(raw + _salt(what))


def of(tensor: torch.Tensor) -> bytes:
    raw = raw_hash(tensor)
    return UNHASHED if raw is None else with_kind(raw, kind(tensor))


def raw_hash(tensor: torch.Tensor) -> bytes | None:
    """Of the bytes of the elements in the order of their indices; None if there are none to read."""
    try:
        return _raw_hash(tensor)
    except (RuntimeError, NotImplementedError, TypeError):  # no storage: fake, symbolic, or wrapped in a subclass
        return None


def _raw_hash(tensor: torch.Tensor) -> bytes | None:
    if tensor.is_meta:
        return None
    if tensor.is_nested:
        return _of_parts(list(tensor.unbind()))
    if tensor.layout is not torch.strided:
        return _of_parts(_parts(tensor))
    if tensor.is_quantized:
        return _of_parts([tensor.int_repr()])
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    if tensor.is_neg() or (tensor.is_complex() and tensor.is_conj()):
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.is_contiguous():
        return _of_memory(tensor)
    is_transposed = tensor.dim() == 2 and tensor.stride(0) == 1
    most = _TRANSPOSED_PIECE if is_transposed else _PIECE
    if tensor.nbytes <= most:
        return _of_memory(tensor.contiguous())
    hasher = library("xxhash").xxh3_128()
    rows = max(1, most * len(tensor) // tensor.nbytes)
    for piece in tensor.split(rows):
        if is_transposed:  # torch is fast to transpose all of a matrix, not a part of one
            piece = piece.t().contiguous().t()
        piece = piece.contiguous()
        hasher.update(_memory_view(_data_ptr(piece), piece.nbytes, _READ))
    return hasher.digest()  # type: ignore[no-any-return]


def _of_memory(tensor: torch.Tensor) -> bytes | None:
    size = tensor.nbytes
    if size == 0:
        return digest(b"")
    address = _data_ptr(tensor)
    return digest(_memory_view(address, size, _READ)) if address else None


def _of_parts(parts: list[torch.Tensor]) -> bytes | None:
    hashes = [_raw_hash(part) for part in parts]
    return digest(b"".join(h for h in hashes if h is not None)) if None not in hashes else None


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.to_dense()]


def of_object(value: Any) -> tuple[str, bytes]:
    """What a value that is no tensor is, and its hash; of an object that is unknown, its type alone."""
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not getattr(value.dtype, "hasobject", True):
        what = f"numpy {value.dtype}{list(value.shape)}"
        return what, with_kind(digest(value.tobytes()), what)
    what = type(value).__name__
    if isinstance(value, str | bytes | int | float | complex | None):
        return what, with_kind(digest(repr(value).encode(errors="surrogatepass")), what)
    return what, UNHASHED


def leaves(value: Any, depth: int = 8) -> list[Any]:
    """The values in nested lists, tuples and mappings."""
    if depth and isinstance(value, Mapping):
        return [leaf for item in value.values() for leaf in leaves(item, depth - 1)]
    if depth and isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item, depth - 1)]
    return [value]
