# SPDX-License-Identifier: MIT
"""What a tensor or another value holds, told to a hash: elements in the order of their indices, dtype and shape.

Strides do not show. Bits are hashed as they are: +0 and -0 differ, and so do two NaN of different bits. Which hash it
is says who asks: `_content` for records of runs, `receipts.digests` for receipts.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

import torch


class Hash(Protocol):
    """As those of hashlib and xxhash."""

    def update(self, data: Any, /) -> None: ...

    def digest(self) -> bytes: ...


NewHash = Callable[..., Hash]
"""Begins one, with the first data if there are any."""

_PIECE, _TRANSPOSED_PIECE = 1 << 28, 1 << 20
"""Bytes of a tensor that are laid out anew at once, at most, where it has several rows; a piece takes longer. Those of
a matrix that is transposed are few enough for the cache."""

_data_ptr = torch._C.TensorBase.data_ptr
_bytes = lru_cache(1 << 12)(ctypes.c_char.__mul__)
"""The type of so many bytes of memory: it is several times faster to read them by than a memoryview is to make."""

_SEQUENCES = (list, tuple)

_kinds: dict[tuple[torch.dtype, torch.Size], str] = {}
_MOST_KINDS = 100_000


def kind(tensor: torch.Tensor) -> str:
    """As "float32[8, 16]"."""
    if tensor.is_nested:
        return f"nested {tensor.dtype}"
    key = (tensor.dtype, tensor.shape)
    try:
        found = _kinds.get(key)
    except TypeError:  # sizes that are symbols, while torch traces
        return f"symbolic {tensor.dtype}"
    if found is None:
        if len(_kinds) == _MOST_KINDS:
            _kinds.clear()
        found = _kinds[key] = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
    return found


def raw_hash(tensor: torch.Tensor, new: NewHash) -> bytes | None:
    """Of the bytes of the elements in the order of their indices; None if there are none to read."""
    try:
        return _raw_hash(tensor, new)
    except (RuntimeError, NotImplementedError, TypeError):  # no storage: fake, symbolic, or wrapped in a subclass
        return None


def _raw_hash(tensor: torch.Tensor, new: NewHash) -> bytes | None:
    if tensor.is_meta:
        return None
    if tensor.is_nested:
        return _of_parts(list(tensor.unbind()), new)
    if tensor.layout is not torch.strided:
        return _of_parts(_parts(tensor), new)
    if tensor.is_quantized:
        return _of_parts([tensor.int_repr()], new)
    if not tensor.is_cpu:
        tensor = tensor.cpu()
    if tensor.is_neg() or (tensor.is_complex() and tensor.is_conj()):
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.is_contiguous():
        return _of_memory(tensor, new)
    is_transposed = tensor.dim() == 2 and tensor.stride(0) == 1
    most = _TRANSPOSED_PIECE if is_transposed else _PIECE
    if tensor.nbytes <= most:
        return _of_memory(tensor.contiguous(), new)
    hasher = new()
    rows = max(1, most * len(tensor) // tensor.nbytes)
    for piece in tensor.split(rows):
        if is_transposed:  # torch is fast to transpose all of a matrix, not a part of one
            piece = piece.t().contiguous().t()
        piece = piece.contiguous()
        hasher.update(_bytes(piece.nbytes).from_address(_data_ptr(piece)))
    return hasher.digest()


def _of_memory(tensor: torch.Tensor, new: NewHash) -> bytes | None:
    size = tensor.nbytes
    if size == 0:
        return new(b"").digest()
    address = _data_ptr(tensor)
    return new(_bytes(size).from_address(address)).digest() if address else None


def _of_parts(parts: list[torch.Tensor], new: NewHash) -> bytes | None:
    hashes = [_raw_hash(part, new) for part in parts]
    return new(b"".join(h for h in hashes if h is not None)).digest() if None not in hashes else None


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.to_dense()]


def of_object(value: Any) -> tuple[str, bytes | None]:
    """What a value that is no tensor is, and its bytes; None of an object that is unknown."""
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and not getattr(value.dtype, "hasobject", True):
        return f"numpy {value.dtype}{list(value.shape)}", value.tobytes()
    what = type(value).__name__
    if isinstance(value, str | bytes | int | float | complex | None):
        return what, repr(value).encode(errors="surrogatepass")
    return what, None


def leaves(value: Any, depth: int = 8) -> list[Any]:
    """The values in nested lists, tuples and mappings."""
    if depth and isinstance(value, _SEQUENCES):
        return [leaf for item in value for leaf in leaves(item, depth - 1)]
    if depth and not isinstance(value, torch.Tensor) and isinstance(value, Mapping):
        return [leaf for item in value.values() for leaf in leaves(item, depth - 1)]
    return [value]
