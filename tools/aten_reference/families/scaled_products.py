# SPDX-License-Identifier: MIT
"""Products of numbers of 8 bits, with scales."""

from __future__ import annotations

from typing import Any

from ..numbers import add, div, mul
from ..registry import reference
from ..sums import product_of
from ..tensors import Tensor, rounded

_FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


def _multiplied(a: Tensor, b: Tensor) -> list[list[float]]:
    """The rows of a times the columns of b."""
    k, n = b.shape
    rows = [a.data[i * k : (i + 1) * k] for i in range(a.shape[0])]
    return [[product_of(row, b.data[j::n]) for j in range(n)] for row in rows]


@reference(
    "_weight_int8pack_mm",
    cases=[
        f"self={x}{t}[{m}, {k}]#1, mat2=extreme.int8[{n}, {k}]#2, scales={s}{t}[{n}]#3"
        for t in ("", ".bfloat16", ".float16")
        for x, s in (("normal", "uniform"), ("special", "normal"), ("signed", "signed"))
        for m, k, n in ((5, 301, 7), (1, 40, 33))
    ]
    + ["self=normal[3, 0]#1, mat2=extreme.int8[4, 0]#2, scales=normal[4]#3"],
)
def weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """Each Product times the scale of its column, then rounded to the dtype."""
    (n, k), m = mat2.shape, self.shape[0]
    turned = Tensor("int8", (k, n), [float(mat2[j, p]) for p in range(k) for j in range(n)])
    data = [mul(x, scales.data[j]) for row in _multiplied(self, turned) for j, x in enumerate(row)]
    return Tensor(self.dtype, (m, n), [rounded(x, self.dtype) for x in data])


def _scaled(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, by: Tensor | None, dtype: str
) -> Tensor:
    """Each Product times the product of its scales, plus its bias, divided by `by`, then rounded to the dtype."""
    one_a, one_b = len(scale_a.data) == 1, len(scale_b.data) == 1
    data = []
    for i, row in enumerate(_multiplied(a, b)):
        for j, value in enumerate(row):
            x = mul(value, mul(scale_a.data[0 if one_a else i], scale_b.data[0 if one_b else j]))
            if bias is not None:
                x = add(x, bias.data[j])
            if by is not None and dtype in _FLOAT8:
                x = div(x, by.item())
            data.append(rounded(x, dtype))
    return Tensor(dtype, (a.shape[0], b.shape[1]), data)


_OPERANDS = [
    f"self={a}[5, 304]#1, mat2={b}[304, 16]#2"
    for a, b in (
        ("finite.float8_e4m3fn", "finite.float8_e4m3fn"),
        ("finite.float8_e5m2", "finite.float8_e4m3fn"),
        ("bits.float8_e4m3fn", "finite.float8_e5m2"),
        ("ties.float8_e4m3fn", "ties.float8_e4m3fn"),
    )
]
_BIASES = ("bias=None", "bias=normal[16]#5", "bias=special.bfloat16[16]#5")
_RESULTS = ("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
_SINGLE, _EACH = ("scale_a=uniform[]#3", "scale_b=uniform[1]#4"), ("scale_a=normal[5, 1]#3", "scale_b=normal[1, 16]#4")


@reference(
    "_scaled_mm",
    cases=[
        f"{operands}, {', '.join(scales)}, {bias}, out_dtype={dtype}"
        for operands in _OPERANDS
        for scales, bias, dtype in (
            *((_SINGLE, _BIASES[i % 3], dtype) for i, dtype in enumerate(_RESULTS)),
            *((_EACH, _BIASES[(i + 1) % 3], dtype) for i, dtype in enumerate(_RESULTS)),
        )
    ]
    + [
        f"{_OPERANDS[0]}, {', '.join(_SINGLE)}, {bias}, scale_result=uniform[]#6, out_dtype={dtype}"
        for bias in _BIASES
        for dtype in ("float8_e4m3fn", "float8_e5m2", "float32")
    ]
    + ["self=finite.float8_e5m2[3, 0]#1, mat2=finite.float8_e5m2[0, 16]#2, " + ", ".join(_SINGLE)],
)
def scaled_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: str | None = None,
) -> Tensor:
    return _scaled(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype or self.dtype)


def _recipes(scales: tuple[str, str], recipe: int) -> str:
    a, b = (text.replace("=", "=[") + "]" for text in scales)
    return f"{a}, recipe_a=[{recipe}], swizzle_a=[0], {b}, recipe_b=[{recipe}], swizzle_b=[0]"


@reference(
    "_scaled_mm_v2",
    cases=[
        f"{operands}, {_recipes(scales, recipe)}, {bias}, out_dtype={dtype}"
        for operands, bias in zip(_OPERANDS, (*_BIASES, _BIASES[0]), strict=True)
        for recipe, scales in enumerate((_SINGLE, _EACH))
        for dtype in ("bfloat16", "float8_e4m3fn")
    ],
)
def scaled_mm_v2(
    self: Tensor,
    mat2: Tensor,
    scale_a: list[Tensor],
    scale_b: list[Tensor],
    bias: Tensor | None,
    out_dtype: str,
    **_: Any,
) -> Tensor:
    return _scaled(self, mat2, *scale_a, *scale_b, bias, None, out_dtype)
