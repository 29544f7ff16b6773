# SPDX-License-Identifier: MIT
"""Means of images over the bins of boxes in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from repdl._op import Pair, Sample, Tensor, no_rows, op, rows_of, sample


@op()
def roi_align(
    input: Tensor,
    boxes: Tensor,
    indices: Tensor,
    output_size: Pair,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Each box, cut into bins: the mean of an image at points of each, between which it is linear.

    Args:
        input: float32 or float64, (n, c, h, w).
        boxes: as input, (k, 4): x1, y1, x2, y2.
        indices: int64, (k): the image of each box.
        output_size: the numbers of bins, (p, q).
        spatial_scale: what coordinates are multiplied with to be those of the image.
        sampling_ratio: the points of a bin along each axis; if not above 0, as many as it has elements, rounded up.
        aligned: an element lies at its centre; else a box is shifted by half an element, and at least one large.

    Returns:
        (k, c, p, q).
    """


@op(outputs=("grad_input",))
def roi_align_grad(
    grad_output: Tensor,
    boxes: Tensor,
    indices: Tensor,
    input_size: Sequence[int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """The gradient of `roi_align` by its input, of size `input_size`. There is none by the boxes."""


@roi_align.backward(saves=("input", "boxes", "indices"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings = saved.spatial_scale, saved.sampling_ratio, saved.aligned
    size = tuple(saved.input.shape)
    return {"input": lambda: roi_align_grad(grad, saved.boxes, saved.indices, size, *settings)}


@roi_align_grad.backward(saves=("grad_output", "boxes", "indices"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings = saved.spatial_scale, saved.sampling_ratio, saved.aligned
    size = tuple(saved.grad_output.shape[2:])
    return {"grad_output": lambda: roi_align(grad, saved.boxes, saved.indices, size, *settings)}


roi_align.rows(rows_of("boxes", "indices"))
roi_align_grad.rows(no_rows)


def _calls() -> Iterator[tuple[str, tuple[int, ...], str, int, tuple[int, int], dict[str, Any]]]:
    """Numbers, shape of the images, boxes, how many, bins, settings."""
    yield "normal", (2, 5, 13, 17), "unit", 7, (3, 4), {"spatial_scale": 16.0}
    yield "normal", (2, 3, 13, 17), "unit", 5, (7, 7), {"spatial_scale": 18.5, "sampling_ratio": 2}
    yield "normal", (1, 40, 9, 21), "unit", 6, (2, 3), {"spatial_scale": 20.0, "aligned": True}
    yield "normal", (3, 33, 15, 14), "uniform", 9, (7, 7), {"spatial_scale": 15.0, "sampling_ratio": 3, "aligned": True}
    yield "normal", (2, 70, 40, 9), "unit", 21, (2, 2), {"spatial_scale": 40.0, "sampling_ratio": 1}
    yield "normal", (1, 2, 5, 300), "unit", 4, (1, 5), {"spatial_scale": 299.0, "sampling_ratio": 2}
    yield "normal", (2, 67, 9, 12), "unit", 150, (3, 3), {"spatial_scale": 11.0, "sampling_ratio": 2}
    yield "normal", (1, 1, 14, 35), "unit", 6, (3, 19), {"spatial_scale": 33.0, "aligned": True}
    yield "normal", (2, 3, 1, 1), "unit", 4, (2, 2), {}
    yield "normal", (2, 3, 4, 5), "unit", 0, (2, 2), {}
    yield "special", (2, 5, 6, 7), "unit", 9, (2, 2), {"spatial_scale": 8.0}
    yield "zeros", (2, 5, 6, 7), "unit", 9, (2, 2), {"spatial_scale": 8.0, "sampling_ratio": 2}
    yield "tiny", (2, 5, 6, 7), "unit", 9, (3, 2), {"spatial_scale": 8.0}
    yield "normal", (2, 5, 6, 7), "special", 30, (2, 2), {}
    yield "normal", (2, 5, 6, 7), "special", 30, (2, 2), {"sampling_ratio": 2, "aligned": True}
    yield "normal", (2, 3, 6, 7), "wide", 20, (3, 3), {"aligned": True}
    yield "normal", (2, 3, 6, 7), "bits", 20, (3, 3), {"sampling_ratio": 1}


def _text(kind: str, shape: tuple[int, ...], seed: int) -> str:
    return f"{kind}[{', '.join(map(str, shape))}]#{seed}"


@roi_align.samples
def _() -> Iterator[Sample]:
    for i, (kind, shape, of_boxes, count, bins, settings) in enumerate(_calls()):
        boxes, indices = _text(of_boxes, (count, 4), i + 20), _text(f"classes{shape[0]}", (count,), i + 40)
        yield sample(input=_text(kind, shape, i), boxes=boxes, indices=indices, output_size=bins, **settings)


@roi_align_grad.samples
def _() -> Iterator[Sample]:
    for i, (kind, shape, of_boxes, count, bins, settings) in enumerate(_calls()):
        boxes, indices = _text(of_boxes, (count, 4), i + 20), _text(f"classes{shape[0]}", (count,), i + 40)
        grad = _text(kind, (count, shape[1], *bins), i)
        yield sample(grad_output=grad, boxes=boxes, indices=indices, input_size=shape, **settings)


def _weights(start: float, end: float, bins: int, size: int, scale: float, ratio: int, aligned: bool) -> Any:
    """Of each bin, the weight of each element along an axis."""
    low = start * scale - 0.5 * aligned
    length = (end - start) * scale if aligned else max((end - start) * scale, 1.0)
    points = ratio if ratio > 0 else max(int(np.ceil(length / bins)), 0)
    weights = np.zeros((bins, size))
    for k in range(points):
        at = low + (np.arange(bins) + (k + 0.5) / points) * length / bins
        inside = (at >= -1) & (at <= size)
        at = at.clip(0, size - 1)
        weights += inside[:, None] * np.maximum(1 - np.abs(at[:, None] - np.arange(size)), 0) / points
    return weights


def _of_boxes(boxes: Any, size: Any, bins: Any, scale: float, ratio: int, aligned: bool) -> Iterator[tuple[Any, Any]]:
    """Of each box the weights along y and x."""
    for x1, y1, x2, y2 in boxes:
        yield (
            _weights(y1, y2, bins[0], size[0], scale, ratio, aligned),
            _weights(x1, x2, bins[1], size[1], scale, ratio, aligned),
        )


@roi_align.oracle
def _(
    input: Any,
    boxes: Any,
    indices: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Any:
    output = np.zeros((len(boxes), input.shape[1], *output_size))
    settings = spatial_scale, sampling_ratio, aligned
    for r, (y, x) in enumerate(_of_boxes(boxes, input.shape[2:], output_size, *settings)):
        output[r] = y @ input[indices[r]] @ x.T
    return output


@roi_align_grad.oracle
def _(
    grad_output: Any,
    boxes: Any,
    indices: Any,
    input_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Any:
    grad_input = np.zeros(input_size)
    settings = spatial_scale, sampling_ratio, aligned
    for r, (y, x) in enumerate(_of_boxes(boxes, input_size[2:], grad_output.shape[2:], *settings)):
        grad_input[indices[r]] += y.T @ grad_output[r] @ x
    return grad_input
