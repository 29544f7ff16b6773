# SPDX-License-Identifier: MIT
"""Activations and losses made of functions and steps that round once."""

from __future__ import annotations

from typing import Any

from ..cases import of_one
from ..functions import exp, expm1, log, log1p, logit, sigmoid, softplus
from ..numbers import add, div, float32, mul, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, each, groups, lines, reduced_shape, rounded
from .choices import larger
from .rounded import part_of, reduced

_SMALL = [c for c in of_one() if "100003" not in c]
_LOW = ("", ".bfloat16", ".float16")


@reference("elu", cases=[f"{c}{more}" for c in _SMALL for more in ("", ", alpha=0.3, scale=1.7, input_scale=0.9")])
def elu(self: Tensor, alpha: Any = 1.0, scale: Any = 1.0, input_scale: Any = 1.0) -> Tensor:
    """scale * x above zero, (alpha * scale) * expm1(input_scale * x) below; alpha * scale in binary64."""
    factor = float32(alpha * scale)

    def one(x: float) -> float:
        if x > 0:
            return mul(x, float32(scale))
        return mul(expm1(mul(x, float32(input_scale))), factor)

    return each(one, self)


@reference("softshrink", cases=[f"{c}, lambd=0.3" for c in of_one()])
def softshrink(self: Tensor, lambd: Any) -> Tensor:
    """Towards 0 by lambd, +0 within it."""
    width = float32(lambd)
    return each(lambda x: 0.0 if abs(x) <= width else sub(x, width) if x > 0 else add(x, width), self)


@reference(
    "logit",
    cases=[
        f"{c}{more}"
        for c in ("self=unit[203]#1", "self=special[203]#1", "self=unit.bfloat16[99]#1")
        for more in ("", ", eps=0.1")
    ],
)
def logit_of_each(self: Tensor, eps: float | None = None) -> Tensor:
    """Of the number that is held in [eps, 1 - eps], and rounded to its dtype if it was beyond."""

    def one(x: float) -> float:
        if eps is not None:
            low, high = float32(eps), float32(1 - eps)
            x = rounded(low if x < low else high if x > high else x, self.dtype)
        return logit(x, self.dtype)

    return each(one, self)


@reference(
    "binary_cross_entropy",
    cases=[
        f"self=unit{t}[{n}]#1, target=unit{t}[{n}]#2, weight={w}, reduction={r}"
        for t in _LOW
        for n in ("203", "3, 67")
        for w, r in (("None", 0), (f"normal{t}[67]#3" if "," in n else "None", 1), ("None", 2))
    ]
    + [f"self=unit{t}[91, 93]#1, target=unit{t}[91, 93]#2, weight=special{t}[91, 1]#3, reduction=0" for t in _LOW],
)
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int) -> Tensor:
    """max(log1p(-x), -100) * (target - 1) - max(log(x), -100) * target, times the weight; rounded at the end."""

    def one(x: float, y: float, w: float) -> float:
        off, on = (max(value, -100.0) for value in (log1p(-x), log(x)))
        loss = sub(mul(off, sub(y, 1.0)), mul(on, y))
        return loss if weight is None else mul(loss, w)

    loss = each(one, self, target, 1.0 if weight is None else weight, common="float32")
    found = reduced(loss, reduction)
    return Tensor(self.dtype, found.shape, [rounded(x, self.dtype) for x in found.data])


@reference(
    "soft_margin_loss",
    cases=[f"self=normal{t}[203]#1, target=ties{t}[203]#2, reduction={r}" for t in _LOW for r in (0, 1, 2)],
)
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    loss = each(lambda x, y: softplus(mul(x, -y)), self, target, dtype="float32")
    found = reduced(loss, reduction)
    return Tensor(self.dtype, found.shape, [rounded(x, self.dtype) for x in found.data])


def _gradient_cases(operand: str, target: str) -> list[str]:
    return [
        f"grad_output={g}{t}[{'' if r else shape}]#3, self={x}{t}[{shape}]#1, target={y}{t}[{shape}]#2, reduction={r}"
        for t in _LOW
        for g, x, y, shape in (("normal", operand, target, "9, 51"), ("special", "special", "special", "19, 37"))
        for r in (0, 1, 2)
    ]


@reference(
    "binary_cross_entropy_backward",
    cases=[
        *_gradient_cases("unit", "unit"),
        "grad_output=normal[]#4, self=unit[9, 51]#1, target=unit[9, 51]#2, weight=special[51]#3, reduction=1",
        "grad_output=zeros[203]#4, self=zeros[203]#1, target=zeros[203]#2, weight=normal[203]#3, reduction=0",
        *(
            f"grad_output=normal{t}[]#4, self=unit{t}[91, 93]#1, target=unit{t}[91, 93]#2, weight=normal{t}[93]#3, "
            "reduction=1"
            for t in _LOW
        ),
    ],
)
def binary_cross_entropy_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, weight: Tensor | None = None
) -> Tensor:
    part = part_of(self, reduction)

    def one(g: float, x: float, y: float, w: float) -> float:
        spread = mul(sub(1.0, x), x)
        least = float32(1e-12)
        slope = div(mul(mul(part, g), sub(x, y)), least if spread < least else spread)
        return slope if weight is None else mul(slope, w)

    return each(one, grad_output, self, target, 1.0 if weight is None else weight, common=self.dtype)


@reference("soft_margin_loss_backward", cases=_gradient_cases("normal", "ties"))
def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    part = part_of(self, reduction)
    return each(lambda g, x, y: mul(mul(-y, sigmoid(mul(-y, x))), mul(part, g)), grad_output, self, target)


@reference(
    "logsumexp",
    cases=[
        f"self={g}{t}[5, 137]#1, dim=({dim},)" for t in _LOW for g in ("normal", "special", "wide") for dim in (0, 1)
    ],
)
def logsumexp(self: Tensor, dim: Any) -> Tensor:
    """log(Sum(exp(x - m))) + m, with m the largest, or 0 where that is infinite."""
    found = []
    for line in lines(self, dim[0]):
        largest = line[0]
        for x in line:
            largest = larger(largest, x)
        if abs(largest) == float("inf"):
            largest = 0.0
        total = add(log(sum_of([exp(sub(x, largest)) for x in line])), largest)
        found.append(rounded(total, self.dtype))
    return Tensor(self.dtype, reduced_shape(self.shape, dim, False), found)


@reference(
    "mean.dim",
    cases=[
        f"self={g}{t}[5, 37, 3]#1, dim={dim}"
        for t in _LOW
        for g in ("normal", "wide", "zeros")
        for dim in ((1,), (0, 2))
    ],
)
def mean_along(self: Tensor, dim: Any) -> Tensor:

    found = [rounded(div(sum_of(group), float(len(group))), self.dtype) for group in groups(self, dim)]
    return Tensor(self.dtype, reduced_shape(self.shape, dim, False), found)
