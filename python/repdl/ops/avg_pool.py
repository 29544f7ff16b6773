# SPDX-License-Identifier: MIT
"""Averages of windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def avg_pool(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    dim: int = 2,
) -> Tensor:
    """The average of each window.

    Args:
        input: float32 or float64.
        kernel_size, stride, padding: a number for each of one, two or three dimensions.
        ceil_mode: a last window that reaches over the end counts too.
        count_include_pad: padding counts as elements that are 0.
        divisor_override: what sums are divided by, instead of the number of elements; 0 for none.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).
    """


@op(outputs=("grad_input",))
def avg_pool_grad(
    grad_output: Tensor,
    input_size: Sequence[int],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    dim: int = 2,
) -> Tensor:
    """The gradient of `avg_pool` by its input, whose pooled dimensions had the sizes `input_size`."""


@op()
def adaptive_avg_pool(input: Tensor, output_size: Sequence[int], dim: int = 2) -> Tensor:
    """The average of each of as many parts of the input as the output has elements.

    Args:
        input: float32 or float64.
        output_size: the number of parts along one, two or three dimensions.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).
    """


@op(outputs=("grad_input",))
def adaptive_avg_pool_grad(grad_output: Tensor, input_size: Sequence[int], dim: int = 2) -> Tensor:
    """The gradient of `adaptive_avg_pool` by its input, whose pooled dimensions had the sizes `input_size`."""


@adaptive_avg_pool.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    first = saved.dim % grad.dim()
    sizes = tuple(saved.input.shape[first : first + len(saved.output_size)])
    return {"input": lambda: adaptive_avg_pool_grad(grad, sizes, saved.dim)}


@adaptive_avg_pool_grad.backward(saves=("grad_output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    first = saved.dim % grad.dim()
    parts = tuple(saved.grad_output.shape[first : first + len(saved.input_size)])
    return {"grad_output": lambda: adaptive_avg_pool(grad, parts, saved.dim)}


@avg_pool.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    first = saved.dim % grad.dim()
    sizes = tuple(saved.input.shape[first : first + len(saved.kernel_size)])
    windows = saved.kernel_size, saved.stride, saved.padding, saved.ceil_mode
    settings = *windows, saved.count_include_pad, saved.divisor_override, saved.dim
    return {"input": lambda: avg_pool_grad(grad, sizes, *settings)}


def _rows(name: str) -> Any:
    def rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        if arguments["dim"] % arguments[name].ndim == 0:
            return None
        return rows_of(name)(arguments, rows)

    return rows


avg_pool.rows(_rows("input"))
avg_pool_grad.rows(_rows("grad_output"))
adaptive_avg_pool.rows(_rows("input"))
adaptive_avg_pool_grad.rows(_rows("grad_output"))


def _calls() -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, object]]]:
    """Numbers, shape of the input, sizes of the gradient, settings."""
    yield "normal", (2, 3, 37), (18,), {"kernel_size": (3,), "stride": (2,), "padding": (0,)}
    yield "normal", (2, 3, 9, 11), (5, 6), {"kernel_size": (3, 3), "stride": (2, 2), "padding": (1, 1)}
    uneven: dict[str, object] = {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 1), "ceil_mode": True}
    yield "normal", (2, 3, 8, 10), (9, 6), {**uneven, "count_include_pad": False}
    yield "normal", (2, 8, 10, 3), (9, 6), {**uneven, "dim": 1}
    yield "wide", (2, 8, 10, 19), (9, 6), {**uneven, "dim": -3}
    yield "normal", (9, 4), (3,), {"kernel_size": (3,), "stride": (3,), "padding": (0,), "dim": 0}
    volume: dict[str, object] = {"kernel_size": (3, 2, 2), "stride": (2, 2, 1), "padding": (1, 0, 1)}
    yield "normal", (2, 2, 5, 6, 7), (3, 3, 8), {**volume, "divisor_override": -3}
    yield "normal", (1, 5, 6, 7, 18), (3, 3, 8), {**volume, "count_include_pad": False, "dim": 1}
    large: dict[str, object] = {"kernel_size": (3, 3), "stride": (1, 1), "padding": (1, 1)}
    yield "normal", (2, 5, 40, 41), (40, 41), large
    yield "normal", (0, 3, 5, 6), (5, 6), large
    for kind in ("tiny", "bits", "special", "zeros"):
        yield kind, (3, 2, 9, 21), (9, 21), large


def _text(kind: str, shape: Sequence[int]) -> str:
    return f"{kind}[{', '.join(map(str, shape))}]#1"


@avg_pool.samples
def _() -> Iterator[Sample]:
    for kind, shape, _, settings in _calls():
        yield sample(input=_text(kind, shape), **settings)


@avg_pool_grad.samples
def _() -> Iterator[Sample]:
    for kind, shape, windows, settings in _calls():
        first = int(settings.get("dim", 2)) % len(shape)  # type: ignore[call-overload]
        end = first + len(windows)
        grad = _text(kind, (*shape[:first], *windows, *shape[end:]))
        yield sample(grad_output=grad, input_size=shape[first:end], **settings)


def _parts() -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, object]]]:
    """Numbers, shape of the input, numbers of parts, settings."""
    yield "normal", (2, 3, 37), (9,), {}
    yield "normal", (3, 17, 20), (5, 7), {"dim": 1}
    yield "wide", (2, 11, 7, 3), (4, 9), {"dim": 1}
    yield "normal", (2, 9, 4, 18), (1, 3), {"dim": -3}
    yield "normal", (2, 5, 6, 7), (3, 4, 1), {"dim": 1}
    yield "normal", (9, 4), (2,), {"dim": 0}
    yield "normal", (1, 7, 90, 91), (7, 6), {}
    yield "normal", (0, 3, 5), (2,), {}
    for kind in ("bits", "special", "zeros"):
        yield kind, (3, 2, 9, 21), (4, 8), {}


@adaptive_avg_pool.samples
def _() -> Iterator[Sample]:
    for kind, shape, parts, settings in _parts():
        yield sample(input=_text(kind, shape), output_size=parts, **settings)
    yield sample(input=_text("normal", (2, 3, 5)), output_size=(0,))


@adaptive_avg_pool_grad.samples
def _() -> Iterator[Sample]:
    for kind, shape, parts, settings in _parts():
        first = int(settings.get("dim", 2)) % len(shape)  # type: ignore[call-overload]
        end = first + len(parts)
        grad = _text(kind, (*shape[:first], *parts, *shape[end:]))
        yield sample(grad_output=grad, input_size=shape[first:end], **settings)


def _windows(size: int, count: int, kernel: int, stride: int, padding: int) -> Iterator[tuple[slice, int, int]]:
    """Of each window its elements, their number, and the number with padding."""
    for k in range(count):
        first = k * stride - padding
        end = min(first + kernel, size + padding)
        inside = slice(max(first, 0), min(end, size))
        yield inside, inside.stop - inside.start, end - first


def _each(windows: Any, sizes: Any, settings: Mapping[str, Any]) -> Iterator[tuple[tuple[int, ...], Any, int]]:
    """Of each window its place, its elements and what it is divided by."""
    axes = zip(sizes, windows, settings["kernel_size"], settings["stride"], settings["padding"], strict=True)
    for found in product(*(enumerate(_windows(*axis)) for axis in axes)):
        counts = [padded if settings.get("count_include_pad", True) else own for _, (_, own, padded) in found]
        divisor = settings.get("divisor_override") or int(np.prod(counts))
        yield tuple(k for k, _ in found), tuple(some for _, (some, _, _) in found), divisor


@avg_pool_grad.oracle
def _(grad_output: Any, input_size: Any, **settings: Any) -> Any:
    first = settings.get("dim", 2) % grad_output.ndim
    rank = len(input_size)
    before = (slice(None),) * first
    shape = (*grad_output.shape[:first], *input_size, *grad_output.shape[first + rank :])
    result = np.zeros(shape, grad_output.dtype)
    for at, elements, divisor in _each(grad_output.shape[first : first + rank], input_size, settings):
        share = grad_output[(*before, *at)].reshape(shape[:first] + (1,) * rank + shape[first + rank :])
        result[(*before, *elements)] += share / divisor
    return result


def _shares(x: Any, sizes: Any, dim: int, gradient: bool) -> Any:
    """Along one dimension after the other, by the matrix of the averages, or its transpose."""
    for i, other in enumerate(sizes):
        at = dim % x.ndim + i
        size, count = (other, x.shape[at]) if gradient else (x.shape[at], other)
        matrix = np.zeros((count, size))
        for k in range(count):
            begin, end = k * size // count, -(-(k + 1) * size // count)
            matrix[k, begin:end] = 1 / (end - begin)
        x = np.moveaxis(np.tensordot(matrix.T if gradient else matrix, x, (1, at)), 0, at)
    return x


@adaptive_avg_pool.oracle
def _(input: Any, output_size: Any, dim: int = 2) -> Any:
    return _shares(input, output_size, dim, False)


@adaptive_avg_pool_grad.oracle
def _(grad_output: Any, input_size: Any, dim: int = 2) -> Any:
    return _shares(grad_output, input_size, dim, True)
