# SPDX-License-Identifier: MIT
"""Losses of margins between classes, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..numbers import add, div, float32, mul, nearest, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, rounded
from .rounded import reduced

_LOW = ("", ".bfloat16", ".float16")


def _rows(x: Tensor) -> list[list[float]]:
    width = x.shape[-1]
    return [x.data[i : i + width] for i in range(0, len(x.data), width)]


def _above(x: float) -> float:
    """max(x, 0), NaN and -0 as they are."""
    return 0.0 if x < 0 else x


def _reduced(losses: Sequence[float], shape: tuple[int, ...], reduction: int, dtype: str) -> Tensor:
    found = reduced(Tensor("float32", shape, list(losses)), reduction)
    return Tensor(dtype, found.shape, [rounded(x, dtype) for x in found.data])


def _scaled(slopes: Sequence[Sequence[float]], grad: Tensor, reduction: int, like: Tensor) -> Tensor:
    """Times the gradient of each row, or of all."""
    data = []
    part = nearest(Fraction(1, len(slopes)), "float32") if reduction == 1 else 1.0
    for i, row in enumerate(slopes):
        g = mul(part, grad.data[i] if reduction == 0 else grad.item())
        data += [rounded(mul(x, g), like.dtype) for x in row]
    return Tensor(like.dtype, like.shape, data)


# The loss of a class.


def _reach(row: Sequence[float], right: int, margin: float) -> list[float]:
    away = sub(float32(margin), row[right])
    return [0.0 if c == right else _above(add(away, x)) for c, x in enumerate(row)]


def _cases(grad: bool) -> list[str]:
    found = []
    for t in _LOW:
        for g in ("normal", "ties", "special"):
            for p, margin in ((1, 1), (2, 0.3)):
                for weight in ("None", f"wide{t}[7]#3"):
                    for r in (0, 1, 2):
                        of_rows = f"grad_output={'special' if g == 'ties' else 'normal'}{t}[{'' if r else 19}]#4, "
                        found.append(
                            f"{of_rows if grad else ''}self={g}{t}[19, 7]#1, target=classes7[19]#2, p={p}, "
                            f"margin={margin}, weight={weight}, reduction={r}"
                        )
    scalar = "grad_output=normal[]#4, " if grad else ""
    return [
        *found[::2],
        *(f"{scalar}self=normal[7]#1, target=classes7[]#2, p=1, margin=1, reduction={r}" for r in (0, 1, 2)),
        f"{scalar}self=normal[5, 4999]#1, target=classes4999[5]#2, p=2, margin=1, reduction=1",
    ]


@reference("multi_margin_loss", cases=_cases(False))
def multi_margin_loss(
    self: Tensor, target: Tensor, p: int, margin: float, reduction: int, weight: Tensor | None = None
) -> Tensor:
    losses = []
    for row, right in zip(_rows(self), target.data, strict=True):
        reach = _reach(row, right, margin)
        if p == 2:
            reach = [mul(x, x) for x in reach]
        if weight is not None:
            reach = [mul(x, weight.data[right]) if c != right else x for c, x in enumerate(reach)]
        losses.append(div(sum_of(reach), float(len(row))))
    return _reduced(losses, self.shape[:-1], reduction, self.dtype)


@reference("multi_margin_loss_backward", cases=_cases(True))
def multi_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: int,
    margin: float,
    reduction: int,
    weight: Tensor | None = None,
) -> Tensor:
    slopes = []
    for row, right in zip(_rows(self), target.data, strict=True):
        reach = _reach(row, right, margin)
        slope = [mul(x, 2.0) if p == 2 else float(x > 0) for x in reach]
        if weight is not None:
            slope = [mul(x, weight.data[right]) if c != right else x for c, x in enumerate(slope)]
        slope = [div(x, float(len(row))) for x in slope]
        slope[right] = -sum_of(slope)
        slopes.append(slope)
    return _scaled(slopes, grad_output, reduction, self)


# The loss of several labels: the classes before the first -1.


def _reaches(row: Sequence[float], target: Sequence[int]) -> tuple[list[int], list[list[float]]]:
    """The labels, and for each place of the target how far each class reaches into its margin."""
    labels = list(target[: target.index(-1)] if -1 in target else target)
    found = [[0.0] * len(row) for _ in target]
    for k, label in enumerate(labels):
        away = sub(1.0, row[label])
        found[k] = [0.0 if c in labels else _above(add(away, x)) for c, x in enumerate(row)]
    return labels, found


# zeros.int64 has the labels 0 and 1, several times, and ends of them.
_LABELLED = [
    *(
        (f"{g}{t}[9, 7]#1", target, t, "9")
        for t in _LOW
        for g in ("normal", "ties", "special")
        for target in ("zeros.int64[9, 7]#2", "classes7[9, 7]#3")
    ),
    ("normal[7]#1", "zeros.int64[7]#5", "", ""),
    ("normal[3, 99]#1", "zeros.int64[3, 99]#2", "", "3"),
]


@reference(
    "multilabel_margin_loss_forward",
    cases=[f"self={x}, target={target}, reduction={r}" for x, target, *_ in _LABELLED for r in (0, 1, 2)],
)
def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int) -> list[Tensor]:
    losses, is_label = [], []
    for row, classes in zip(_rows(self), _rows(target), strict=True):
        labels, reach = _reaches(row, classes)  # type: ignore[arg-type]
        losses.append(div(sum_of([x for of_label in reach for x in of_label]), float(len(row))))
        is_label += [float(c in labels) for c in range(len(row))]
    found = _reduced(losses, self.shape[:-1], reduction, self.dtype)
    return [found, Tensor(self.dtype, target.shape, is_label)]


@reference(
    "multilabel_margin_loss_backward",
    cases=[
        f"grad_output=normal{t}[{'' if r else count}]#4, self={x}, target={target}, reduction={r}, is_target={x}"
        for x, target, t, count in _LABELLED
        for r in (0, 1, 2)
    ],
)
def multilabel_margin_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    slopes = []
    for row, classes in zip(_rows(self), _rows(target), strict=True):
        labels, reach = _reaches(row, classes)  # type: ignore[arg-type]
        inside = [[float(x > 0) for x in of_label] for of_label in reach]
        slope = [sum_of(column) for column in zip(*inside, strict=True)]
        for k, label in enumerate(labels):
            slope[label] = add(slope[label], -sum_of(inside[k]))
        slopes.append([div(x, float(len(row))) for x in slope])
    return _scaled(slopes, grad_output, reduction, self)
