# SPDX-License-Identifier: MIT
"""Sums of elements that were copied to several places: of blocks, of windows, of padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from repdl._op import PerAxis, Sample, Tensor, op, per_axis, rows_of, sample


@op()
def fold(
    input: Tensor,
    output_size: Sequence[int],
    kernel_size: PerAxis,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
) -> Tensor:
    """Puts blocks, as `torch.nn.functional.unfold` gives them, back to their places, and adds up where they overlap.

    Args:
        input: float32 or float64, (n, channels * places of the kernel, blocks) or without n.
        output_size: a number for each of one, two or three dimensions.
        kernel_size, stride, padding, dilation: as many numbers, or one for all.
    """


@op(outputs=("grad_input",))
def unfold_grad(grad_output: Tensor, length: int, step: int) -> Tensor:
    """The gradient of `torch.Tensor.unfold` of the last dimension, of size `length`, by windows that are `step` apart.

    grad_output is of shape (…, windows, size of a window).
    """


@op(outputs=("grad_input",))
def pad_grad(grad_output: Tensor, padding: Sequence[int], mode: str = "reflect", dim: int = 2) -> Tensor:
    """The gradient of padding by elements of the tensor itself.

    Args:
        grad_output: float32 or float64.
        padding: two numbers, before and after, for each of one, two or three dimensions; negative ones cut off.
        mode: 'reflect' or 'replicate'.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).
    """


@fold.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: _blocks(saved, grad).reshape(saved.input_shape)}


def _blocks(saved: Any, grad: Any) -> Any:
    """What the blocks read where they were added up; of padding, zeros."""
    import torch

    rank = len(saved.output_size)
    given = (saved.kernel_size, saved.stride, saved.padding, saved.dilation)
    kernel, stride, padding, dilation = (per_axis(value, rank) for value in given)
    places = torch.nn.functional.pad(grad, [p for p in reversed(padding) for _ in range(2)]).contiguous()
    outer, steps = places.dim() - rank, places.stride()
    counts = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(places.shape[outer:], kernel, stride, dilation, strict=True)
    ]
    of_places = [step * d for step, d in zip(steps[outer:], dilation, strict=True)]
    of_blocks = [step * s for step, s in zip(steps[outer:], stride, strict=True)]
    shape, strides = [*places.shape[:outer], *kernel, *counts], [*steps[:outer], *of_places, *of_blocks]
    return places.as_strided(shape, strides)


@fold.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    return rows_of("input")(arguments, rows) if arguments["input"].ndim == 3 else None


@unfold_grad.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    return rows_of("grad_output")(arguments, rows) if arguments["grad_output"].ndim > 2 else None


@pad_grad.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    return rows_of("grad_output")(arguments, rows) if arguments["dim"] % arguments["grad_output"].ndim else None


@fold.samples
def _() -> Iterator[Sample]:
    uneven: dict[str, object] = {"kernel_size": (3, 2), "stride": (2, 2), "padding": (1, 0), "dilation": (1, 2)}
    yield sample(input="normal[2, 6, 18]#1", output_size=(37,), kernel_size=3, stride=2)
    yield sample(input="normal[2, 18, 8]#1", output_size=(7, 6), **uneven)
    yield sample(input="wide[18, 8]#1", output_size=(7, 6), **uneven)
    yield sample(input="normal[2, 27, 1520]#1", output_size=(38, 40), kernel_size=3, padding=1)
    yield sample(input="normal[1, 12, 96]#1", output_size=(5, 4, 7), kernel_size=(2, 1, 2), padding=(0, 0, 0), stride=1)
    yield sample(
        input="wide[1, 24, 56]#1", output_size=(3, 5, 7), kernel_size=(2, 2, 3), padding=(1, 0, 1), stride=(1, 2, 1)
    )
    yield sample(input="normal[2, 9, 1]#1", output_size=(5,), kernel_size=9, padding=3, stride=4)
    yield sample(input="normal[0, 8, 12]#1", output_size=(4, 5), kernel_size=2)
    for kind in ("tiny", "bits", "special", "zeros"):
        yield sample(input=f"{kind}[2, 18, 36]#1", output_size=(6, 6), kernel_size=3, padding=1)


@unfold_grad.samples
def _() -> Iterator[Sample]:
    yield sample(grad_output="normal[4, 8, 5]#1", length=20, step=2)
    yield sample(grad_output="wide[2, 3, 33, 7]#1", length=39, step=1)
    yield sample(grad_output="normal[5, 3]#1", length=25, step=4)
    yield sample(grad_output="normal[20, 300, 9]#1", length=310, step=1)
    yield sample(grad_output="normal[3, 0, 5]#1", length=4, step=1)
    for kind in ("bits", "special", "zeros"):
        yield sample(grad_output=f"{kind}[3, 19, 4]#1", length=40, step=2)


def _paddings() -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], int]]:
    """Numbers, shape of the gradient, padding, first dimension."""
    yield "normal", (2, 3, 40), (3, 4), 2
    yield "wide", (2, 12, 19), (3, 4), 1
    yield "normal", (2, 3, 9, 11), (1, 2, 3, 0), 2
    yield "wide", (2, 3, 9, 31), (1, 2, 3, 0), -2
    yield "normal", (2, 9, 11, 3), (1, 2, 3, 0), 1
    yield "normal", (1, 9, 9, 18), (2, 2, 0, 4), 1
    yield "normal", (2, 2, 6, 7, 8), (1, 1, 2, 0, 0, 3), 2
    yield "wide", (1, 6, 7, 8, 5), (1, 1, 2, 0, 0, 3), 1
    yield "normal", (2, 3, 9, 11), (-1, 2, 1, -3), 2
    yield "normal", (3, 5, 60, 62), (3, 3, 2, 3), 2
    yield "normal", (0, 2, 9), (2, 2), 2
    for kind in ("bits", "special", "zeros"):
        yield kind, (3, 2, 9, 21), (2, 1, 5, 6), 2


@pad_grad.samples
def _() -> Iterator[Sample]:
    for kind, shape, padding, dim in _paddings():
        for mode in ("reflect", "replicate"):
            text = f"{kind}[{', '.join(map(str, shape))}]#1"
            yield sample(grad_output=text, padding=padding, mode=mode, dim=dim)
    yield sample(grad_output="normal[2, 3, 20]#1", padding=(9, 8), mode="replicate")
    for none_left in ((-4, 5), (-5, 6), (6, -5)):  # of a size of 4
        yield sample(grad_output="normal[2, 3, 5]#1", padding=none_left, mode="replicate")
