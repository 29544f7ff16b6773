# SPDX-License-Identifier: MIT
"""Tensors of the reference: shapes, dtypes, and lists of Python numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from repdl.conformance import digests
from repdl.conformance.torch_case import DTYPES, FLOATS, PARTS, Bits, SparseText, TensorText, float8_values

from .numbers import ROUND

Shape = tuple[int, ...]


@dataclass
class Tensor:
    dtype: str
    shape: Shape
    data: list[Any]
    """In row-major order."""

    def __post_init__(self) -> None:
        if len(self.data) != size_of(self.shape):
            raise ValueError(f"{len(self.data)} elements do not fit the shape {self.shape}")

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    def __getitem__(self, index: Sequence[int]) -> Any:
        return self.data[offset(self.shape, index)]

    def __setitem__(self, index: Sequence[int], value: Any) -> None:
        self.data[offset(self.shape, index)] = value

    def indices(self) -> Iterable[Shape]:
        return product(*map(range, self.shape))

    def item(self) -> Any:
        (value,) = self.data
        return value

    def copy(self) -> Tensor:
        return Tensor(self.dtype, self.shape, list(self.data))


def size_of(shape: Shape) -> int:
    return math.prod(shape)


def offset(shape: Shape, index: Sequence[int]) -> int:
    place = 0
    for size, i in zip(shape, index, strict=True):
        place = place * size + i
    return place


@dataclass
class Sparse:
    """A sparse tensor: its values, a number each, and where they lie, in the order of the memory."""

    layout: str
    size: Shape
    places: list[Shape]
    values: Tensor

    def items(self) -> Iterable[tuple[Shape, Any]]:
        return zip(self.places, self.values.data, strict=True)

    def tensors(self) -> list[Tensor]:
        """What a digest reads: of coo the indices and the values, of csr the beginnings of rows, columns and values."""
        count = len(self.places)
        if self.layout == "coo":
            rank = len(self.size)
            indices = [place[d] for d in range(rank) for place in self.places]
            return [Tensor("int64", (rank, count), indices), self.values]
        begins = [sum(place[0] < row for place in self.places) for row in range(self.size[0] + 1)]
        columns = [place[1] for place in self.places]
        return [Tensor("int64", (len(begins),), begins), Tensor("int64", (count,), columns), self.values]


@dataclass
class Quantized:
    """A quantised tensor: the numbers (step - zero_point) * scale."""

    steps: Tensor
    scale: float
    zero_point: int


def decode_sparse(text: SparseText) -> Sparse:
    values = decode(text.values)
    places = list(zip(*text.places().tolist(), strict=True))
    if text.layout == "csr":
        firsts: dict[Shape, Any] = {}
        for place, value in zip(places, values.data, strict=True):
            firsts.setdefault(place, value)
        places = sorted(firsts)
        values = Tensor(values.dtype, (len(places),), [firsts[place] for place in places])
    return Sparse(text.layout, text.size, places, values)


def decode(text: TensorText) -> Tensor:
    bits = text.bits()
    if text.dtype in PARTS:
        form = "f" if text.dtype == "complex64" else "d"
        parts = struct.unpack(f"<{bits.size}{form}", bits.tobytes())
        return Tensor(text.dtype, text.shape, [complex(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)])
    if text.dtype == "float64":
        return Tensor(text.dtype, text.shape, list(struct.unpack(f"<{bits.size}d", bits.tobytes())))
    if text.dtype == "float32":
        data: list[Any] = list(struct.unpack(f"<{bits.size}f", bits.astype("<u4").tobytes()))
    elif text.dtype == "float16":
        data = list(struct.unpack(f"<{bits.size}e", bits.astype("<u2").tobytes()))
    elif text.dtype == "bfloat16":
        data = list(struct.unpack(f"<{bits.size}f", (bits.astype("<u4") << 16).astype("<u4").tobytes()))
    elif text.dtype.startswith("float8"):
        data = [float8_values(text.dtype)[step] for step in bits.tolist()]
    else:
        data = bits.tolist()
    return Tensor(text.dtype, text.shape, data)


def encode(tensor: Tensor) -> Bits:
    """The elements as digests read them. A number that its dtype does not have is an error."""
    count = len(tensor.data)
    if tensor.dtype in PARTS:
        parts = [part for value in tensor.data for part in (value.real, value.imag)]
        return encode(Tensor(PARTS[tensor.dtype], (len(parts),), parts))
    if tensor.dtype == "float64":
        bits = np.frombuffer(struct.pack(f"<{count}d", *tensor.data), "<u8")
    elif tensor.dtype == "float32":
        bits = np.frombuffer(struct.pack(f"<{count}f", *tensor.data), "<u4")
    elif tensor.dtype == "float16":
        bits = np.frombuffer(struct.pack(f"<{count}e", *tensor.data), "<u2")
    elif tensor.dtype == "bfloat16":
        words = np.frombuffer(struct.pack(f"<{count}f", *tensor.data), "<u4")
        bits = (words >> 16).astype("<u2")
    elif tensor.dtype.startswith("float8"):
        steps = {str(abs(x)): step for step, x in enumerate(float8_values(tensor.dtype)[:128])}
        bits = np.array([steps[str(abs(x))] | (math.copysign(1, x) < 0) << 7 for x in tensor.data], np.uint8)
    else:
        bits = np.array(tensor.data, dtype=DTYPES[tensor.dtype])
    result = digests.with_one_nan(bits, tensor.dtype)
    for value in tensor.data if tensor.dtype in ROUND else ():
        if value == value and ROUND[tensor.dtype](value) != value:
            raise ValueError(f"{value!r} is no {tensor.dtype}")
    return result


def wrap(value: int, dtype: str) -> int:
    """An integer as its dtype keeps it: modulo its range; of bool, whether it is not 0."""
    if dtype == "bool":
        return int(value != 0)
    info = np.iinfo(DTYPES[dtype])
    low, span = int(info.min), int(info.max) - int(info.min) + 1
    return (value - low) % span + low


def rounded(value: Any, dtype: str) -> Any:
    """A float32 number in a floating-point dtype, or an integer in one of integers."""
    return ROUND[dtype](value) if dtype in FLOATS else wrap(value, dtype)


_INTEGER_ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64")


def promoted(*operands: Any) -> str:
    """The dtype of a result of these operands, by torch's rule: numbers count only by their kind."""
    tensors = [o for o in operands if isinstance(o, Tensor)]
    full = [t.dtype for t in tensors if t.shape] or [t.dtype for t in tensors]
    single = [t.dtype for t in tensors if not t.shape]
    floats = {d for d in full if d in FLOATS}
    if floats:
        return floats.pop() if len(floats) == 1 else "float32"
    if any(d in FLOATS for d in single):
        return next(d for d in single if d in FLOATS)
    if any(isinstance(o, float) for o in operands):
        return "float32"
    names = set(full)
    if names == {"bool"} and any(isinstance(o, int) and not isinstance(o, bool) for o in operands):
        return "int64"
    if len(names) > 1 and "uint8" in names and "int8" in names:
        return "int16"
    return max(names, key=_INTEGER_ORDER.index)


def broadcast_shape(*shapes: Shape) -> Shape:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    return tuple(next((s for s in sizes if s != 1), 1) for sizes in zip(*padded, strict=True))


def expand(tensor: Tensor, shape: Shape) -> list[Any]:
    """The elements of a tensor that is broadcast."""
    if tensor.shape == shape:
        return tensor.data
    if len(tensor.data) == 1:
        return tensor.data * size_of(shape)
    own = (1,) * (len(shape) - len(tensor.shape)) + tensor.shape
    return [
        tensor.data[offset(own, [0 if n == 1 else i for i, n in zip(index, own, strict=True)])]
        for index in product(*map(range, shape))
    ]


def each(function: Callable[..., Any], *operands: Any, dtype: str | None = None, common: str | None = None) -> Tensor:
    """Applies a function of numbers element by element; operands are tensors, broadcast, and numbers.

    The result is rounded to `dtype`, or what the operands promote to. Numbers are rounded to float32 beside
    floating-point tensors.
    """
    common = common or promoted(*operands)
    shape = broadcast_shape(*(o.shape for o in operands if isinstance(o, Tensor)))
    columns = []
    for operand in operands:
        if isinstance(operand, Tensor):
            columns.append(expand(operand, shape))
        elif common in FLOATS and operand is not None:
            columns.append([ROUND["float32"](float(operand))] * size_of(shape))
        else:
            columns.append([operand] * size_of(shape))
    result = dtype or common
    return Tensor(result, shape, [rounded(function(*values), result) for values in zip(*columns, strict=True)])


def lines(tensor: Tensor, dim: int) -> list[list[Any]]:
    """The elements along a dimension, for each place of the others in row-major order."""
    if not tensor.shape:
        return [list(tensor.data)]
    dim %= len(tensor.shape)
    length, inner = tensor.shape[dim], size_of(tensor.shape[dim + 1 :])
    outer = size_of(tensor.shape[:dim])
    return [
        [tensor.data[(o * length + k) * inner + i] for k in range(length)] for o in range(outer) for i in range(inner)
    ]


def from_lines(found: Sequence[Sequence[Any]], shape: Shape, dim: int, dtype: str) -> Tensor:
    """The tensor whose elements along a dimension are these; `shape` has the size of the lines there."""
    if not shape:
        return Tensor(dtype, (), list(found[0]))
    dim %= len(shape)
    length, inner = shape[dim], size_of(shape[dim + 1 :])
    outer = size_of(shape[:dim])
    data = [found[o * inner + i][k] for o in range(outer) for k in range(length) for i in range(inner)]
    return Tensor(dtype, shape, data)


def reduced_shape(shape: Shape, dims: Iterable[int], keepdim: bool) -> Shape:
    gone = {d % len(shape) for d in dims} if shape else set()
    return tuple(1 if d in gone else n for d, n in enumerate(shape) if keepdim or d not in gone)


def groups(tensor: Tensor, dims: Iterable[int] | None) -> list[list[Any]]:
    """The elements that a reduction over some dimensions meets, in row-major order, for each of its results.

    No dimensions are all of them.
    """
    rank = len(tensor.shape)
    over = sorted({d % rank for d in dims}) if dims is not None and rank else list(range(rank))
    over = over or list(range(rank))
    kept = [d for d in range(rank) if d not in over]
    return [
        [
            tensor[tuple(dict(zip(kept + over, outer + inner, strict=True))[d] for d in range(rank))]
            for inner in product(*(range(tensor.shape[d]) for d in over))
        ]
        for outer in product(*(range(tensor.shape[d]) for d in kept))
    ]
