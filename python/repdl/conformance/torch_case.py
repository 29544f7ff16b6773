# SPDX-License-Identifier: MIT
"""A call of torch, written down: the unit of the golden files of torch's ops.

    aten::maximum(self=normal[7, 400]#1, other=zeros[7, 400]#2)
    aten::index_add(self=normal.bfloat16[3, 4]#1, dim=0, index=classes3[9]#2, source=bits.bfloat16[9, 4]#3, alpha=0.3)

The name is that of an overload; arguments go by the names of its schema, and those that are left out take their
defaults. Two more are none of torch's: `order`, that of sums, and `seed`, which `torch.manual_seed` gets before.

A tensor is a generator, a dtype (float32 if none is said), a shape and a seed. The generators are those of the core
(`include/repdl/conformance.h`) and these, whose element is chosen by the core's `classesN` of the same seed:

    zeros      +0 and -0, a quarter of them 1 or -1; of integers likewise
    ties       halves from -4 to 4, with both zeros; of integers, -8 to 8
    extreme    of integers: the least and the largest numbers of the dtype, and those about 0
    rising     0, 0, 1/2, 1/2, 1, …, of integers 0, 0, 1, 1, …: in order, with repetitions

The core's `classesN` has the integers from 0 to N - 1, also as floating-point numbers.
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

FLOATS: dict[str, np.dtype[Any]] = {"float32": np.dtype("u4"), "bfloat16": np.dtype("u2"), "float16": np.dtype("u2")}
"""Floating-point dtypes, and what holds their bits."""

INTEGERS: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("int64", "int32", "int16", "int8", "uint8", "bool")
}

DTYPES = FLOATS | INTEGERS

_ONLY_NAMED = ("float64", "qint8", "quint8", "qint32")
"""Dtypes that a result may have, but no tensor of a case."""

_ZEROS = (0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1.0, -1.0)
_TIES = (*(i / 2 for i in range(-8, 9)), -0.0)


def _narrow(values: Bits, dtype: str) -> Bits:
    """The bits of float32 numbers that a floating-point dtype has exactly."""
    if dtype == "bfloat16":
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16).view(np.uint16) if dtype == "float16" else values.view(np.uint32)


def _choice(table: tuple[float, ...], dtype: str, count: int, seed: int) -> Bits:
    chosen = np.array(table, np.float32)[_of_core(f"classes{len(table)}", "int64", count, seed)]
    return _narrow(chosen, dtype) if dtype in FLOATS else chosen.astype(DTYPES[dtype])


def _zeros(dtype: str, count: int, seed: int) -> Bits:
    return _choice(_ZEROS, dtype, count, seed)


def _ties(dtype: str, count: int, seed: int) -> Bits:
    if dtype in FLOATS:
        return _choice(_TIES, dtype, count, seed)
    return (_of_core("classes17", "int64", count, seed) - 8).astype(DTYPES[dtype])


def _extreme(dtype: str, count: int, seed: int) -> Bits:
    limits = np.iinfo(DTYPES[dtype])
    table = [limits.min, limits.min + 1, 0, 1, 2, 3, 7, limits.max - 1, limits.max]
    if limits.min < 0:
        table += [-1, -2, -3, -7]
    return np.array(table, DTYPES[dtype])[_of_core(f"classes{len(table)}", "int64", count, seed)]


def _rising(dtype: str, count: int, seed: int) -> Bits:
    place = np.arange(count) // 2
    return _narrow((place * 0.5).astype(np.float32), dtype) if dtype in FLOATS else place.astype(DTYPES[dtype])


def _of_core(generator: str, dtype: str, count: int, seed: int) -> Bits:
    """By the reader of the core's cases: some op that takes a tensor."""
    of_dtype = f".{dtype}" if dtype in ("bfloat16", "float16") else ""
    _, arguments = _core.read_case(f"relu(input={generator}{of_dtype}[{count}]#{seed})")
    elements: Bits = arguments["input"]
    if elements.dtype != np.int64:
        return elements.view(DTYPES[dtype])
    return _narrow(elements.astype(np.float32), dtype) if dtype in FLOATS else elements.astype(DTYPES[dtype])


_OWN: dict[str, Callable[[str, int, int], Bits]] = {
    "zeros": _zeros,
    "ties": _ties,
    "extreme": _extreme,
    "rising": _rising,
}


@lru_cache(256)
def _generate(generator: str, dtype: str, count: int, seed: int) -> Bits:
    if generator in _OWN:
        return _OWN[generator](dtype, count, seed)
    return _of_core(generator, dtype, count, seed)


@dataclass(frozen=True)
class TensorText:
    """A tensor of a case."""

    text: str
    generator: str
    dtype: str
    shape: tuple[int, ...]
    seed: int

    def bits(self) -> Bits:
        """Its elements, in row-major order; of a floating-point dtype their bits, as unsigned integers."""
        return _generate(self.generator, self.dtype, int(np.prod(self.shape, dtype=np.int64)), self.seed)


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
    """Tensors are TensorText, and all else as Python has it."""

    @property
    def packet(self) -> str:
        return self.overload.partition(".")[0]


_TENSOR = re.compile(r"([a-z]\w*)(?:\.(\w+))?\[([\d, ]*)\]#(\d+)")
_CALL = re.compile(r"aten::(\w+(?:\.\w+)?)(\(.*\))")


def read_torch_case(text: str) -> TorchCase:
    """Parses a case; raises ValueError, quoting it, for what is none."""
    match = _CALL.fullmatch(text)
    if match is None:
        raise ValueError(f"case `{text}`: not `aten::name(argument=…)`")
    tensors: list[TensorText] = []

    def replace(found: re.Match[str]) -> str:
        generator, dtype, shape, seed = found.groups()
        dtype = dtype or ("int64" if generator.startswith(("classes", "offsets")) else "float32")
        if dtype not in DTYPES:
            raise ValueError(f"case `{text}`: there is no dtype '{dtype}'")
        sizes = tuple(int(size) for size in shape.split(",") if size.strip())
        tensors.append(TensorText(found[0], generator, dtype, sizes, int(seed)))
        return f"tensors[{len(tensors) - 1}]"

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Subscript(value=ast.Name(id="tensors"), slice=ast.Constant(value=int(place))):
                return tensors[place]
            case ast.Name(id="inf" | "nan" as name):
                return float(name)
            case ast.Name(id=name) if name in DTYPES or name in _ONLY_NAMED:
                return DtypeName(name)
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
