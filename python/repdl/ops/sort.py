# SPDX-License-Identifier: MIT
"""Orders of numbers and what is read from them. Of equal numbers, zeros of both signs and NaNs among them, the one with
the lowest index comes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repdl._op import Sample, Tensor, op, rows_of, sample

_OUTPUTS = ("values", "indices")


@op(outputs=_OUTPUTS)
def sort(input: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Each row along a dimension in order, and where its numbers were. NaN is above all numbers.

    Args:
        input: float32, float64, bfloat16, float16 or integers, any shape.
        dim: the dimension.
        descending: equal numbers stay in the order of their indices then, too.

    Returns:
        The values, of the type of input, and their indices along the dimension, int64.
    """


@op(outputs=_OUTPUTS)
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest numbers of each row along a dimension, or the smallest, as `sort` orders them.

    Args:
        input: float32, float64, bfloat16, float16 or integers, any shape.
        k: at most the size along the dimension.
        dim: the dimension.
        largest: in descending order; else the smallest in ascending order.
        sorted: they are in order in any case.

    Returns:
        The values and indices, of size k along the dimension.
    """


@op(outputs=_OUTPUTS)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest number of each row along a dimension, and the first index that has an equal one.

    Args:
        input: float32, float64, bfloat16, float16 or integers, any shape.
        k: from 1.
        dim: the dimension.
        keepdim: leave the dimension in the results, with size 1.
    """


@op(outputs=_OUTPUTS)
def median(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The median of each row along a dimension, the lower one of two, or NaN if there is one; and its first index.

    Args:
        input: float32, float64, bfloat16, float16 or integers, any shape.
        dim: the dimension.
        keepdim: leave the dimension in the results, with size 1.
    """


@op(outputs=_OUTPUTS)
def nanmedian(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The same of the numbers that are not NaN; NaN if there are none. Arguments as for `median`."""


@op(outputs=_OUTPUTS)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The number that comes most often in each row along a dimension, the smallest of several, and its first index.

    NaN is one number, the largest. Arguments as for `median`.
    """


def _to_places(saved: Any, grad: Any, *_: Any) -> dict[str, Any]:
    """The gradient goes to where the number was."""

    def scattered() -> Any:
        at, given = saved.indices, grad
        if at.dim() < len(saved.input_shape):
            at, given = at.unsqueeze(saved.dim), given.unsqueeze(saved.dim)
        return given.new_zeros(saved.input_shape).scatter(saved.dim, at, given)

    return {"input": scattered}


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    rank = arguments["input"].ndim
    return None if rank == 0 or arguments.get("dim", -1) % rank == 0 else rows_of("input")(arguments, rows)


for _op in (sort, topk, kthvalue, median, nanmedian, mode):
    _op.backward(saves=("indices",), non_differentiable=("indices",))(_to_places)
    _op.rows(_rows)


def _ties() -> Iterator[str]:
    yield "special[9, 70]#1"
    yield "special.float16[3, 300]#1"
    yield "zeros[5, 17]#2"
    yield "bits.bfloat16[4, 150]#3"


@sort.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[]#1")
    yield sample(input="normal[3, 0]#1")
    yield sample(input="normal[2, 129]#1")
    yield sample(input="bits[3, 40, 2]#2", dim=1, descending=True)
    yield sample(input="normal[65537]#3")
    for input in _ties():
        yield sample(input=input)
        yield sample(input=input, descending=True)


@topk.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[]#1", k=1)
    yield sample(input="normal[3, 4]#1", k=0)
    yield sample(input="normal[2, 3000]#1", k=40)
    yield sample(input="bits[300, 3]#2", k=7, dim=0, largest=False)
    yield sample(input="normal[40, 129]#3", k=1, sorted=False)
    yield sample(input="normal.bfloat16[3, 700]#3", k=60)
    yield sample(input="normal[40, 1001]#4", k=3)
    for input in _ties():
        yield sample(input=input, k=1)
        yield sample(input=input, k=8, largest=False)
        yield sample(input=input, k=17)


@kthvalue.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[]#1", k=1)
    yield sample(input="normal[2, 3000]#1", k=1234)
    yield sample(input="normal[300, 3]#2", k=7, dim=0, keepdim=True)
    yield sample(input="normal[40, 1001]#4", k=77)
    for input in _ties():
        yield sample(input=input, k=17)


def _of_medians() -> Iterator[Sample]:
    yield sample(input="normal[]#1", dim=0)
    yield sample(input="normal[2, 3001]#1", dim=1)
    yield sample(input="wide[30, 4, 2]#2", dim=0, keepdim=True)
    yield sample(input="normal[40, 1001]#4", dim=1)
    yield sample(input="special[40, 6]#3", dim=1)
    yield sample(input="special[700, 1]#3", dim=1)
    for input in _ties():
        yield sample(input=input, dim=1)


median.samples(_of_medians)
nanmedian.samples(_of_medians)


@mode.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[]#1")
    yield sample(input="normal[2, 30]#1")
    yield sample(input="normal[40, 1001]#4")
    yield sample(input="special[40, 6]#3", dim=0, keepdim=True)
    yield sample(input="special[2, 200]#3")
    for input in _ties():
        yield sample(input=input)
