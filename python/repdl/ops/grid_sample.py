# SPDX-License-Identifier: MIT
"""Samples of images and volumes at the places of a grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Tensor:
    """The samples of each image at the places of its grid.

    Args:
        input: float32 or float64, (n, c, h, w) or (n, c, d, h, w).
        grid: (n, p, q, 2) or (n, p, q, r, 3), x first: -1 and 1 are the edges of the image.
        mode: 'bilinear', 'nearest' or 'bicubic'; of volumes, along all three axes.
        padding_mode: what lies outside of an image, 'zeros', 'border' or 'reflection'.
        align_corners: -1 and 1 are the centres of the outermost elements.

    Returns:
        (n, c, p, q) or (n, c, p, q, r).
    """


@op(outputs=("grad_input",))
def grid_sample_grad_input(
    grad_output: Tensor,
    grid: Tensor,
    input_size: tuple[int, ...],
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """The gradient of `grid_sample` by its input, an image of size `input_size`."""


@op(outputs=("grad_grid",))
def grid_sample_grad_grid(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    order: str | None = None,
) -> Tensor:
    """The gradient of `grid_sample` by its grid."""


@grid_sample.backward(saves=("input", "grid"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings = saved.mode, saved.padding_mode, saved.align_corners
    return {
        "input": lambda: grid_sample_grad_input(grad, saved.grid, tuple(saved.input.shape[2:]), *settings),
        "grid": lambda: grid_sample_grad_grid(grad, saved.input, saved.grid, *settings),
    }


grid_sample.rows(rows_of("input", "grid"))
grid_sample_grad_input.rows(rows_of("grad_output", "grid"))
grid_sample_grad_grid.rows(rows_of("grad_output", "input", "grid"))


def _calls() -> Iterator[tuple[str, tuple[int, ...], str, tuple[int, ...], dict[str, object]]]:
    """Numbers, shape of the images, places, their shape, settings."""
    for i, padding in enumerate(("zeros", "border", "reflection")):
        for mode in ("bilinear", "nearest", "bicubic"):
            yield "normal", (2, 5, 3, 4), "normal", (5, 3), {"mode": mode, "padding_mode": padding}
        yield "normal", (2, 3, 3, 2, 4), "normal", (2, 3, 3), {"padding_mode": padding, "align_corners": i != 1}
    yield "normal", (2, 3, 3, 2, 4), "normal", (2, 3, 3), {"mode": "bicubic", "padding_mode": "border"}
    yield "bits", (1, 2, 2, 3, 2), "special", (2, 3, 3), {"mode": "bicubic", "padding_mode": "reflection"}
    yield "special", (2, 5, 3, 4), "zeros", (5, 3), {"mode": "nearest"}
    yield "normal", (1, 3, 3, 4), "special", (5, 13), {"padding_mode": "reflection"}
    yield "bits", (1, 2, 1, 2), "special", (7, 5), {"padding_mode": "reflection", "align_corners": True}
    yield "normal", (2, 66, 6, 7), "uniform", (19, 14), {}
    yield "normal", (0, 3, 3, 4), "normal", (5, 3), {}


def _text(kind: str, shape: tuple[int, ...], seed: int) -> str:
    return f"{kind}[{', '.join(map(str, shape))}]#{seed}"


@grid_sample.samples
def _() -> Iterator[Sample]:
    for kind, shape, places, of_grid, settings in _calls():
        grid = _text(places, (shape[0], *of_grid, len(of_grid)), 2)
        yield sample(input=_text(kind, shape, 1), grid=grid, **settings)


@grid_sample_grad_input.samples
def _() -> Iterator[Sample]:
    for kind, shape, places, of_grid, settings in _calls():
        grid = _text(places, (shape[0], *of_grid, len(of_grid)), 2)
        grad = _text(kind, (*shape[:2], *of_grid), 3)
        yield sample(grad_output=grad, grid=grid, input_size=shape[2:], **settings)


@grid_sample_grad_grid.samples
def _() -> Iterator[Sample]:
    for kind, shape, places, of_grid, settings in _calls():
        grid = _text(places, (shape[0], *of_grid, len(of_grid)), 2)
        grad = _text(kind, (*shape[:2], *of_grid), 3)
        yield sample(grad_output=grad, input=_text(kind, shape, 1), grid=grid, **settings)
