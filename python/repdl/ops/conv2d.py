# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Pair, Sample, Tensor, no_rows, op, rows_of, sample
from repdl.ops.sum import sum as sum_of


@op()
def conv2d(
    input: Tensor,
    weight: Tensor,
    stride: Pair = 1,
    padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
    bias: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """Two-dimensional convolution (cross-correlation), as torch.nn.functional.conv2d.

    Args:
        input: float32 or float64, (n, c, h, w).
        weight: float32 or float64, (o, c / groups, kh, kw).
        stride, padding, dilation: a number, or a pair (height, width).
        groups: divides c and o.
        bias: float32 or float64, (o), or None.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32 or float64, (n, o, p, q).
    """


@op()
def conv2d_grad_input(
    input_shape: tuple[int, ...],
    weight: Tensor,
    grad_output: Tensor,
    stride: Pair = 1,
    padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
    order: str | None = None,
) -> Tensor:
    """The gradient of conv2d by its input, of shape `input_shape`; grad_output is (n, o, p, q)."""


@op()
def conv2d_grad_kernel(
    input: Tensor,
    weight_shape: tuple[int, ...],
    grad_output: Tensor,
    stride: Pair = 1,
    padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
    order: str | None = None,
) -> Tensor:
    """The gradient of conv2d by its weight, of shape `weight_shape`; grad_output is (n, o, p, q)."""


def _options(saved: Any) -> tuple[Pair, Pair, int, Pair]:
    return saved.stride, saved.padding, saved.groups, saved.dilation


@conv2d.backward(saves=("input", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    options, order = _options(saved), saved.order
    return {
        "input": lambda: conv2d_grad_input(saved.input_shape, saved.weight, grad, *options, order=order),
        "weight": lambda: conv2d_grad_kernel(saved.input, saved.weight_shape, grad, *options, order=order),
        "bias": lambda: sum_of(grad, (0, 2, 3), order=order),
    }


@conv2d_grad_input.backward(saves=("weight", "grad_output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    options, order = _options(saved), saved.order
    return {
        "weight": lambda: conv2d_grad_kernel(grad, saved.weight_shape, saved.grad_output, *options, order=order),
        "grad_output": lambda: conv2d(grad, saved.weight, *options, order=order),
    }


@conv2d_grad_kernel.backward(saves=("input", "grad_output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    options, order = _options(saved), saved.order
    return {
        "input": lambda: conv2d_grad_input(saved.input_shape, grad, saved.grad_output, *options, order=order),
        "grad_output": lambda: conv2d(saved.input, grad, *options, order=order),
    }


def _cases() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, int], dict[str, Any]]]:
    """Shapes of input and weight, height and width of the output, and options."""
    yield (3, 1, 28, 28), (6, 1, 5, 5), (28, 28), {"padding": 2}
    yield (2, 6, 14, 14), (16, 6, 5, 5), (10, 10), {}
    yield (2, 3, 9, 11), (4, 3, 3, 2), (5, 5), {"stride": 2, "padding": (1, 0)}
    yield (1, 4, 8, 8), (6, 2, 3, 3), (8, 8), {"padding": 2, "groups": 2, "dilation": 2}
    yield (2, 8, 6, 7), (8, 1, 3, 3), (2, 4), {"stride": (3, 2), "padding": 1, "groups": 8}
    yield (1, 40, 5, 5), (3, 40, 3, 3), (3, 3), {}
    yield (3, 200, 4, 4), (3, 200, 3, 3), (4, 4), {"padding": 1}
    yield (40, 1, 8, 8), (2, 1, 3, 3), (8, 8), {"padding": 1}
    yield (2, 5, 4, 4), (7, 5, 1, 1), (4, 4), {}
    yield (1, 2, 3, 3), (2, 2, 3, 3), (5, 5), {"padding": 2}
    # Single taps, each image a product by itself: in groups, and of several chunks.
    yield (2, 12, 17, 19), (34, 6, 1, 1), (17, 19), {"groups": 2}
    yield (2, 300, 16, 17), (20, 300, 1, 1), (16, 17), {}


conv2d.rows(rows_of("input"))
conv2d_grad_kernel.rows(no_rows)


@conv2d_grad_input.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any]:
    some = rows_of("grad_output")(arguments, rows)
    return {**some, "input_shape": (len(some["grad_output"]), *arguments["input_shape"][1:])}


@conv2d.samples
def _() -> Iterator[Sample]:
    for input_shape, weight_shape, _, options in _cases():
        yield sample(input=f"normal{list(input_shape)}#1", weight=f"normal{list(weight_shape)}#2", **options)
    yield sample(input="normal[2, 3, 6, 6]#1", weight="wide[5, 3, 3, 3]#2", padding=1, bias="normal[5]#3")
    yield sample(input="normal[2, 6, 18, 18]#1", weight="normal[16, 3, 1, 1]#2", groups=2, bias="normal[16]#3")
    # A skipped term does not see its weight: infinities under the padding, and products below the subnormals.
    yield sample(input="normal[1, 2, 4, 4]#1", weight="infinite[3, 2, 3, 3]#2", padding=1)
    yield sample(input="tiny[1, 2, 4, 4]#1", weight="tiny[3, 2, 3, 3]#2", padding=2)
    yield sample(input="special[1, 2, 4, 4]#1", weight="special[3, 2, 3, 3]#2", padding=1, stride=2)


@conv2d_grad_input.samples
def _() -> Iterator[Sample]:
    for input_shape, weight_shape, output, options in _cases():
        grad = [input_shape[0], weight_shape[0], *output]
        yield sample(
            input_shape=input_shape, weight=f"normal{list(weight_shape)}#2", grad_output=f"normal{grad}#3", **options
        )
    yield sample(
        input_shape=(1, 2, 7, 7),
        weight="infinite[3, 2, 3, 3]#2",
        grad_output="normal[1, 3, 4, 4]#3",
        padding=1,
        stride=2,
    )
    yield sample(input_shape=(1, 2, 4, 4), weight="tiny[3, 2, 3, 3]#2", grad_output="tiny[1, 3, 4, 4]#3", padding=1)

    # Remainders modulo the stride have taps of their own: some of several chunks, chunks without any, taps two rows
    # apart, and none at all.
    for input_shape, weight_shape, output, stride, dilation in (
        ((2, 3, 13, 11), (70, 3, 4, 4), (4, 3), 3, 1),
        ((1, 2, 26, 35), (3, 2, 17, 17), (2, 3), 9, 1),
        ((1, 2, 14, 13), (40, 2, 5, 3), (2, 3), 4, (2, 1)),
        ((1, 2, 9, 10), (300, 2, 1, 2), (5, 3), (2, 4), 1),
        ((1, 1, 40, 3), (2, 1, 33, 1), (2, 1), (7, 5), 1),
    ):
        yield sample(
            input_shape=input_shape,
            weight=f"normal{list(weight_shape)}#2",
            grad_output=f"normal{[input_shape[0], weight_shape[0], *output]}#3",
            stride=stride,
            dilation=dilation,
        )


@conv2d_grad_kernel.samples
def _() -> Iterator[Sample]:
    for input_shape, weight_shape, output, options in _cases():
        grad = [input_shape[0], weight_shape[0], *output]
        yield sample(
            input=f"normal{list(input_shape)}#1", weight_shape=weight_shape, grad_output=f"normal{grad}#3", **options
        )
    yield sample(
        input="normal[1, 2, 4, 4]#1", weight_shape=(3, 2, 3, 3), grad_output="infinite[1, 3, 4, 4]#3", padding=1
    )
    yield sample(input="tiny[1, 2, 4, 4]#1", weight_shape=(3, 2, 3, 3), grad_output="tiny[1, 3, 4, 4]#3", padding=1)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


@conv2d.oracle
def _(
    input: Any, weight: Any, stride: Any = 1, padding: Any = 0, groups: int = 1, dilation: Any = 1, bias: Any = None
) -> Any:
    (sh, sw), (ph, pw), (dh, dw) = _pair(stride), _pair(padding), _pair(dilation)
    n, c, h, w = input.shape
    o, _, kh, kw = weight.shape
    p = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    q = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    padded = np.pad(input, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    output = np.zeros((n, o, p, q))
    for g in range(groups):
        channels, filters = slice(g * c // groups, (g + 1) * c // groups), slice(g * o // groups, (g + 1) * o // groups)
        for u in range(kh):
            for v in range(kw):
                part = padded[:, channels, u * dh : u * dh + p * sh : sh, v * dw : v * dw + q * sw : sw][:, :, :p, :q]
                output[:, filters] += np.einsum("ncpq,oc->nopq", part, weight[filters, :, u, v])
    return output if bias is None else output + bias[:, None, None]
