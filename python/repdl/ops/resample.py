# SPDX-License-Identifier: MIT
"""Resizing by interpolation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def resample(
    input: Tensor,
    size: Sequence[int],
    mode: str = "linear",
    antialias: bool = False,
    align_corners: bool = False,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
    dim: int = 2,
) -> Tensor:
    """input with some dimensions resized by interpolation.

    Args:
        input: float32 or float64.
        size: the new sizes of one, two or three dimensions.
        mode: 'linear', 'cubic' or, with antialias, 'lanczos', along each of them; 'nearest' or 'nearest-exact' for the
            nearest element, by torch's two rules.
        antialias: the filter is as many times wider as the result is smaller.
        align_corners: the first and last elements stay where they are, instead of the edges.
        scales_d, scales_h, scales_w: the factors that the sizes were rounded from. A last dimension takes scales_w, the
            one before it scales_h.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).
    """


@op(outputs=("grad_input",))
def resample_grad(
    grad_output: Tensor,
    input_size: Sequence[int],
    mode: str = "linear",
    antialias: bool = False,
    align_corners: bool = False,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
    dim: int = 2,
) -> Tensor:
    """The gradient of `resample` by its input, whose resized dimensions had the sizes `input_size`."""


@resample.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    first = saved.dim % grad.dim()
    sizes = tuple(saved.input.shape[first : first + len(saved.size)])
    scales = saved.scales_d, saved.scales_h, saved.scales_w
    filter = saved.mode, saved.antialias, saved.align_corners
    return {"input": lambda: resample_grad(grad, sizes, *filter, *scales, saved.dim)}


@resample_grad.backward(saves=("grad_output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    first = saved.dim % grad.dim()
    sizes = tuple(saved.grad_output.shape[first : first + len(saved.input_size)])
    scales = saved.scales_d, saved.scales_h, saved.scales_w
    filter = saved.mode, saved.antialias, saved.align_corners
    return {"grad_output": lambda: resample(grad, sizes, *filter, *scales, saved.dim)}


def _rows(name: str) -> Any:
    def rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        if arguments["dim"] % arguments[name].ndim == 0:
            return None
        return rows_of(name)(arguments, rows)

    return rows


resample.rows(_rows("input"))
resample_grad.rows(_rows("grad_output"))


def _calls() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]]:
    """Shapes, new sizes and settings."""
    yield (3, 2, 37), (50,), {}
    yield (2, 3, 7), (16,), {"scales_w": 2.3, "dim": -1}
    yield (4, 9), (3,), {"mode": "cubic", "dim": 0}
    yield (2, 3, 13, 19), (20, 33), {"align_corners": True}
    yield (2, 2, 40, 70), (60, 61), {}
    yield (2, 13, 19, 3), (24, 10), {"mode": "cubic", "dim": 1}
    yield (1, 30, 31, 33), (40, 17), {"antialias": True, "dim": 1}
    yield (2, 2, 33, 41), (7, 50), {"mode": "cubic", "antialias": True, "scales_h": 0.22}
    yield (1, 3, 1, 2), (3, 1), {"mode": "cubic"}
    yield (2, 9, 8), (9, 8), {"dim": 1}
    yield (2, 2, 4, 6, 5), (7, 3, 11), {"scales_d": 1.8}
    yield (1, 3, 4, 5, 2), (3, 8, 9), {"mode": "cubic", "dim": 1}
    yield (0, 3, 4, 5), (3, 8), {}
    yield (3, 2, 37), (50,), {"mode": "nearest"}
    yield (2, 3, 6), (12,), {"mode": "nearest", "scales_w": 2.15}
    yield (2, 13, 19, 3), (24, 10), {"mode": "nearest-exact", "dim": 1}
    yield (2, 3, 4, 6, 5), (7, 6, 2), {"mode": "nearest-exact", "scales_d": 1.8, "scales_h": 1.15}
    yield (2, 2, 33, 41), (7, 50), {"mode": "lanczos", "antialias": True, "scales_w": 1.22}
    yield (2, 13, 90, 3), (40, 21), {"mode": "lanczos", "antialias": True, "dim": 1}


def _samples(name: str, size_name: str, gradient: bool) -> Iterator[Sample]:
    for i, (shape, new, settings) in enumerate(_calls()):
        first = int(settings.get("dim", 2)) % len(shape)  # type: ignore[call-overload]
        resized = (*shape[:first], *new, *shape[first + len(new) :])
        size = shape[first : first + len(new)] if gradient else new
        given = ", ".join(map(str, resized if gradient else shape))
        yield sample(**{name: f"normal[{given}]#{i}", size_name: size}, **settings)
    for kind in ("tiny", "bits", "special", "zeros"):
        yield sample(**{name: f"{kind}[3, 2, 9, 21]#1", size_name: (12, 13)})
    yield sample(**{name: "special[3, 2, 9, 21]#1", size_name: (12, 8)}, antialias=True)
    for kind in ("wide", "special", "zeros"):
        size = (5, 8) if gradient else (12, 13)
        yield sample(**{name: f"{kind}[3, 2, 9, 21]#1", size_name: size}, mode="nearest")


resample.samples(lambda: _samples("input", "size", False))
resample_grad.samples(lambda: _samples("grad_output", "input_size", True))


def _matrix(size: int, new: int, mode: str, antialias: bool, align_corners: bool, factor: float | None) -> Any:
    """The weights of a dimension, (new, size)."""
    if size == new and (mode == "linear" or antialias):
        return np.eye(size)
    scale = size / new if not factor else 1 / factor
    if mode.startswith("nearest"):
        shift = 0.5 if mode == "nearest-exact" else 0.0
        return np.eye(size)[np.minimum(np.floor((np.arange(new) + shift) * scale + 1e-6), size - 1).astype(int)]
    if align_corners:
        scale = (size - 1) / (new - 1) if new > 1 else 0.0
    stretch = max(scale, 1.0) if antialias else 1.0
    place = np.arange(new) * scale if align_corners and not antialias else (np.arange(new) + 0.5) * scale - 0.5
    if mode == "linear" and not antialias:
        place = place.clip(0, size - 1)
    a = -0.5 if antialias else -0.75
    near = np.arange(-2 * size - 4, 3 * size + 5)  # of a place outside, too
    x = np.abs((near - place[:, None]) / stretch)
    cubic = np.where(x < 1, ((a + 2) * x - (a + 3)) * x * x + 1, np.where(x < 2, a * (((x - 5) * x + 8) * x - 4), 0))
    lanczos = np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)
    weights = {"linear": np.maximum(1 - x, 0), "cubic": cubic, "lanczos": lanczos}[mode]
    matrix = np.zeros((new, size))
    for j, at in enumerate(near.tolist()):
        if not antialias or 0 <= at < size:
            matrix[:, min(max(at, 0), size - 1)] += weights[:, j]
    return matrix / matrix.sum(1, keepdims=True) if antialias else matrix


def _resampled(x: Any, sizes: Any, gradient: bool, args: tuple[Any, ...]) -> Any:
    mode, antialias, align_corners, *scales, dim = args
    for i, other in enumerate(sizes):
        at = dim % x.ndim + i
        size, new = (other, x.shape[at]) if gradient else (x.shape[at], other)
        factor = scales[3 - len(sizes) + i]
        matrix = _matrix(size, new, mode, antialias, align_corners, factor)
        x = np.moveaxis(np.tensordot(matrix.T if gradient else matrix, x, (1, at)), 0, at)
    return x


_DEFAULTS = {
    "mode": "linear",
    "antialias": False,
    "align_corners": False,
    "scales_d": None,
    "scales_h": None,
    "scales_w": None,
    "dim": 2,
}


@resample.oracle
def _(input: Any, size: Any, **settings: Any) -> Any:
    return _resampled(input, size, False, tuple({**_DEFAULTS, **settings}.values()))


@resample_grad.oracle
def _(grad_output: Any, input_size: Any, **settings: Any) -> Any:
    return _resampled(grad_output, input_size, True, tuple({**_DEFAULTS, **settings}.values()))
