# SPDX-License-Identifier: MIT
"""Sums, products, largest and smallest elements of segments of a dimension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def segment_reduce(
    input: Tensor, lengths: Tensor, reduce: str = "sum", initial: float | None = None, dim: int = 0
) -> Tensor:
    """One number for each segment of a dimension.

    Args:
        input: float32 or float64.
        lengths: int64, the numbers of elements of segments that lie side by side; of the shape of the dimensions before
            `dim`, then the segments.
        reduce: 'sum', 'mean', 'prod', 'max' or 'min'.
        initial: what each segment begins with.
        dim: the dimension.
    """


@op(outputs=("grad_input",))
def segment_reduce_grad(
    grad_output: Tensor,
    output: Tensor,
    input: Tensor,
    lengths: Tensor,
    reduce: str = "sum",
    initial: float | None = None,
    dim: int = 0,
) -> Tensor:
    """The gradient of `segment_reduce` by its input; output is what that gave."""


@segment_reduce.backward(saves=("input", "lengths", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    settings = saved.reduce, saved.initial, saved.dim
    return {"input": lambda: segment_reduce_grad(grad, saved.output, saved.input, saved.lengths, *settings)}


def _rows(*names: str) -> Any:
    def rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
        return rows_of(*names)(arguments, rows) if arguments["dim"] % arguments["input"].ndim else None

    return rows


segment_reduce.rows(_rows("input", "lengths"))
segment_reduce_grad.rows(_rows("grad_output", "output", "input", "lengths"))

_WAYS = ("sum", "mean", "prod", "max", "min")


def _calls() -> Iterator[tuple[str, str, str, dict[str, object]]]:
    """Numbers, shapes of input and lengths, settings."""
    yield "normal", "9, 5", "3", {}
    yield "normal", "40", "9", {"initial": 0.75}
    yield "wide", "3, 60, 11", "3, 20", {"dim": 1}
    yield "normal", "2, 3, 40", "2, 3, 10", {"dim": -1, "initial": -1.5}
    yield "normal", "3, 200, 120", "3, 60", {"dim": 1}
    yield "normal", "5, 3", "0", {}
    for kind in ("special", "zeros", "bits"):
        yield kind, "2, 60, 9", "2, 20", {"dim": 1}


@segment_reduce.samples
def _() -> Iterator[Sample]:
    for kind, shape, segments, settings in _calls():
        for way in _WAYS:
            yield sample(input=f"{kind}[{shape}]#1", lengths=f"classes4[{segments}]#17", reduce=way, **settings)


@segment_reduce_grad.samples
def _() -> Iterator[Sample]:
    for kind, shape, segments, settings in _calls():
        sizes, dim = shape.split(", "), int(str(settings.get("dim", 0)))
        sizes[dim] = segments.split(", ")[-1]
        reduced = f"[{', '.join(sizes)}]"
        for way in _WAYS:
            yield sample(
                grad_output=f"normal{reduced}#2",
                output=f"{kind}{reduced}#3",
                input=f"{kind}[{shape}]#1",
                lengths=f"classes4[{segments}]#17",
                reduce=way,
                **settings,
            )
