# SPDX-License-Identifier: MIT
"""Normalisation of channels over a batch, its running statistics and gradients; and of weights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..numbers import add, div, float32, mul, nearest, sqrt, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, groups, rounded, size_of

_LOW = ("", ".bfloat16", ".float16")


def _channels(x: Tensor) -> list[list[float]]:
    """The numbers of each channel, of all samples and places in order."""
    return groups(x, (0, *range(2, len(x.shape))))


def _from_channels(found: Sequence[Sequence[float]], shape: tuple[int, ...], dtype: str) -> Tensor:
    inner = size_of(shape[2:])
    data = [
        rounded(found[c][n * inner + i], dtype) for n in range(shape[0]) for c in range(shape[1]) for i in range(inner)
    ]
    return Tensor(dtype, shape, data)


def _part(count: int) -> float:
    return nearest(Fraction(1, count), "float32")


def _statistics(x: Sequence[float], order: str) -> tuple[float, float]:
    """The mean and the variance of a channel."""
    mean = mul(sum_of(x, order), _part(len(x)))
    away = [sub(v, mean) for v in x]
    return mean, mul(sum_of([mul(d, d) for d in away], order), _part(len(x)))


def _deviation(var: float, eps: float) -> float:
    return sqrt(add(var, float32(eps)))


def _normalized(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    statistics: Sequence[tuple[float, float]],
    eps: float,
) -> Tensor:
    found = []
    for c, (x, (mean, var)) in enumerate(zip(_channels(input), statistics, strict=True)):
        std = _deviation(var, eps)
        line = [div(sub(v, mean), std) for v in x]
        if weight is not None:
            line = [mul(v, weight.data[c]) for v in line]
        if bias is not None:
            line = [add(v, bias.data[c]) for v in line]
        found.append(line)
    return _from_channels(found, input.shape, input.dtype)


def _updated(running: Tensor, values: Sequence[float], momentum: float, scale: float) -> Tensor:
    kept, share = float32(1 - momentum), float32(momentum)
    data = [add(mul(r, kept), mul(share, mul(v, scale))) for r, v in zip(running.data, values, strict=True)]
    return Tensor(running.dtype, running.shape, [rounded(v, running.dtype) for v in data])


def _batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running: Sequence[Tensor],
    training: bool,
    momentum: float,
    eps: float,
    order: str,
) -> list[Tensor]:
    """The running statistics afterwards; the result; the mean and 1 / std of the batch, empty without training."""
    dtype = next((t.dtype for t in (weight, bias, *running) if t is not None), input.dtype)
    if not training:
        given = list(zip(running[0].data, running[1].data, strict=True))
        empty = Tensor(dtype, (0,), [])
        return [*running, _normalized(input, weight, bias, given, eps), empty, empty]
    found = [_statistics(x, order) for x in _channels(input)]
    means, variances = ([pair[i] for pair in found] for i in (0, 1))
    if running:
        count = len(input.data) // input.shape[1]
        scale = nearest(Fraction(count, count - 1), "float32") if count > 1 else float("nan")
        running = [
            _updated(running[0], means, momentum, 1.0),
            _updated(running[1], variances, momentum, scale),
        ]
    inverse = [div(1.0, _deviation(var, eps)) for var in variances]
    saved = [Tensor(dtype, (input.shape[1],), [rounded(v, dtype) for v in values]) for values in (means, inverse)]
    return [*running, _normalized(input, weight, bias, found, eps), *saved]


def _inputs() -> list[tuple[str, int, str, str]]:
    """An input, its channels, and the types of input and parameters."""
    return [
        *((f"{g}{t}[4, 3, 5, 7]#1", 3, t, p) for t, p in _TYPES for g in ("normal", "wide", "special")),
        ("zeros[7, 5]#1", 5, "", ""),
        ("normal[1, 3, 1]#1", 3, "", ""),
        ("normal[3, 2, 4999]#1", 2, "", ""),
    ]


_TYPES = (("", ""), (".bfloat16", ".bfloat16"), (".float16", ".float16"), (".bfloat16", ""), (".float16", ""))
_ORDERS = ("", ", order='sequential'")


def _parameters(channels: int, t: str) -> tuple[str, ...]:
    return (
        f"weight=normal{t}[{channels}]#2, bias=special{t}[{channels}]#3",
        f"weight=normal{t}[{channels}]#2, bias=normal{t}[{channels}]#3",
        "weight=None, bias=None",
    )


def _running(channels: int, t: str) -> str:
    return f"running_mean=normal{t}[{channels}]#4, running_var=positive{t}[{channels}]#5"


_SETTINGS = ("momentum=0.1, eps=1e-05", "momentum=0.7, eps=0.001")


def _cases(running: bool, more: str, orders: bool) -> list[str]:
    found = []
    for i, (x, channels, of_input, t) in enumerate(_inputs()):
        for j, parameters in enumerate(_parameters(channels, t)):
            if "None" in parameters and not running and of_input != t:
                continue  # then nothing has the type of the parameters
            own = [_running(channels, t)] if running else []
            order = _ORDERS[i % 2] if orders else ""
            found.append(
                ", ".join([f"input={x}", parameters, *own, *([more] if more else []), _SETTINGS[j % 2]]) + order
            )
    return found


@reference(
    "_native_batch_norm_legit",
    cases=[*_cases(True, "training=True", True), *_cases(True, "training=False", False)[::3]],
)
def legit(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
    order: str = "blocked",
) -> list[Tensor]:
    return _batch_norm(input, weight, bias, (running_mean, running_var), training, momentum, eps, order)


@reference("_native_batch_norm_legit.no_stats", cases=_cases(False, "training=True", True))
def legit_without_statistics(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    order: str = "blocked",
) -> list[Tensor]:
    return _batch_norm(input, weight, bias, (), training, momentum, eps, order)


@reference("_native_batch_norm_legit_no_training", cases=_cases(True, "", False))
def legit_without_training(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> list[Tensor]:
    return _batch_norm(input, weight, bias, (running_mean, running_var), False, momentum, eps, "blocked")[2:]


_RESERVE = Tensor("uint8", (0,), [])


@reference("_batch_norm_with_update", cases=_cases(True, "", True))
def with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    order: str = "blocked",
) -> list[Tensor]:
    return [*_batch_norm(input, weight, bias, (running_mean, running_var), True, momentum, eps, order), _RESERVE]


@reference("_batch_norm_no_update", cases=_cases(True, "", False)[::2])
def without_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> list[Tensor]:
    return [
        *_batch_norm(input, weight, bias, (running_mean, running_var), False, momentum, eps, "blocked")[2:],
        _RESERVE,
    ]


def _backward_cases(reserve: str) -> list[str]:
    found = []
    for i, (x, channels, t, p) in enumerate(_inputs()):
        shape = x[x.index("[") : x.index("#")]
        for train in (True, False):
            for weight in (f"normal{p}[{channels}]#2", "None")[: 1 if reserve else None]:  # torch asks for one there
                # Saved statistics are there, but those of training are taken from the input again.
                second = "save_var" if reserve else "save_invstd"
                saved = f"save_mean=normal{p}[{channels}]#6, {second}=positive{p}[{channels}]#7"
                found.append(
                    f"grad_out={'special' if i % 3 == 1 else 'normal'}{t}{shape}#8, input={x}, weight={weight}, "
                    f"{_running(channels, p)}, {saved}, {'update' if reserve else 'train'}={train}, eps=0.001, "
                    f"output_mask=(True, True, True){reserve}{_ORDERS[i % 2]}"
                )
    return found


def _batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    train: bool,
    eps: float,
    order: str,
) -> list[Tensor]:
    dtype = (weight or running_mean).dtype
    by_input, by_weight, by_bias = [], [], []
    for c, (g, x) in enumerate(zip(_channels(grad_out), _channels(input), strict=True)):
        mean, var = _statistics(x, order) if train else (running_mean.data[c], running_var.data[c])
        std = _deviation(var, eps)
        h = [div(sub(v, mean), std) for v in x]
        grad_bias = sum_of(g, order)
        grad_weight = sum_of([mul(a, b) for a, b in zip(g, h, strict=True)], order)
        factor = div(weight.data[c] if weight is not None else 1.0, std)
        if train:
            r = _part(len(x))
            shift, tilt = mul(grad_bias, r), mul(grad_weight, r)
            by_input.append([mul(factor, sub(sub(a, shift), mul(b, tilt))) for a, b in zip(g, h, strict=True)])
        else:
            by_input.append([mul(factor, a) for a in g])
        by_weight.append(rounded(grad_weight, dtype))
        by_bias.append(rounded(grad_bias, dtype))
    shape = (input.shape[1],)
    grad_input = _from_channels(by_input, input.shape, input.dtype)
    return [grad_input, Tensor(dtype, shape, by_weight), Tensor(dtype, shape, by_bias)]


@reference("batch_norm_backward", cases=_backward_cases(", reserve=classes1.uint8[0]#1"))
def backward(update: bool, output_mask: Any, order: str = "blocked", **arguments: Any) -> list[Tensor]:
    for name in ("save_mean", "save_var", "reserve"):
        del arguments[name]
    return _batch_norm_backward(train=update, order=order, **arguments)


@reference("native_batch_norm_backward", cases=[c for c in _backward_cases("") if "train=True" in c or "float16" in c])
def native_backward(output_mask: Any, order: str = "blocked", **arguments: Any) -> list[Tensor]:
    for name in ("save_mean", "save_invstd"):
        del arguments[name]
    return _batch_norm_backward(order=order, **arguments)


_WEIGHTS = [
    (f"{g}{t}[{shape}]#1", dim, t, shape, size)
    for t in _LOW
    for g in ("normal", "wide")
    for shape, dim, size in (("5, 7, 3", 0, "5, 1, 1"), ("4, 301", 1, "1, 301"), ("3, 2, 70", 2, "1, 1, 70"))
] + [
    ("special[9, 40]#1", 0, "", "9, 40", "9, 1"),
    ("zeros[7, 3]#1", 0, "", "7, 3", "7, 1"),
    ("special[9]#1", 0, "", "9", "9"),
    ("normal[130, 70]#1", 0, "", "130, 70", "130, 1"),
    ("normal[70, 130]#1", 1, "", "70, 130", "1, 130"),
]


def _along(v: Tensor, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(len(v.shape)) if d != dim % len(v.shape))


def _apart(v: Tensor, dim: int) -> list[list[float]]:
    """The elements at each place along a dimension."""
    dims = _along(v, dim)
    return [list(group) for group in groups(v, dims)] if dims else [[x] for x in v.data]


def _spread(values: Sequence[float], v: Tensor, dim: int) -> list[float]:
    """A value of each place along a dimension, for every element."""
    return [values[index[dim]] for index in v.indices()]


@reference(
    "_weight_norm_interface",
    cases=[f"v={v}, g=normal{t}[{size}]#2, dim={dim}" for v, dim, t, _, size in _WEIGHTS],
)
def weight_norm(v: Tensor, g: Tensor, dim: int) -> list[Tensor]:
    """v * (g / norm), the norm over all dimensions but one; each result rounded once."""
    norms = [sqrt(sum_of([mul(x, x) for x in group])) for group in _apart(v, dim)]
    factors = [div(x, n) for x, n in zip(g.data, norms, strict=True)]
    w = [mul(x, f) for x, f in zip(v.data, _spread(factors, v, dim), strict=True)]
    return [
        Tensor(v.dtype, v.shape, [rounded(x, v.dtype) for x in w]),
        Tensor(v.dtype, g.shape, [rounded(x, v.dtype) for x in norms]),
    ]


@reference(
    "_weight_norm_interface_backward",
    cases=[
        f"grad_w=normal{t}[{shape}]#3, saved_v={v}, saved_g=normal{t}[{size}]#2, saved_norms=positive{t}[{size}]#4, "
        f"dim={dim}"
        for v, dim, t, shape, size in _WEIGHTS
    ],
)
def weight_norm_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> list[Tensor]:
    """With a = Sum(grad * v) and n the norm: (g / n) * (grad - v * (a / (n * n))), and a / n."""
    products = Tensor("float32", saved_v.shape, [mul(x, y) for x, y in zip(grad_w.data, saved_v.data, strict=True)])
    along = [sum_of(group) for group in _apart(products, dim)]
    factors = [div(x, n) for x, n in zip(saved_g.data, saved_norms.data, strict=True)]
    parts = [div(a, mul(n, n)) for a, n in zip(along, saved_norms.data, strict=True)]
    grad_v = [
        mul(f, sub(x, mul(v, p)))
        for x, v, f, p in zip(
            grad_w.data, saved_v.data, _spread(factors, saved_v, dim), _spread(parts, saved_v, dim), strict=True
        )
    ]
    grad_g = [div(a, n) for a, n in zip(along, saved_norms.data, strict=True)]
    return [
        Tensor(saved_v.dtype, saved_v.shape, [rounded(x, saved_v.dtype) for x in grad_v]),
        Tensor(saved_g.dtype, saved_g.shape, [rounded(x, saved_g.dtype) for x in grad_g]),
    ]
