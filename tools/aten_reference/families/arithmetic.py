# SPDX-License-Identifier: MIT
"""Products beside sums, of numbers and of matrices: every step rounded once, and low types once at the end."""

from __future__ import annotations

import math
from itertools import product as places
from typing import Any

from ..cases import FLOATS, of_integers, of_two
from ..numbers import add, div, float32, mul, sub
from ..registry import reference
from ..sums import product_of, product_of_present, sum_of
from ..tensors import Tensor, each, expand, groups, lines, promoted, reduced_shape, rounded

_LOW = ("", ".bfloat16", ".float16")


def _with_alpha(name: str, step: Any, sign: int) -> None:
    @reference(
        f"{name}.Tensor",
        cases=[
            *of_two(large="normal"),
            *of_two(large="normal", more=", alpha=0.3"),
            *of_integers(names=("self", "other"), more=", alpha=3"),
            "self=normal.bfloat16[5, 9]#1, other=normal[9]#2, alpha=0.3",
            "self=classes9[33]#1, other=normal.float16[33]#2, alpha=3",
        ],
    )
    def run(self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
        if promoted(self, other) not in FLOATS:
            return each(lambda x, y: x + sign * y * alpha, self, other)
        factor = float32(alpha)
        return each(lambda x, y: step(float32(x), mul(float32(y), factor)), self, other)


_with_alpha("add", add, 1)
_with_alpha("sub", sub, -1)


@reference("rsub.Tensor", cases=of_two(FLOATS, more=", alpha=0.3"))
def rsub(self: Tensor, other: Tensor, alpha: Any = 1) -> Tensor:
    return each(lambda x, y: sub(y, mul(x, float32(alpha))), self, other)


_THREE = [f"self=special{t}[19, 37]#1, tensor1=special{t}[19, 37]#2, tensor2=special{t}[37]#3, value=0.3" for t in _LOW]


@reference("addcmul", cases=[*_THREE, "self=normal[5, 1]#1, tensor1=normal[7]#2, tensor2=normal[]#3, value=-1.7"])
def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    return each(lambda x, a, b: add(x, mul(mul(a, float32(value)), b)), self, tensor1, tensor2)


@reference("addcdiv", cases=[*_THREE, "self=normal[5, 1]#1, tensor1=normal[7]#2, tensor2=normal[7]#3, value=-1.7"])
def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    return each(lambda x, a, b: add(x, div(mul(a, float32(value)), b)), self, tensor1, tensor2)


def lerp(start: float, end: float, weight: float) -> float:
    """From the nearer end."""
    way = sub(end, start)
    return add(start, mul(weight, way)) if abs(weight) < 0.5 else sub(end, mul(way, sub(1.0, weight)))


@reference(
    "lerp.Tensor",
    cases=[
        *(f"self=normal{t}[19, 37]#1, end=normal{t}[19, 37]#2, weight=uniform{t}[37]#3" for t in _LOW),
        *(f"self=special{t}[19, 37]#1, end=special{t}[19, 37]#2, weight=special{t}[19, 37]#3" for t in _LOW),
        "self=normal[33]#1, end=normal[33]#2, weight=uniform[]#3",
    ],
)
def lerp_by_tensor(self: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    return each(lerp, self, end, weight)


@reference(
    "lerp.Scalar",
    cases=[f"self=normal{t}[19, 37]#1, end=special{t}[19, 37]#2, weight={w}" for t in _LOW for w in (0.3, 0.7)],
)
def lerp_by_number(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    return each(lambda x, y: lerp(x, y, float32(weight)), self, end)


# Products of matrices.


def _times(a: Tensor, b: Tensor, order: str) -> list[float]:
    """The elements of a product of two matrices."""
    rows, k = a.shape
    columns = [b.data[j :: b.shape[1]] for j in range(b.shape[1])]
    return [product_of(a.data[i * k : (i + 1) * k], column, order) for i in range(rows) for column in columns]


def _plus(self: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * self + alpha * product; with beta = 0, self is not read."""
    values = [mul(x, float32(alpha)) for x in product.data]
    if beta != 0:
        more = expand(self, product.shape)
        values = [add(x, mul(y, float32(beta))) for x, y in zip(values, more, strict=True)]
    return Tensor(self.dtype, product.shape, [rounded(x, self.dtype) for x in values])


_SCALES = ("", ", beta=0, alpha=0.3", ", beta=0.7, alpha=-1.3")


@reference(
    "addmm",
    cases=[
        f"self={first}, mat1={g}{t}[5, 301]#2, mat2={g}{t}[301, 3]#3{more}"
        for t in _LOW
        for g in ("normal", "tiny")
        for first in (f"normal{t}[3]#1", f"special{t}[5, 3]#1", f"normal{t}[5, 1]#1")
        for more in _SCALES
    ],
)
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1, order: str = "blocked") -> Tensor:
    return _plus(self, Tensor("float32", (mat1.shape[0], mat2.shape[1]), _times(mat1, mat2, order)), beta, alpha)


def _batches(a: Tensor, b: Tensor, order: str) -> Tensor:
    data = []
    for n in range(a.shape[0]):
        one, two = (
            Tensor(t.dtype, t.shape[1:], t.data[n * math.prod(t.shape[1:]) :][: math.prod(t.shape[1:])]) for t in (a, b)
        )
        data += _times(one, two, order)
    return Tensor("float32", (a.shape[0], a.shape[1], b.shape[2]), data)


@reference(
    "baddbmm",
    cases=[
        f"self={first}, batch1=normal{t}[2, 5, 301]#2, batch2=normal{t}[2, 301, 3]#3{more}"
        for t in _LOW
        for first in (f"normal{t}[2, 5, 3]#1", f"special{t}[5, 3]#1")
        for more in _SCALES
    ],
)
def baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return _plus(self, _batches(batch1, batch2, "blocked"), beta, alpha)


@reference(
    "addbmm",
    cases=[
        f"self={first}, batch1={g}{t}[2, 5, 301]#2, batch2={g}{t}[2, 301, 3]#3{more}"
        for t in _LOW
        for g in ("normal", "special")
        for first in (f"normal{t}[5, 3]#1", f"special{t}[3]#1")
        for more in (*_SCALES, ", order='sequential'")
    ],
)
def addbmm(
    self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1, order: str = "blocked"
) -> Tensor:
    """One product over the batch and k."""
    _, rows, _ = batch1.shape
    columns = batch2.shape[2]
    row_of = [[x for b in lines(batch1, 2)[i::rows] for x in b] for i in range(rows)]
    column_of = [batch2.data[j::columns] for j in range(columns)]
    values = [product_of(row, column, order) for row in row_of for column in column_of]
    return _plus(self, Tensor("float32", (rows, columns), values), beta, alpha)


@reference(
    "conv_tbc",
    cases=[
        f"self={g}{t}[9, 2, 5]#1, weight={w}{t}[3, 5, 4]#2, bias={b}{t}[4]#3, pad={pad}"
        for t in _LOW
        for g, w, b in (("normal", "normal", "normal"), ("wide", "special", "special"), ("special", "normal", "zeros"))
        for pad in (0, 1, 3)
    ]
    + [
        "self=normal[7, 2, 99]#1, weight=normal[3, 99, 4]#2, bias=normal[4]#3, pad=1",
        "self=normal[7, 2, 99]#1, weight=normal[3, 99, 4]#2, bias=normal[4]#3, pad=2, order='sequential'",
        "self=normal[50, 3, 40]#1, weight=normal[1, 40, 30]#2, bias=normal[30]#3",
    ],
)
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0, order: str = "blocked") -> Tensor:
    """Products over (place in the kernel, channel); what lies in the padding is absent."""
    times, batch, channels = self.shape
    kernel, _, outputs = weight.shape
    found = []
    for t in range(times + 2 * pad - kernel + 1):
        for n in range(batch):
            for o in range(outputs):
                terms = [
                    (self[t + k - pad, n, c], weight[k, c, o]) if 0 <= t + k - pad < times else None
                    for k in range(kernel)
                    for c in range(channels)
                ]
                found.append(rounded(add(product_of_present(terms, order), bias.data[o]), self.dtype))
    return Tensor(self.dtype, (times + 2 * pad - kernel + 1, batch, outputs), found)


def _unsqueezed(x: Tensor, dims: Any) -> Tensor:
    shape = list(x.shape)
    for d in sorted(dims):
        shape.insert(d, 1)
    return Tensor(x.dtype, tuple(shape), x.data)


@reference(
    "_trilinear",
    cases=[
        f"i1={g}{t}[3, 40]#1, i2={g}{t}[40, 5]#2, i3=wide{t}[3, 5]#3, expand1=(2,), expand2=(0,), expand3=(1,), "
        f"sumdim={dims}, unroll_dim={unroll}"
        for t in _LOW
        for g in ("normal", "special")
        for dims, unroll in (((), 1), ((1,), 1), ((0, 2), 0), ((0, 1, 2), 2))
    ],
)
def trilinear(
    i1: Tensor, i2: Tensor, i3: Tensor, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int
) -> Tensor:
    operands = [_unsqueezed(x, dims) for x, dims in ((i1, expand1), (i2, expand2), (i3, expand3))]
    terms = each(lambda x, y, z: mul(mul(x, y), z), *operands, dtype="float32")
    if not sumdim:
        return Tensor(i1.dtype, terms.shape, [rounded(x, i1.dtype) for x in terms.data])
    found = [rounded(sum_of(group), i1.dtype) for group in groups(terms, sumdim)]
    return Tensor(i1.dtype, reduced_shape(terms.shape, sumdim, False), found)


@reference("bmm", cases=[f"self=normal{t}[3, 5, 301]#2, mat2=wide{t}[3, 301, 4]#3" for t in _LOW])
def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    result = _batches(self, mat2, "blocked")
    return Tensor(self.dtype, result.shape, [rounded(x, self.dtype) for x in result.data])


@reference(
    "mm",
    cases=[
        f"self={g}{t}[7, 301]#2, mat2={g}{t}[301, 4]#3, order='{order}'"
        for t in _LOW
        for g in ("normal", "special", "zeros")
        for order in ("blocked", "sequential")
    ],
)
def mm(self: Tensor, mat2: Tensor, order: str) -> Tensor:
    shape = (self.shape[0], mat2.shape[1])
    return Tensor(self.dtype, shape, [rounded(x, self.dtype) for x in _times(self, mat2, order)])


@reference(
    "linear",
    cases=[
        f"input=normal{t}[2, 3, 301]#2, weight=normal{t}[4, 301]#3, bias={b}"
        for t in _LOW
        for b in ("None", f"normal{t}[4]#1", f"special{t}[4]#1")
    ],
)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The product over the features, plus the bias, rounded once."""
    k = input.shape[-1]
    rows = [input.data[i : i + k] for i in range(0, len(input.data), k)]
    columns = [weight.data[i : i + k] for i in range(0, len(weight.data), k)]
    values = [product_of(row, column) for row in rows for column in columns]
    if bias is not None:
        values = [add(x, bias.data[i % len(columns)]) for i, x in enumerate(values)]
    shape = (*input.shape[:-1], weight.shape[0])
    return Tensor(input.dtype, shape, [rounded(x, input.dtype) for x in values])


@reference(
    "bilinear",
    cases=[
        f"input1={g}{t}[2, 3, 5]#1, input2={g}{t}[2, 3, 301]#2, weight=normal{t}[4, 5, 301]#3, bias={b}"
        for t in _LOW
        for g, b in (("normal", "None"), ("normal", f"normal{t}[4]#4"), ("special", f"special{t}[4]#4"))
    ],
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Of each output the product of its weights and input2, then that of these and input1, plus the bias."""
    outputs, n, k = weight.shape
    first = [input1.data[i : i + n] for i in range(0, len(input1.data), n)]
    second = [input2.data[i : i + k] for i in range(0, len(input2.data), k)]
    columns = [weight.data[i : i + k] for i in range(0, len(weight.data), k)]
    values = []
    for x, y in zip(first, second, strict=True):
        inner = [product_of(y, column) for column in columns]
        values += [product_of(inner[o * n : (o + 1) * n], x) for o in range(outputs)]
    if bias is not None:
        values = [add(x, bias.data[i % outputs]) for i, x in enumerate(values)]
    shape = (*input1.shape[:-1], outputs)
    return Tensor(input1.dtype, shape, [rounded(x, input1.dtype) for x in values])


@reference("mv", cases=[f"self=normal{t}[7, 301]#2, vec=normal{t}[301]#3" for t in _LOW])
def mv(self: Tensor, vec: Tensor) -> Tensor:
    values = _times(self, Tensor(vec.dtype, (*vec.shape, 1), vec.data), "blocked")
    return Tensor(self.dtype, self.shape[:1], [rounded(x, self.dtype) for x in values])


@reference("vdot", cases=[f"self=wide{t}[{n}]#2, other=normal{t}[{n}]#3" for t in _LOW for n in (0, 7, 9001)])
def vdot(self: Tensor, other: Tensor) -> Tensor:
    return dot(self, other)


@reference("dot", cases=[f"self=normal{t}[{n}]#2, tensor=normal{t}[{n}]#3" for t in _LOW for n in (0, 7, 9001)])
def dot(self: Tensor, tensor: Tensor) -> Tensor:
    return Tensor(self.dtype, (), [rounded(product_of(self.data, tensor.data), self.dtype)])


@reference(
    "tensordot",
    cases=[
        f"self={g}[7, 301]#2, other={g}[{k}, 4]#3, dims_self=[1], dims_other=[0]"
        for g in (
            *(f"normal{t}" for t in _LOW),
            *(f"ties.{t}" for t in ("int64", "int32", "int16", "int8", "uint8")),
        )
        for k in (301, 1)
    ],
)
def tensordot(self: Tensor, other: Tensor, dims_self: list[int], dims_other: list[int]) -> Tensor:
    """Of matrices, over columns and rows; columns beside a single row are summed before, to a number of their type."""
    (k, n), dtype = other.shape, self.dtype
    rows, columns = lines(self, 1), lines(other, 0)
    if k == 1:
        rows = [[rounded(sum_of(row) if self.is_float else sum(row), dtype)] for row in rows]
    values = [
        product_of(row, column) if self.is_float else sum(x * y for x, y in zip(row, column, strict=True))
        for row in rows
        for column in columns
    ]
    return Tensor(dtype, (self.shape[0], n), [rounded(x, dtype) for x in values])


@reference(
    "addr",
    cases=[
        f"self=normal{t}[5, 7]#1, vec1=special{t}[5]#2, vec2=normal{t}[7]#3{more}" for t in _LOW for more in _SCALES
    ],
)
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    values = [mul(mul(x, y), float32(alpha)) for x, y in places(vec1.data, vec2.data)]
    if beta != 0:
        values = [add(mul(s, float32(beta)), x) for s, x in zip(self.data, values, strict=True)]
    return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in values])


# Sums and products along dimensions.

_DIMS = [
    f"self={g}{t}[{shape}]#1, dim={dim}{more}"
    for t in _LOW
    for g, shape, dim in (
        ("normal", "5, 4999", (1,)),
        ("normal", "131, 7", (0,)),
        ("wide", "3, 70, 5", (0, 2)),
        ("zeros", "3, 7, 5", (1,)),
    )
    for more in ("", ", keepdim=True")
]


@reference("sum.dim_IntList", cases=[*_DIMS, "self=normal[100003]#1, dim=None"])
def sum_along(self: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    found = [rounded(sum_of(group), self.dtype) for group in groups(self, dim)]
    return Tensor(self.dtype, reduced_shape(self.shape, dim or range(len(self.shape)), keepdim), found)


@reference(
    "nansum",
    cases=["self=special[5, 40]#1, dim=(1,)", "self=bits[300]#1, dim=None", "self=special.bfloat16[5, 40]#1, dim=(0,)"],
)
def nansum(self: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    known = Tensor(self.dtype, self.shape, [0.0 if x != x else x for x in self.data])
    return sum_along(known, dim, keepdim)


@reference("prod.dim_int", cases=[f"self=uniform{t}[5, 37]#1, dim={d}" for t in _LOW for d in (0, 1)])
def prod_along(self: Tensor, dim: int) -> Tensor:
    found = []
    for group in groups(self, (dim,)):
        lanes = [1.0] * 64  # in binary64, of one chunk
        for i, x in enumerate(group):
            lanes[i % 64] *= x
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [lanes[j] * lanes[j + half] for j in range(half)]
        found.append(rounded(float32(lanes[0]), self.dtype))
    return Tensor(self.dtype, reduced_shape(self.shape, (dim,), False), found)
