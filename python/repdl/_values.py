# SPDX-License-Identifier: MIT
"""What a tensor or another value holds, told to a hash: elements in the order of their indices, dtype and shape.

Strides do not show. Bits are hashed as they are: +0 and -0 differ, and so do two NaN of different bits. Which hash it
is says who asks: `_content` for records of runs, `receipts.digests` for receipts.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import torch

from repdl import _core


class Hash(Protocol):
    """As those of hashlib and xxhash."""

    def update(self, data: Any, /) -> None: ...

    def digest(self) -> bytes: ...


NewHash = Callable[..., Hash]
"""Begins one, with the first data if there are any."""

_PIECE, _LARGEST_ROW, _LINE = 1 << 20, 1 << 24, 64
"""Bytes that are laid out anew at once, few enough for the cache where rows are shorter; bytes of a row of which only
one is laid out at once; and those of a line of the cache."""

_MOST_DIMENSIONS = 7
"""That are laid out at once."""

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
        return _raw_hash(local(tensor), new)
    except (RuntimeError, NotImplementedError, TypeError):  # no storage: fake, symbolic, or wrapped in a subclass
        return None


def is_distributed(tensor: torch.Tensor) -> bool:
    """Whether it is a DTensor, which has no memory itself."""
    return hasattr(type(tensor), "to_local")


def local(tensor: torch.Tensor) -> torch.Tensor:
    """What this process holds of a DTensor; another tensor as it is."""
    if not is_distributed(tensor):
        return tensor
    with torch.no_grad():
        return tensor.to_local()  # type: ignore[attr-defined, no-any-return]


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
    address = _address(tensor)
    if not address:
        return None
    hasher = new()
    for piece in _pieces(address, tensor.shape, tensor.stride(), tensor.itemsize):
        hasher.update(piece)
    return hasher.digest()


def _address(tensor: torch.Tensor) -> int:
    """0 if it has no data, as a tensor that wraps others, whose own address is then its offset alone."""
    return _data_ptr(tensor) if tensor.untyped_storage().data_ptr() else 0


class _Buffer(threading.local):
    """Memory that the pieces are laid out in, kept: what is new costs as much to map as to fill."""

    def __init__(self) -> None:
        self.grow(0)

    def grow(self, size: int) -> None:
        self.size = size
        self.data = bytearray(max(size, 1))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.data))


_buffer = _Buffer()


def _pieces(address: int, shape: Sequence[int], strides: Sequence[int], item: int) -> Iterator[Any]:
    """What lies with strides in memory, in the order of the indices. strides: in elements, each of `item` bytes.

    A piece holds until the next one is asked for.
    """
    row = prod(shape[1:]) * item
    if len(shape) > _MOST_DIMENSIONS or (row > _PIECE and strides[0] != 1 and len(shape) > 1):
        for i in range(shape[0]):
            yield from _pieces(address + i * strides[0] * item, shape[1:], strides[1:], item)
        return
    # Of a matrix that is transposed the rows lie beside each other, so a few are read with each line of the cache.
    count = max(_PIECE // row, _LINE // item if row < _LARGEST_ROW else 1, 1)
    for first in range(0, shape[0], count):
        rows = min(count, shape[0] - first)
        if rows * row > _buffer.size:
            _buffer.grow(rows * row)
        to = _buffer.address
        _core.copy_strided(address + first * strides[0] * item, (rows, *shape[1:]), strides, item, to)
        yield _bytes(rows * row).from_address(to)
    if _buffer.size > _LARGEST_ROW:
        _buffer.grow(0)


def _of_memory(tensor: torch.Tensor, new: NewHash) -> bytes | None:
    size = tensor.nbytes
    if size == 0:
        return new(b"").digest()
    address = _address(tensor)
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
