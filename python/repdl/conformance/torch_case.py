# SPDX-License-Identifier: MIT
"""A call of torch, written down: the unit of the golden files of torch's ops.

    aten::maximum(self=normal[7, 400]#1, other=zeros[7, 400]#2)
    aten::index_add(self=normal.bfloat16[3, 4]#1, dim=0, index=classes3[9]#2, source=bits.bfloat16[9, 4]#3, alpha=0.3)

The name is that of an overload; arguments go by the names of its schema, and those that are left out take their
defaults. Three more are none of torch's: `order`, that of sums; `seed`, which `torch.manual_seed` gets before; and
`read`, how results are read for a digest that the core's reference gave of the same numbers in another form (below).

A tensor is a generator, a dtype (float32 if none is said), a shape and a seed. The generators are those of the core
(`include/repdl/conformance.h`) and these, whose element is chosen by the core's `classesN` of the same seed:

    zeros      +0 and -0, a quarter of them 1 or -1; of integers likewise
    ties       halves from -4 to 4, with both zeros; of integers, -8 to 8
    extreme    of integers: the least and the largest numbers of the dtype, and those about 0
    rising     0, 0, 1/2, 1/2, 1, …, of integers 0, 0, 1, 1, …: in order, with repetitions
    falling    …, 2, 2, 1, 1, of integers: sizes that fall
    signed     +0 and -0, which the core calls zeros
    finite     of float8: numbers of all magnitudes but the largest, of both signs, subnormal ones and zeros among them

The core's `classesN` has the integers from 0 to N - 1, also as floating-point numbers. A tensor of complex numbers has
the real ones of its generator by turns as real and imaginary parts: normal.complex64[3]#1 those of normal[3, 2]#1.

`normal[3, 4]#1.mT` has the elements of normal[3, 4]#1 transposed, and the shape [4, 3]: where the core has the right
sides and results of linear algebra in rows, torch has columns. The words of `read` are, one result after the other,

    as is      all its elements
    columns    its matrices transposed
    int64      its elements, in that dtype
    left out   nothing of it

and two stand for what the core returns there and torch does not:

    info       a 0 of int64 for each matrix of the first operand
    order      for each of these matrices the numbers 0, 1, … of its columns, of int64

and one takes the pivots of linalg_ldl_factor_ex, in which LAPACK has -p twice for a block of two:

    blocks     n + p and 0 for these, of matrices with n columns; of int64

A sparse tensor is `coo(values=normal[33]#1, indices=[classes7[33]#2, classes9[33]#3], size=[7, 9])`, with elements that
lie anywhere, several at one place; or `csr(…)`, with the first element of each place, row by row. A quantised one is
`quantized(steps=extreme.uint8[3, 4]#1, scale=0.3, zero_point=7)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from repdl import _core

Bits = np.ndarray[Any, Any]

FLOATS: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("u4"),
    "bfloat16": np.dtype("u2"),
    "float16": np.dtype("u2"),
    "float64": np.dtype("u8"),
    "float8_e4m3fn": np.dtype("u1"),
    "float8_e5m2": np.dtype("u1"),
}
"""Floating-point dtypes, and what holds their bits."""

PARTS = {"complex64": "float32", "complex128": "float64"}
"""Dtypes of complex numbers, and that of their parts."""

INTEGERS: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("int64", "int32", "int16", "int8", "uint8", "bool")
}

DTYPES = FLOATS | INTEGERS

_ONLY_NAMED = ("qint8", "quint8", "qint32")
"""Dtypes that a result may have, but no tensor of a case."""

_ZEROS = (0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1.0, -1.0)
_TIES = (*(i / 2 for i in range(-8, 9)), -0.0)


@lru_cache
def float8_values(dtype: str) -> tuple[float, ...]:
    """The number of each of the 256 bit patterns."""
    if dtype == "float8_e5m2":  # the first byte of a float16
        values: list[float] = (np.arange(256).astype(np.uint16) << 8).view(np.float16).tolist()
        return tuple(values)
    magnitudes = [(m if e == 0 else 8 + m) * 2.0 ** (max(e, 1) - 10) for e in range(16) for m in range(8)]
    magnitudes[-1] = float("nan")
    return (*magnitudes, *(-x for x in magnitudes))


def _narrow(values: Bits, dtype: str) -> Bits:
    """The bits of float32 numbers that a floating-point dtype has exactly."""
    if dtype.startswith("float8"):
        steps = {str(x): step for step, x in enumerate(float8_values(dtype))}
        return np.array([steps[str(x)] for x in values.tolist()], np.uint8)
    if dtype == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.dtype(dtype)).view(FLOATS[dtype])


def _choice(table: tuple[float, ...], dtype: str, count: int, seed: int) -> Bits:
    chosen = np.array(table, np.float32)[_classes(len(table), count, seed)]
    return _narrow(chosen, dtype) if dtype in FLOATS else chosen.astype(DTYPES[dtype])


def _zeros(dtype: str, count: int, seed: int) -> Bits:
    return _choice(_ZEROS, dtype, count, seed)


def _ties(dtype: str, count: int, seed: int) -> Bits:
    if dtype in FLOATS:
        return _choice(_TIES, dtype, count, seed)
    return (_classes(17, count, seed) - 8).astype(DTYPES[dtype])


def _extreme(dtype: str, count: int, seed: int) -> Bits:
    limits = np.iinfo(DTYPES[dtype])
    table = [limits.min, limits.min + 1, 0, 1, 2, 3, 7, limits.max - 1, limits.max]
    if limits.min < 0:
        table += [-1, -2, -3, -7]
    return np.array(table, DTYPES[dtype])[_classes(len(table), count, seed)]


def _rising(dtype: str, count: int, seed: int) -> Bits:
    place = np.arange(count) // 2
    return _narrow((place * 0.5).astype(np.float32), dtype) if dtype in FLOATS else place.astype(DTYPES[dtype])


def _falling(dtype: str, count: int, seed: int) -> Bits:
    return (_rising("int64", count, seed)[::-1] + 1).astype(DTYPES[dtype])


def _signed(dtype: str, count: int, seed: int) -> Bits:
    return _of_core("zeros", dtype, (count,), seed)


def _finite(dtype: str, count: int, seed: int) -> Bits:
    if not dtype.startswith("float8"):
        raise ValueError(f"finite is a generator of float8, not of {dtype}")
    chosen = _classes(224, count, seed)
    return np.where(chosen < 112, chosen, chosen + 16).astype(np.uint8)


def _classes(n: int, count: int, seed: int) -> Bits:
    return _of_core(f"classes{n}", "int64", (count,), seed)


def _of_core(generator: str, dtype: str, shape: tuple[int, ...], seed: int) -> Bits:
    """By the reader of the core's cases: some op that takes a tensor."""
    if generator == "bits" and dtype.startswith("float8"):  # which it does not know
        return _classes(256, int(np.prod(shape, dtype=np.int64)), seed).astype(np.uint8)
    is_whole = generator.startswith(("classes", "offsets"))
    of_dtype = f".{dtype}" if dtype in FLOATS and dtype != "float32" and not is_whole else ""
    _, arguments = _core.read_case(f"relu(input={generator}{of_dtype}[{', '.join(map(str, shape))}]#{seed})")
    elements: Bits = arguments["input"].reshape(-1)
    if elements.dtype != np.int64:
        return elements.view(DTYPES[dtype])
    return _narrow(elements.astype(np.float32), dtype) if dtype in FLOATS else elements.astype(DTYPES[dtype])


_OWN: dict[str, Callable[[str, int, int], Bits]] = {
    "zeros": _zeros,
    "ties": _ties,
    "extreme": _extreme,
    "rising": _rising,
    "falling": _falling,
    "signed": _signed,
    "finite": _finite,
}


@lru_cache(256)
def _generate(generator: str, dtype: str, shape: tuple[int, ...], seed: int) -> Bits:
    if generator in _OWN:
        return _OWN[generator](dtype, int(np.prod(shape, dtype=np.int64)), seed)
    return _of_core(generator, dtype, shape, seed)


@dataclass(frozen=True)
class TensorText:
    """A tensor of a case."""

    text: str
    generator: str
    dtype: str
    shape: tuple[int, ...]
    seed: int
    is_turned: bool = False

    def bits(self) -> Bits:
        """Its elements, in row-major order; of a floating-point dtype their bits, as unsigned integers.

        Of complex numbers they are the parts.
        """
        shape = (*self.shape[:-2], self.shape[-1], self.shape[-2]) if self.is_turned else self.shape
        parts = (2,) if self.dtype in PARTS else ()
        bits = _generate(self.generator, PARTS.get(self.dtype, self.dtype), (*shape, *parts), self.seed)
        if not self.is_turned:
            return bits
        last = len(shape)
        turned = bits.reshape(*shape, *parts).swapaxes(last - 1, last - 2)
        return np.ascontiguousarray(turned).reshape(-1)


@dataclass(frozen=True)
class SparseText:
    """A sparse tensor of a case, "coo" or "csr"."""

    text: str
    layout: str
    values: TensorText
    indices: tuple[TensorText, ...]
    size: tuple[int, ...]

    def places(self) -> Bits:
        """The indices of its elements, a row for each sparse dimension."""
        return np.stack([index.bits() for index in self.indices])

    def rows(self) -> tuple[Bits, Bits, Bits]:
        """Of a csr matrix: where each row begins, the columns, and which of the values these are."""
        firsts: dict[tuple[int, ...], int] = {}
        for number, place in enumerate(zip(*self.places().tolist(), strict=True)):
            firsts.setdefault(place, number)
        places = sorted(firsts)
        begins = np.searchsorted([row for row, _ in places], np.arange(self.size[0] + 1))
        columns = np.array([column for _, column in places], np.int64)
        return begins.astype(np.int64), columns, np.array([firsts[place] for place in places], np.int64)


@dataclass(frozen=True)
class QuantizedText:
    """A quantised tensor of a case: the numbers (step - zero_point) * scale."""

    steps: TensorText
    scale: float
    zero_point: int


@dataclass(frozen=True)
class DtypeName:
    """A dtype as an argument: `dtype=float32`."""

    name: str


@dataclass(frozen=True)
class TorchCase:
    """A call of an overload, "add.Tensor", as a case says it."""

    text: str
    overload: str
    arguments: dict[str, Any]
    """Tensors are TensorText, SparseText or QuantizedText, and all else as Python has it."""

    @property
    def packet(self) -> str:
        return self.overload.partition(".")[0]


_TENSOR = re.compile(r"([a-z]\w*)(?:\.(\w+))?\[([\d, ]*)\]#(\d+)(\.mT)?")
_CALL = re.compile(r"aten::(\w+(?:\.\w+)?)(\(.*\))")


def read_torch_case(text: str) -> TorchCase:
    """Parses a case; raises ValueError, quoting it, for what is none."""
    match = _CALL.fullmatch(text)
    if match is None:
        raise ValueError(f"case `{text}`: not `aten::name(argument=…)`")
    tensors: list[TensorText] = []

    def replace(found: re.Match[str]) -> str:
        generator, dtype, shape, seed, turned = found.groups()
        dtype = dtype or ("int64" if generator.startswith(("classes", "offsets")) else "float32")
        if dtype not in DTYPES and dtype not in PARTS:
            raise ValueError(f"case `{text}`: there is no dtype '{dtype}'")
        sizes = tuple(int(size) for size in shape.split(",") if size.strip())
        if turned:
            sizes = (*sizes[:-2], sizes[-1], sizes[-2])
        tensors.append(TensorText(found[0], generator, dtype, sizes, int(seed), bool(turned)))
        return f"tensors[{len(tensors) - 1}]"

    def sparse(layout: str, values: TensorText, indices: list[TensorText], size: list[int]) -> SparseText:
        places = ", ".join(index.text for index in indices)
        text_of = f"{layout}(values={values.text}, indices=[{places}], size={size})"
        return SparseText(text_of, layout, values, tuple(indices), tuple(size))

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Subscript(value=ast.Name(id="tensors"), slice=ast.Constant(value=int(place))):
                return tensors[place]
            case ast.Name(id="inf" | "nan" as name):
                return float(name)
            case ast.Name(id=name) if name in DTYPES or name in PARTS or name in _ONLY_NAMED:
                return DtypeName(name)
            case ast.Call(func=ast.Name(id="quantized"), args=[], keywords=keywords):
                return QuantizedText(**{str(keyword.arg): value(keyword.value) for keyword in keywords})
            case ast.Call(func=ast.Name(id="coo" | "csr" as layout), args=[], keywords=keywords):
                return sparse(layout, **{str(keyword.arg): value(keyword.value) for keyword in keywords})
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.List(elts=items):
                return [value(item) for item in items]
            case ast.Tuple(elts=items):
                return tuple(value(item) for item in items)
            case ast.Constant(value=constant):
                return constant
        raise ValueError(f"case `{text}`: not a value: {ast.unparse(node)}")

    try:
        arguments = re.sub(r"\bfrom=", "from_=", _TENSOR.sub(replace, match[2]))  # which is no name in Python
        call = ast.parse("call" + arguments, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"case `{text}`: {error.msg}") from error
    if not isinstance(call, ast.Call) or call.args:
        raise ValueError(f"case `{text}`: every argument needs its name")
    return TorchCase(text, match[1], {str(keyword.arg).rstrip("_"): value(keyword.value) for keyword in call.keywords})
