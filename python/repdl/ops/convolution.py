# SPDX-License-Identifier: MIT
"""Convolutions of one, two and three dimensions, transposed too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from repdl._op import Pair, PerAxis, Sample, Tensor, no_rows, op, per_axis, rows_of, sample
from repdl.ops.sum import sum as sum_of


@op()
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    transposed: bool = False,
    output_padding: PerAxis = 0,
    groups: int = 1,
    order: str | None = None,
) -> Tensor:
    """Convolution (cross-correlation) of one, two or three dimensions of space, or a transposed one.

    Args:
        input: float32 or float64, (n, c, …).
        weight: as input, with as many dimensions: (o, c / groups, …), or (c, o / groups, …) if transposed.
        bias: as input, (o), or None.
        stride, padding, dilation: a number, or one for each dimension of space.
        transposed: whether it is the gradient of a convolution by its input.
        output_padding: if transposed, the places more that the output has at its ends; less than stride or dilation.
        groups: divides c and o.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        As input, (n, o, …).
    """


@op()
def convolution_grad_input(
    input_shape: tuple[int, ...],
    weight: Tensor,
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    transposed: bool = False,
    output_padding: PerAxis = 0,
    groups: int = 1,
    order: str | None = None,
) -> Tensor:
    """The gradient of convolution by its input, of shape `input_shape`; grad_output has the shape of its output."""


@op()
def convolution_grad_kernel(
    input: Tensor,
    weight_shape: tuple[int, ...],
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    transposed: bool = False,
    output_padding: PerAxis = 0,
    groups: int = 1,
    order: str | None = None,
) -> Tensor:
    """The gradient of convolution by its weight, of shape `weight_shape`; grad_output has the shape of its output."""


def conv1d(
    input: Tensor,
    weight: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
    bias: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """`convolution` of one dimension: input (n, c, w), weight (o, c / groups, kw)."""
    _check_rank("conv1d", input, 1)
    return convolution(input, weight, bias, stride, padding, dilation, groups=groups, order=order)


def conv3d(
    input: Tensor,
    weight: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
    bias: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """`convolution` of three dimensions: input (n, c, d, h, w), weight (o, c / groups, kd, kh, kw)."""
    _check_rank("conv3d", input, 3)
    return convolution(input, weight, bias, stride, padding, dilation, groups=groups, order=order)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
    bias: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """`convolution`, transposed, of one dimension: input (n, c, w), weight (c, o / groups, kw)."""
    _check_rank("conv_transpose1d", input, 1)
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups, order)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
    bias: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """`convolution`, transposed, of two dimensions: input (n, c, h, w), weight (c, o / groups, kh, kw)."""
    _check_rank("conv_transpose2d", input, 2)
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups, order)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
    bias: Tensor | None = None,
    order: str | None = None,
) -> Tensor:
    """`convolution`, transposed, of three dimensions: input (n, c, d, h, w), weight (c, o / groups, kd, kh, kw)."""
    _check_rank("conv_transpose3d", input, 3)
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups, order)


def _check_rank(name: str, input: Any, rank: int) -> None:
    if len(input.shape) != rank + 2:
        raise ValueError(f"[{name}] input must have {rank + 2} dimensions, got the shape {tuple(input.shape)}")


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


def _settings(saved: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    return saved.stride, saved.padding, saved.dilation, saved.transposed, saved.output_padding, saved.groups


@convolution.backward(saves=("input", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings, order = _settings(saved), saved.order
    return {
        "input": lambda: convolution_grad_input(saved.input_shape, saved.weight, grad, *settings, order=order),
        "weight": lambda: convolution_grad_kernel(saved.input, saved.weight_shape, grad, *settings, order=order),
        "bias": lambda: sum_of(grad, (0, *range(2, grad.dim())), order=order),
    }


@convolution_grad_input.backward(saves=("weight", "grad_output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings, order = _settings(saved), saved.order
    return {
        "weight": lambda: convolution_grad_kernel(grad, saved.weight_shape, saved.grad_output, *settings, order=order),
        "grad_output": lambda: convolution(grad, saved.weight, None, *settings, order=order),
    }


@convolution_grad_kernel.backward(saves=("input", "grad_output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings, order = _settings(saved), saved.order
    return {
        "input": lambda: convolution_grad_input(saved.input_shape, grad, saved.grad_output, *settings, order=order),
        "grad_output": lambda: convolution(saved.input, grad, None, *settings, order=order),
    }


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
    # More padding than the taps span: windows of padding alone, which neighbouring lines could share.
    yield (2, 3, 5, 12), (4, 3, 1, 1), (9, 18), {"padding": (2, 3)}
    yield (1, 1, 4, 7), (3, 1, 2, 2), (5, 16), {"padding": (3, 5), "stride": (2, 1)}


convolution.rows(rows_of("input"))
conv2d.rows(rows_of("input"))
convolution_grad_kernel.rows(no_rows)
conv2d_grad_kernel.rows(no_rows)


def _rows_of_grad(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any]:
    some = rows_of("grad_output")(arguments, rows)
    return {**some, "input_shape": (len(some["grad_output"]), *arguments["input_shape"][1:])}


convolution_grad_input.rows(_rows_of_grad)
conv2d_grad_input.rows(_rows_of_grad)


Shape: TypeAlias = tuple[int, ...]


def _sizes(input: Shape, weight: Shape, options: Mapping[str, Any]) -> Shape:
    """Shape of the output."""
    rank = len(input) - 2
    stride, padding, dilation, more = (
        per_axis(options.get(name, first), rank)
        for name, first in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
    )
    axes = zip(input[2:], weight[2:], stride, padding, dilation, more, strict=True)
    if options.get("transposed"):
        sizes = [(n - 1) * s - 2 * p + d * (k - 1) + m + 1 for n, k, s, p, d, m in axes]
        return (input[0], weight[1] * options.get("groups", 1), *sizes)
    return (input[0], weight[0], *[(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in axes])


def _calls() -> Iterator[tuple[Shape, Shape, dict[str, Any]]]:
    """Shapes of input and weight, and options."""
    # One dimension: several chunks, of channels alone, strides, phases that lack taps.
    yield (2, 5, 37), (4, 5, 3), {"padding": 1}
    yield (1, 100, 70), (9, 100, 3), {"padding": 2, "dilation": 2}
    yield (3, 4, 41), (6, 2, 4), {"stride": 3, "groups": 2}
    yield (2, 40, 30), (40, 1, 4), {"padding": 3, "groups": 40}
    yield (2, 20, 300), (5, 20, 1), {}
    # Few channels and a stride: chunks that end inside a channel; then patches with few channels in a chunk, or one.
    yield (2, 1, 131), (60, 1, 10), {"stride": 5, "padding": 3}
    yield (2, 2, 13, 14), (30, 2, 4, 6), {"stride": (2, 3), "padding": (1, 2)}
    yield (1, 2, 17, 24), (21, 2, 8, 8), {"stride": 8}
    yield (1, 1, 16, 33), (9, 1, 16, 16), {"stride": 16}
    # Three.
    yield (1, 3, 5, 6, 7), (4, 3, 3, 3, 3), {"padding": 1}
    yield (
        (2, 4, 6, 5, 9),
        (6, 2, 2, 3, 2),
        {"stride": (2, 1, 3), "padding": (1, 0, 1), "groups": 2, "dilation": (1, 2, 1)},
    )
    yield (1, 16, 3, 9, 10), (16, 1, 3, 3, 3), {"padding": 1, "groups": 16}
    yield (1, 12, 5, 4, 5), (3, 12, 3, 1, 1), {"padding": (1, 0, 0)}
    yield (1, 300, 4, 8, 9), (7, 300, 1, 1, 1), {}
    # Transposed: boxes that do not touch or leave a rest, of one place or of many, and others.
    of_boxes: dict[str, Any] = {"transposed": True, "stride": 2}
    yield (2, 300, 20, 21), (300, 3, 2, 2), of_boxes
    yield (5, 6, 3, 4, 3), (6, 2, 2, 2, 2), {**of_boxes, "output_padding": 1, "groups": 2}
    yield (7, 40, 1, 1), (40, 6, 4, 4), {"transposed": True}
    yield (1, 4, 9), (4, 3, 2), {"transposed": True, "stride": 3, "output_padding": 2}
    yield (2, 40, 9), (40, 5, 16), {"transposed": True, "stride": 8, "padding": 4}
    yield (1, 5, 7, 6), (5, 2, 4, 3), {**of_boxes, "padding": 1, "groups": 5}
    yield (
        (2, 3, 4, 3, 4),
        (3, 2, 2, 3, 2),
        {**of_boxes, "dilation": (1, 3, 2), "output_padding": (1, 2, 0), "padding": 1},
    )
    # More padding than the taps span, or places between the windows: of one channel, of several, in groups, transposed.
    yield (2, 1, 3), (3, 1, 1), {"padding": 5}
    yield (2, 1, 3, 12), (5, 1, 3, 1), {"padding": (1, 4)}
    yield (1, 6, 4, 7), (6, 1, 1, 2), {"padding": (3, 6), "stride": (2, 1), "groups": 6}
    yield (2, 4, 5, 8), (6, 2, 1, 1), {"padding": (1, 2), "stride": (3, 2), "groups": 2}
    yield (1, 2, 2, 3, 9), (3, 2, 1, 1, 1), {"padding": (1, 2, 4)}
    yield (2, 3, 6, 18), (3, 4, 1, 1), {"transposed": True, "padding": (1, 3)}
    yield (1, 3, 4, 5), (3, 2, 1, 1), {"transposed": True, "stride": 3, "padding": 1, "output_padding": 2}
    yield (2, 3, 1), (4, 3, 1), {"padding": 1, "stride": 5}
    # Boxes of more channels than a tile of the product has rows, with a bias: threads share its rows.
    yield (2, 6, 5, 5), (6, 30, 2, 2), of_boxes
    # Few channels, large strides, and kernels longer than a chain.
    yield (1, 1, 1000), (7, 1, 300), {"stride": 130, "padding": 20}
    yield (2, 2, 330), (9, 2, 64), {"stride": 16}
    yield (1, 9, 3), (9, 1, 512), {"transposed": True, "stride": 128}


def _hostile() -> Iterator[tuple[str, Shape, Shape, dict[str, Any]]]:
    """Numbers that absent terms must not meet, and calls in which every result lacks some."""
    of_volumes = (1, 2, 2, 3, 2), (3, 2, 3, 3, 3), {"padding": 1, "stride": 2}
    of_channels = (1, 9, 6), (9, 1, 3), {"padding": 1, "groups": 9}
    of_phases = (1, 1, 19), (30, 1, 10), {"padding": 2, "stride": 5}
    of_long_phases = (1, 1, 500), (3, 1, 300), {"padding": 130, "stride": 100}
    yield "infinite", (2, 1, 7), (1, 1, 5), {"padding": 4}
    yield "infinite", (1, 3, 2, 2), (3, 2, 4, 4), {"transposed": True, "stride": 3}
    for kind in ("infinite", "tiny", "special"):
        yield kind, *of_volumes
        yield kind, *of_channels
        yield kind, *of_phases
        yield kind, *of_long_phases
    # Windows of padding alone.
    for kind in ("infinite", "tiny", "special", "zeros"):
        yield kind, (1, 2, 3, 12), (3, 2, 1, 1), {"padding": (1, 3)}
        yield kind, (1, 1, 3, 11), (2, 1, 1, 2), {"padding": (2, 4)}
        yield kind, (1, 4, 2, 12), (4, 1, 1, 1), {"padding": (2, 3), "groups": 4}
        yield kind, (1, 2, 5, 18), (2, 2, 1, 1), {"transposed": True, "padding": (1, 3)}


def _tensor(kind: str, shape: Shape, seed: int) -> str:
    return f"{kind}{list(shape)}#{seed}"


@convolution.samples
def _() -> Iterator[Sample]:
    for i, (input, weight, options) in enumerate(_calls()):
        bias = {"bias": _tensor("normal", _sizes(input, weight, options)[1:2], 3)} if i % 2 else {}
        yield sample(input=_tensor("normal", input, 1), weight=_tensor("normal", weight, 2), **bias, **options)
    for kind, input, weight, options in _hostile():
        of_input = "normal" if kind == "infinite" else kind
        yield sample(input=_tensor(of_input, input, 1), weight=_tensor(kind, weight, 2), **options)
    yield sample(input="normal[0, 2, 5]#1", weight="normal[3, 2, 2]#2")


@convolution_grad_input.samples
def _() -> Iterator[Sample]:
    for input, weight, options in _calls():
        grad = _tensor("normal", _sizes(input, weight, options), 3)
        yield sample(input_shape=input, weight=_tensor("normal", weight, 2), grad_output=grad, **options)
    for kind, input, weight, options in _hostile():
        grad = _tensor("normal" if kind == "infinite" else kind, _sizes(input, weight, options), 3)
        yield sample(input_shape=input, weight=_tensor(kind, weight, 2), grad_output=grad, **options)


@convolution_grad_kernel.samples
def _() -> Iterator[Sample]:
    for input, weight, options in _calls():
        grad = _tensor("normal", _sizes(input, weight, options), 3)
        yield sample(input=_tensor("normal", input, 1), weight_shape=weight, grad_output=grad, **options)
    for kind, input, weight, options in _hostile():
        grad = _tensor(kind, _sizes(input, weight, options), 3)
        yield sample(
            input=_tensor("normal" if kind == "infinite" else kind, input, 1),
            weight_shape=weight,
            grad_output=grad,
            **options,
        )


@convolution.oracle
def _(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    transposed: bool = False,
    output_padding: Any = 0,
    groups: int = 1,
) -> Any:
    rank = input.ndim - 2
    options = {
        "stride": per_axis(stride, rank), "padding": per_axis(padding, rank), "dilation": per_axis(dilation, rank),
        "output_padding": output_padding, "transposed": transposed, "groups": groups,
    }  # fmt: skip
    output: Any = np.zeros(_sizes(input.shape, weight.shape, options))
    # The one that is read at the places of the other, with room around it.
    small, large = (input, output) if transposed else (output, input)
    padded: Any = np.zeros((*large.shape[:2], *(n + 2 * p + 64 for n, p in zip(large.shape[2:], options["padding"]))))
    inside = (..., *(slice(p, p + n) for n, p in zip(large.shape[2:], options["padding"])))
    if not transposed:
        padded[inside] = input
    by_group = small.shape[1] // groups, large.shape[1] // groups
    for g, place in product(range(groups), np.ndindex(weight.shape[2:])):
        of_small, of_large = (slice(g * n, (g + 1) * n) for n in by_group)
        met = tuple(
            slice(u * d, u * d + (n - 1) * s + 1, s)
            for u, d, n, s in zip(place, options["dilation"], small.shape[2:], options["stride"])
        )
        rows = weight[(of_small, slice(None), *place)]
        if transposed:
            padded[(slice(None), of_large, *met)] += np.einsum("nc...,co->no...", small[:, of_small], rows)
        else:
            small[:, of_small] += np.einsum("nc...,oc->no...", padded[(slice(None), of_large, *met)], rows)
    result = padded[inside] if transposed else output
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


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
