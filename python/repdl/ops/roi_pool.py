# SPDX-License-Identifier: MIT
"""The largest elements of images in the bins of boxes in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from repdl._op import Pair, Sample, Tensor, no_rows, op, rows_of, sample


@op(outputs=("output", "places"))
def roi_pool(
    input: Tensor, boxes: Tensor, indices: Tensor, output_size: Pair, spatial_scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Each box, cut into bins: the largest element of each, and where it is.

    Args:
        input: float32 or float64, (n, c, h, w).
        boxes: as input, (k, 4): x1, y1, x2, y2, which are rounded to elements. The last ones belong to the box.
        indices: int64, (k): the image of each box.
        output_size: the numbers of bins, (p, q). Neighbours may share elements.
        spatial_scale: what coordinates are multiplied with to be those of the image.

    Returns:
        output: (k, c, p, q); 0 for a bin outside of the image.
        places: int64, of the same shape: the row-major number in the image, or -1.
    """


@op(outputs=("grad_input",))
def roi_pool_grad(grad_output: Tensor, places: Tensor, indices: Tensor, input_size: Sequence[int]) -> Tensor:
    """The gradient of `roi_pool` by its input, of size `input_size`. There is none by the boxes."""


@roi_pool.backward(saves=("input", "indices", "places"), non_differentiable=("places",))
def _(saved: Any, grad: Any, *_: Any) -> dict[str, Any]:
    return {"input": lambda: roi_pool_grad(grad, saved.places, saved.indices, tuple(saved.input.shape))}


roi_pool.rows(rows_of("boxes", "indices"))
roi_pool_grad.rows(no_rows)


def _calls() -> Iterator[tuple[str, tuple[int, ...], str, int, tuple[int, int], float]]:
    """Numbers, shape of the images, boxes, how many, bins, scale."""
    yield "normal", (2, 5, 13, 17), "unit", 7, (3, 4), 16.0
    yield "normal", (2, 3, 13, 17), "uniform", 9, (7, 7), 18.5
    yield "normal", (1, 40, 9, 21), "unit", 6, (2, 3), 20.0
    yield "normal", (2, 67, 9, 12), "unit", 50, (3, 3), 11.0
    yield "normal", (1, 2, 5, 300), "unit", 4, (1, 5), 299.0
    yield "normal", (2, 3, 1, 1), "unit", 4, (2, 2), 1.0
    yield "normal", (2, 3, 4, 5), "unit", 0, (2, 2), 1.0
    yield "special", (2, 5, 6, 7), "unit", 20, (2, 2), 8.0
    yield "zeros", (2, 5, 6, 7), "unit", 9, (2, 2), 8.0
    yield "few", (2, 18, 6, 7), "unit", 9, (2, 3), 8.0
    yield "normal", (2, 5, 6, 7), "special", 30, (2, 2), 1.0
    yield "normal", (2, 3, 6, 7), "wide", 20, (3, 3), 1.0
    yield "normal", (2, 3, 6, 7), "bits", 20, (3, 3), 1.0


def _text(kind: str, shape: tuple[int, ...], seed: int) -> str:
    return f"{kind}[{', '.join(map(str, shape))}]#{seed}"


@roi_pool.samples
def _() -> Iterator[Sample]:
    for i, (kind, shape, of_boxes, count, bins, scale) in enumerate(_calls()):
        boxes, indices = _text(of_boxes, (count, 4), i + 20), _text(f"classes{shape[0]}", (count,), i + 40)
        yield sample(input=_text(kind, shape, i), boxes=boxes, indices=indices, output_size=bins, spatial_scale=scale)


@roi_pool_grad.samples
def _() -> Iterator[Sample]:
    for i, (kind, shape, _boxes, count, bins, _scale) in enumerate(_calls()):
        grads = count, shape[1], *bins
        places, indices = f"classes{shape[2] * shape[3]}", f"classes{shape[0]}"
        yield sample(
            grad_output=_text(kind, grads, i),
            places=_text(places, grads, i + 20),
            indices=_text(indices, (count,), i + 40),
            input_size=shape,
        )


def _bins(start: float, end: float, bins: int, size: int, scale: float) -> list[slice]:
    """Of a box along an axis."""
    first, last = (int(np.floor(abs(x * scale) + 0.5) * np.sign(x)) for x in (start, end))
    bin = max(last - first + 1, 1) / bins
    low, high = np.floor(np.arange(bins) * bin), np.ceil(np.arange(1, bins + 1) * bin - 1e-6)
    return [slice(*np.clip((first + a, first + b), 0, size).astype(int)) for a, b in zip(low, high, strict=True)]


@roi_pool.oracle
def _(input: Any, boxes: Any, indices: Any, output_size: Any, spatial_scale: float = 1.0) -> Any:
    height, width = input.shape[2:]
    output = np.zeros((len(boxes), input.shape[1], *output_size))
    places = np.full(output.shape, -1)
    for r, (x1, y1, x2, y2) in enumerate(boxes):
        for i, rows in enumerate(_bins(y1, y2, output_size[0], height, spatial_scale)):
            for j, columns in enumerate(_bins(x1, x2, output_size[1], width, spatial_scale)):
                part = input[indices[r], :, rows, columns]
                if part.size == 0:
                    continue
                flat = part.reshape(len(part), -1)
                at = flat.argmax(1)
                output[r, :, i, j] = flat.max(1)
                places[r, :, i, j] = (at // part.shape[2] + rows.start) * width + at % part.shape[2] + columns.start
    return output, places


@roi_pool_grad.oracle
def _(grad_output: Any, places: Any, indices: Any, input_size: Any) -> Any:
    grad_input = np.zeros((*input_size[:2], input_size[2] * input_size[3]))
    for r in range(len(grad_output)):
        for c in range(input_size[1]):
            at = places[r, c].reshape(-1)
            np.add.at(grad_input[indices[r], c], at[at >= 0], grad_output[r, c].reshape(-1)[at >= 0])
    return grad_input.reshape(input_size)
