# SPDX-License-Identifier: MIT
"""Largest elements of windows with their places, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from repdl._op import Pair, PerAxis, Sample, Tensor, op, rows_of, sample


@op(outputs=("output", "indices"))
def max_pool(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: PerAxis = 0,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    dim: int = 2,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its place.

    Args:
        input: float32 or float64.
        kernel_size: a number for each of one, two or three dimensions.
        stride, padding, dilation: as many numbers, or one for all. A stride of 0 stands for the kernel size.
        ceil_mode: a last window that reaches over the end counts too.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).

    Returns:
        float32 or float64, and int64; a place is the row-major number among the pooled dimensions.
    """


@op(outputs=("grad_input",))
def max_pool_grad(grad_output: Tensor, indices: Tensor, input_size: Sequence[int], dim: int = 2) -> Tensor:
    """The gradient of `max_pool` or `adaptive_max_pool` by its input, of sizes `input_size` in the pooled dimensions.

    indices is what the pool returned.
    """


@op(outputs=("output", "indices"))
def adaptive_max_pool(input: Tensor, output_size: Sequence[int], dim: int = 2) -> tuple[Tensor, Tensor]:
    """The largest element of each of as many parts of the input as the output has elements, and its place.

    Args:
        input: float32 or float64.
        output_size: the number of parts along one, two or three dimensions.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).

    Returns:
        float32 or float64, and int64; a place is the row-major number among the pooled dimensions.
    """


@op()
def max_unpool(input: Tensor, indices: Tensor, output_size: Sequence[int], dim: int = 2) -> Tensor:
    """Puts each element into its place; the other places are 0.

    Args:
        input: float32 or float64.
        indices: int64, of the same shape, the places that `max_pool` returned. Of equal ones the last counts.
        output_size: the sizes of one, two or three dimensions.
        dim: the first of the dimensions; 2 for (n, c, …), 1 for (n, …, c).
    """


@op(outputs=("output", "indices"))
def max_pool2d(
    input: Tensor, kernel_size: Pair, stride: Pair = 0, padding: Pair = 0, dilation: Pair = 1, ceil_mode: bool = False
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and its place.

    Args:
        input: float32 or float64, (n, c, h, w) or (c, h, w).
        kernel_size, stride, padding, dilation: a number, or a pair (height, width). A stride of 0 stands for the
            kernel size.
        ceil_mode: a last window that reaches over the edge counts too.

    Returns:
        float32 or float64, and int64, (…, p, q); a place is h * width + w in its image.
    """


@op(outputs=("grad_input",))
def max_pool2d_grad(grad_output: Tensor, indices: Tensor, input_shape: tuple[int, ...]) -> Tensor:
    """The gradient of max_pool2d by its input, of shape `input_shape`; indices is what max_pool2d returned."""


@max_pool2d.backward(saves=("indices",), non_differentiable=("indices",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: max_pool2d_grad(grad, saved.indices, saved.input_shape)}


@max_pool.backward(saves=("input", "indices"), non_differentiable=("indices",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    sizes = _pooled_sizes(saved.input, saved.dim, len(saved.kernel_size))
    return {"input": lambda: max_pool_grad(grad, saved.indices, sizes, saved.dim)}


@adaptive_max_pool.backward(saves=("input", "indices"), non_differentiable=("indices",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    sizes = _pooled_sizes(saved.input, saved.dim, len(saved.output_size))
    return {"input": lambda: max_pool_grad(grad, saved.indices, sizes, saved.dim)}


@max_pool_grad.backward(saves=("indices",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"grad_output": lambda: _taken(grad, saved.indices, len(saved.input_size), saved.dim)}


def _pooled_sizes(x: Any, dim: int, rank: int) -> tuple[int, ...]:
    first = dim % x.ndim
    return tuple(x.shape[first : first + rank])


def _taken(x: Any, indices: Any, rank: int, dim: int) -> Any:
    """The elements at the places; 0 at the place -1."""
    first = dim % x.ndim
    last = first + rank - 1
    found = x.flatten(first, last).gather(first, indices.flatten(first, last).clamp(min=0)).reshape(indices.shape)
    return found.masked_fill(indices < 0, 0)


def _rows(*names: str) -> Any:
    def rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        if arguments["dim"] % arguments[names[0]].ndim == 0:
            return None
        return rows_of(*names)(arguments, rows)

    return rows


max_pool.rows(_rows("input"))
max_pool_grad.rows(_rows("grad_output", "indices"))
adaptive_max_pool.rows(_rows("input"))
max_unpool.rows(_rows("input", "indices"))
max_pool2d.rows(rows_of("input"))


@max_pool2d_grad.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any]:
    some = rows_of("grad_output", "indices")(arguments, rows)
    return {**some, "input_shape": (len(some["indices"]), *arguments["input_shape"][1:])}


def _text(kind: str, shape: Sequence[int]) -> str:
    return f"{kind}[{', '.join(map(str, shape))}]#1"


@max_pool.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[2, 3, 37]#1", kernel_size=(3,), stride=2)
    yield sample(input="normal[3, 17, 20]#1", kernel_size=(3,), padding=1, dim=1)
    yield sample(input="normal[2, 3, 9, 43]#1", kernel_size=(3, 3), stride=2, padding=1)
    yield sample(
        input="normal[2, 3, 9, 43]#1", kernel_size=(2, 3), stride=(1, 2), padding=(1, 0), ceil_mode=True, dim=-2
    )
    yield sample(input="normal[2, 9, 10, 21]#1", kernel_size=(3, 2), stride=2, padding=(1, 0), dim=1)
    yield sample(
        input="normal[2, 8, 10, 3]#1", kernel_size=(2, 3), stride=(1, 3), dilation=(3, 2), ceil_mode=True, dim=1
    )
    yield sample(input="normal[1, 2, 4, 25]#1", kernel_size=(2, 5), stride=(2, 3), padding=(0, 2), dilation=2)
    yield sample(input="normal[2, 2, 5, 6, 27]#1", kernel_size=(3, 2, 2), stride=(2, 1, 2), padding=(1, 0, 1))
    yield sample(input="normal[2, 5, 6, 7, 18]#1", kernel_size=(2, 3, 1), stride=2, dilation=(2, 1, 1), dim=1)
    yield sample(input="normal[2, 2, 2]#1", kernel_size=(2, 2), stride=1, padding=1, dilation=3, dim=1)  # of nothing
    yield sample(input="normal[1, 4, 50, 63]#1", kernel_size=(3, 3), stride=1, padding=1)
    yield sample(input="normal[2, 50, 33, 9]#1", kernel_size=(3, 3), stride=1, padding=1, dim=1)
    yield sample(input="normal[0, 3, 5, 6]#1", kernel_size=(2, 2))
    for kind in ("bits", "special", "zeros"):
        yield sample(input=_text(kind, (3, 2, 9, 21)), kernel_size=(3, 3), stride=1, padding=1)
        yield sample(input=_text(kind, (3, 9, 5, 21)), kernel_size=(3, 2), stride=1, padding=1, dim=1)


@adaptive_max_pool.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[2, 3, 37]#1", output_size=(9,))
    yield sample(input="normal[3, 17, 20]#1", output_size=(5, 7), dim=1)
    yield sample(input="normal[2, 11, 7, 13]#1", output_size=(4, 9), dim=1)
    yield sample(input="normal[2, 9, 4, 18]#1", output_size=(1, 3), dim=-3)
    yield sample(input="normal[2, 5, 6, 7]#1", output_size=(3, 4, 1), dim=1)
    yield sample(input="normal[9, 4]#1", output_size=(2,), dim=0)
    yield sample(input="normal[2, 7, 90, 91]#1", output_size=(7, 6))
    yield sample(input="normal[0, 3, 5]#1", output_size=(2,))
    yield sample(input="normal[2, 3, 5]#1", output_size=(0,))
    for kind in ("bits", "special", "zeros"):
        yield sample(input=_text(kind, (3, 2, 9, 21)), output_size=(4, 8))


def _places() -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, object]]]:
    """Numbers, shape of the windows, sizes of the planes, settings."""
    yield "normal", (2, 3, 9), (18,), {}
    yield "wide", (3, 7, 20), (3,), {"dim": 1}
    yield "normal", (2, 8, 15, 15), (30, 30), {}
    yield "normal", (2, 4, 5, 19), (8, 9), {"dim": 1}
    yield "wide", (2, 2, 40, 80), (2, 2), {"dim": -2}
    yield "normal", (2, 2, 3, 4, 5), (5, 6, 7), {}
    yield "normal", (2, 4, 30, 130), (4, 15), {"dim": 1}
    yield "normal", (0, 3, 4, 4), (8, 8), {}
    for kind in ("bits", "special", "zeros"):
        yield kind, (3, 2, 9, 9), (8, 8), {}


def _unpooled(name: str, sizes_name: str) -> Iterator[Sample]:
    for kind, shape, sizes, settings in _places():
        indices = f"classes{prod(sizes)}[{', '.join(map(str, shape))}]#2"
        yield sample(**{name: _text(kind, shape), "indices": indices, sizes_name: sizes, **settings})


@max_pool_grad.samples
def _() -> Iterator[Sample]:
    yield from _unpooled("grad_output", "input_size")


@max_unpool.samples
def _() -> Iterator[Sample]:
    yield from _unpooled("input", "output_size")


@max_pool2d.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[3, 6, 28, 28]#1", kernel_size=2)
    yield sample(input="normal[2, 5, 9, 11]#1", kernel_size=3, stride=2, padding=1)
    yield sample(input="normal[4, 9, 10]#1", kernel_size=(2, 3), stride=(1, 2), dilation=2, ceil_mode=True)
    yield sample(input="normal[1, 2, 7, 7]#1", kernel_size=3, stride=3, padding=1, ceil_mode=True)
    yield sample(input="special[2, 3, 8, 8]#2", kernel_size=2, stride=1)


@max_pool2d_grad.samples
def _() -> Iterator[Sample]:
    yield sample(grad_output="normal[2, 3, 4, 5]#1", indices="classes80[2, 3, 4, 5]#2", input_shape=(2, 3, 8, 10))
    yield sample(grad_output="normal[2, 8, 15, 15]#1", indices="classes900[2, 8, 15, 15]#2", input_shape=(2, 8, 30, 30))
    yield sample(grad_output="wide[3, 20, 20]#1", indices="classes9[3, 20, 20]#2", input_shape=(3, 3, 3))
    yield sample(grad_output="special[3, 9, 9]#1", indices="classes64[3, 9, 9]#2", input_shape=(3, 8, 8))
