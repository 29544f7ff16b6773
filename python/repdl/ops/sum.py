# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def sum(
    input: Tensor,
    dim: int | tuple[int, ...] | None = None,
    keepdim: bool = False,
    average: bool = False,
    order: str | None = None,
) -> Tensor:
    """Sum over some dimensions, or over all.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        dim: a dimension or several; None for all.
        keepdim: leave the reduced dimensions in the result, with size 1.
        average: multiply the sum of N terms by float32(1 / N): the mean of microsoft/RepDL.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        Of its type, the other dimensions of input.
    """


@op()
def mean(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, order: str | None = None
) -> Tensor:
    """Mean over some dimensions, or over all: the sum divided by the number of terms. Arguments as for `sum`."""


@op()
def norm(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, order: str | None = None
) -> Tensor:
    """The norm of order 2 over some dimensions, or over all. Arguments as for `sum`, but for `input`.

    Args:
        input: float32 or float64, any shape.
    """


@op()
def var(
    input: Tensor,
    dim: int | tuple[int, ...] | None = None,
    correction: float = 1,
    keepdim: bool = False,
    order: str | None = None,
) -> Tensor:
    """Variance over some dimensions, or over all: the sum of squared distances from the mean, over N - correction.

    Args:
        input: float32 or float64, any shape.
        dim: a dimension or several; None for all.
        correction: what is taken from the number of terms N.
        keepdim: leave the reduced dimensions in the result, with size 1.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        Of its type, the other dimensions of input.
    """


@op()
def std(
    input: Tensor,
    dim: int | tuple[int, ...] | None = None,
    correction: float = 1,
    keepdim: bool = False,
    order: str | None = None,
) -> Tensor:
    """Standard deviation over some dimensions, or over all: the square root of `var`, with its arguments."""


def reduced_dims(dim: Any, rank: int) -> list[int]:
    """The dimensions that a reduction is over, in order, from 0; None and an empty list are all."""
    if dim is None or dim == [] or dim == ():
        return list(range(rank))
    return sorted({d % max(rank, 1) for d in ([dim] if isinstance(dim, int) else dim)})


def count_and_expand(saved: Any, grad: Any) -> tuple[int, Any]:
    """The number of terms of a sum, and the gradient of the result in the shape of the input."""
    shape = saved.input_shape
    reduced = reduced_dims(saved.dim, len(shape))
    count = int(np.prod([shape[d] for d in reduced if d < len(shape)], dtype=np.int64))
    with_ones = [1 if d in reduced else size for d, size in enumerate(shape)]
    return count, grad.reshape(with_ones).expand(shape)


@sum.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    count, expanded = count_and_expand(saved, grad)
    # A number that meets a float32 tensor is rounded to float32 first.
    return {"input": lambda: expanded * (1.0 / count) if saved.average else expanded}


@mean.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    from repdl.ops.elementwise.arithmetic import div

    count, expanded = count_and_expand(saved, grad)
    return {"input": lambda: div(expanded, float(count))}


def zero_by_zero(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is 0: there the gradients of roots are taken as 0, as torch does."""
    from repdl.ops.elementwise.arithmetic import div

    return div(a, b).masked_fill(b == 0, 0.0)


@norm.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: count_and_expand(saved, zero_by_zero(grad, saved.output))[1] * saved.input}


def _distances(saved: Any) -> Any:
    return saved.input - mean(saved.input, saved.dim, True, saved.order)


@var.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    count, expanded = count_and_expand(saved, grad)
    freedom = max(count - saved.correction, 0)
    return {"input": lambda: _distances(saved) * expanded * (2.0 / freedom if freedom else float("inf"))}


@std.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    count, expanded = count_and_expand(saved, zero_by_zero(grad, saved.output))
    freedom = max(count - saved.correction, 0)
    return {"input": lambda: _distances(saved) * expanded * (1.0 / freedom if freedom else float("inf"))}


def _shapes() -> Iterator[dict[str, Any]]:
    for n in (0, 1, 3, 63, 64, 65, 200, 4095, 4096, 4097, 3 * 4096 + 5, 7 * 4096, 11 * 4096 + 70):
        yield {"input": f"normal[{n}]#1"}
    yield {"input": "normal[]#1"}
    yield {"input": "normal[300, 37]#2", "dim": (0,)}
    yield {"input": "normal[9000, 19]#2", "dim": (0,)}
    yield {"input": "normal[28000, 5]#2", "dim": (0,)}
    yield {"input": "normal[37, 300]#2", "dim": (1,), "keepdim": True}
    yield {"input": "normal[10, 7, 9, 11]#3", "dim": (0, 2, 3)}
    yield {"input": "normal[10, 7, 9, 11]#3", "dim": (1, -1), "keepdim": True}
    yield {"input": "wide[5, 3, 4, 20]#4", "dim": (0, 1)}
    for kind in ("wide", "tiny", "bits", "special"):
        yield {"input": f"{kind}[7, 100]#5", "dim": (1,)}


def rows_of_reduction(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    """For `Op.rows` of a reduction: none where the first dimension is reduced."""
    dims, rank = arguments["dim"], arguments["input"].ndim
    dims = (dims,) if isinstance(dims, int) else dims or range(rank)
    return None if 0 in {d % max(rank, 1) for d in dims} or rank == 0 else rows_of("input")(arguments, rows)


sum.rows(rows_of_reduction)
mean.rows(rows_of_reduction)
norm.rows(rows_of_reduction)
var.rows(rows_of_reduction)
std.rows(rows_of_reduction)


def _of_16_bits() -> Iterator[dict[str, Any]]:
    for dtype in ("bfloat16", "float16"):
        for n in (0, 1, 65, 4097, 11 * 4096 + 70):
            yield {"input": f"normal.{dtype}[{n}]#1"}
        yield {"input": f"normal.{dtype}[9000, 19]#2", "dim": (0,)}
        yield {"input": f"normal.{dtype}[37, 300]#2", "dim": (1,), "keepdim": True}
        yield {"input": f"normal.{dtype}[10, 7, 9, 11]#3", "dim": (0, 2, 3)}
        yield {"input": f"normal.{dtype}[10, 7, 9, 11]#3", "dim": (1, -1)}
        for kind in ("wide", "bits", "special"):
            yield {"input": f"{kind}.{dtype}[7, 100]#5", "dim": (1,)}
            yield {"input": f"{kind}.{dtype}[100, 7]#5", "dim": (0,)}


@sum.samples
def _() -> Iterator[Sample]:
    for arguments in (*_shapes(), *_of_16_bits()):
        yield sample(**arguments)
    yield sample(input="normal[1000]#6", average=True)
    yield sample(input="normal[30, 33]#6", dim=(0,), average=True)
    yield sample(input="normal.bfloat16[30, 33]#6", dim=(1,), average=True)
    yield sample(input="normal.bfloat16[300, 7001]#2", dim=(0,))  # more than the caches hold


@mean.samples
def _() -> Iterator[Sample]:
    for arguments in (*_shapes(), *_of_16_bits()):
        yield sample(**arguments)


@norm.samples
def _() -> Iterator[Sample]:
    for arguments in _shapes():
        yield sample(**arguments)


def _spreads() -> Iterator[Sample]:
    for arguments in _shapes():
        yield sample(**arguments, **({"correction": 0} if arguments["input"] in ("normal[1]#1", "normal[]#1") else {}))
    yield sample(input="normal[1000]#6", correction=0)
    yield sample(input="normal[30, 33]#6", dim=(0,), correction=2.5)
    yield sample(input="normal[700, 3]#6", dim=(1,), correction=4)


var.samples(_spreads)
std.samples(_spreads)


@sum.oracle
def _(input: Any, dim: Any = None, keepdim: bool = False, average: bool = False) -> Any:
    return (np.mean if average else np.sum)(input, axis=dim, keepdims=keepdim)


@mean.oracle
def _(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return np.mean(input, axis=dim, keepdims=keepdim)


@norm.oracle
def _(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return np.sqrt(np.sum(input * input, axis=dim, keepdims=keepdim))


def _variance(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    count = input.size // max(np.sum(input, axis=dim).size, 1)
    away = input - np.mean(input, axis=dim, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sum(away * away, axis=dim, keepdims=keepdim) / np.float64(max(count - correction, 0))


var.oracle(_variance)


@std.oracle
def _(input: Any, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
    return np.sqrt(_variance(input, dim, correction, keepdim))
