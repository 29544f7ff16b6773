# SPDX-License-Identifier: MIT
"""Reductions in the order of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.index_add import index_add, rows_of_terms, scatter_add


@op()
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """input, whose elements are reduced with those of src, each at its index along a dimension, in order.

    Args:
        input: float32 or float64, of at least one dimension.
        dim: the dimension that the index is of.
        index: int64 in [0, input.shape[dim]), of the shape of src.
        src: as input, but for the size along the dimension.
        reduce: 'sum', 'mean', 'prod', 'amax' or 'amin'.
        include_self: whether the element of input is one of the terms of a place that has any.
    """


@op()
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """input, whose slices along a dimension are reduced with those of source, in the order of the index.

    Args:
        input: float32 or float64, of at least one dimension.
        dim: the dimension of the slices.
        index: int64, (n), in [0, input.shape[dim]): the slice that each of source meets.
        source: as input, with n slices.
        reduce: 'mean', 'prod', 'amax' or 'amin'.
        include_self: whether the slice of input is one of the terms of a place that has any.
    """


def _gradients(saved: Any, grad: Any, terms: Any, take: Callable[..., Any], add: Any, again: Any) -> tuple[Any, Any]:
    """The gradients by input and by the terms.

    take(x) has for each term what x has at its place, add(x, y) sums by index, again(x, y) is the op of others.
    A product has no part that is itself; of equal extremes each gets the same share.
    """
    x, none = saved.input, grad.new_zeros(saved.input.shape)
    is_reached = add(none, terms.new_ones(terms.shape)) > 0
    by_input, by_terms = grad, take(grad)
    if saved.reduce == "mean":
        start = none + 1 if saved.include_self else none
        by_input = grad / add(start, terms.new_ones(terms.shape)).clamp_min(1)
        by_terms = take(by_input)
    elif saved.reduce == "prod":
        factor, is_zero = x.masked_fill(x == 0, 1), terms == 0
        by_input = grad * again(factor, terms) / factor
        alone = is_zero & (take(add(none, is_zero.to(terms.dtype))) == 1)
        others = again(x, terms.masked_fill(alone, 1))
        by_terms = take(grad * saved.output) / terms.masked_fill(is_zero, 1)
        by_terms = by_terms.where(~alone, take(grad * others))
    elif saved.reduce in ("amax", "amin"):
        own, chosen = (x == saved.output).to(x.dtype), (terms == take(saved.output)).to(x.dtype)
        share = grad / add(own if saved.include_self else own.masked_fill(is_reached, 0), chosen)
        by_input, by_terms = own * share, chosen * take(share)
    return by_input if saved.include_self else by_input.masked_fill(is_reached, 0), by_terms


def _declare_backward(
    reduce: Any, terms: str, take: Callable[[Any, Any], Any], add: Callable[[Any, Any, Any], Any]
) -> None:
    @reduce.backward(saves=("input", "index", "output", terms))  # type: ignore[untyped-decorator]
    def gradients(saved: Any, grad: Any) -> dict[str, Any]:
        values = getattr(saved, terms)

        @cache
        def both() -> tuple[Any, Any]:
            return _gradients(
                saved,
                grad,
                values,
                lambda x: take(saved, x).reshape(values.shape),
                lambda x, y: add(saved, x, y),
                lambda x, y: reduce(x, saved.dim, saved.index, y, saved.reduce, saved.include_self),
            )

        return {"input": lambda: both()[0], terms: lambda: both()[1]}


_declare_backward(
    scatter_reduce,
    "src",
    lambda saved, x: x.gather(saved.dim, saved.index),
    lambda saved, x, y: scatter_add(x, saved.dim, saved.index, y),
)
_declare_backward(
    index_reduce,
    "source",
    lambda saved, x: x.index_select(saved.dim, saved.index),
    lambda saved, x, y: index_add(x, saved.dim, saved.index, y),
)

scatter_reduce.rows(rows_of_terms)
index_reduce.rows(rows_of_terms)

_WAYS = ("sum", "mean", "prod", "amax", "amin")


def _samples(calls: Callable[[], Iterator[dict[str, Any]]]) -> Iterator[Sample]:
    for i, call in enumerate(calls()):
        for way in _WAYS if "src" in call else _WAYS[1:]:
            yield sample(**call, reduce=way)
            if i < 3:
                yield sample(**call, reduce=way, include_self=False)


def _calls_of_elements() -> Iterator[dict[str, Any]]:
    yield {"input": "normal[7, 5]#1", "dim": 0, "index": "classes7[33, 5]#2", "src": "normal[33, 5]#3"}
    yield {"input": "special[9, 17]#1", "dim": 1, "index": "classes17[9, 40]#2", "src": "special[9, 40]#3"}
    yield {"input": "zeros[3, 6, 50]#1", "dim": -2, "index": "classes6[3, 20, 50]#2", "src": "zeros[3, 20, 50]#3"}
    yield {"input": "normal[300]#1", "dim": 0, "index": "classes300[40000]#2", "src": "normal[40000]#3"}
    yield {"input": "normal[40, 500]#1", "dim": 0, "index": "classes40[100, 500]#2", "src": "wide[100, 500]#3"}
    yield {"input": "bits[9, 17]#1", "dim": 1, "index": "classes17[9, 40]#2", "src": "tiny[9, 40]#3"}
    yield {"input": "normal[4, 3]#1", "dim": 0, "index": "classes4[0, 3]#2", "src": "normal[0, 3]#3"}


def _calls_of_slices() -> Iterator[dict[str, Any]]:
    yield {"input": "normal[7, 5]#1", "dim": 0, "index": "classes7[33]#2", "source": "normal[33, 5]#3"}
    yield {"input": "special[20, 9]#1", "dim": -1, "index": "classes9[30]#2", "source": "special[20, 30]#3"}
    yield {"input": "zeros[3, 6, 70]#1", "dim": 1, "index": "classes6[20]#2", "source": "zeros[3, 20, 70]#3"}
    yield {"input": "normal[700, 19]#1", "dim": 0, "index": "classes700[3000]#2", "source": "normal[3000, 19]#3"}
    yield {"input": "normal[3, 300]#1", "dim": 0, "index": "classes3[500]#2", "source": "wide[500, 300]#3"}
    yield {"input": "bits[9, 17]#1", "dim": 0, "index": "classes9[40]#2", "source": "tiny[40, 17]#3"}
    yield {"input": "normal[4, 3]#1", "dim": 0, "index": "classes4[0]#2", "source": "normal[0, 3]#3"}


@scatter_reduce.samples
def _() -> Iterator[Sample]:
    yield from _samples(_calls_of_elements)


@index_reduce.samples
def _() -> Iterator[Sample]:
    yield from _samples(_calls_of_slices)


def _oracle(input: Any, places: tuple[Any, ...], terms: Any, reduce: str, include_self: bool) -> Any:
    start = {"prod": 1, "amax": -np.inf, "amin": np.inf}.get(reduce, 0)
    step = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}.get(reduce, np.add)
    result, counts = np.array(input), np.zeros(input.shape)
    np.add.at(counts, places, 1)
    if not include_self:
        result[counts > 0] = start
    step.at(result, places, terms)
    return result / np.maximum(counts + include_self, 1) if reduce == "mean" else result


@scatter_reduce.oracle
def _(input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    places = list(np.indices(index.shape))
    places[dim] = index
    return _oracle(input, tuple(places), src, reduce, include_self)


@index_reduce.oracle
def _(input: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    places = list(np.indices(source.shape))
    places[dim] = index.reshape([-1 if d == dim % input.ndim else 1 for d in range(input.ndim)])
    return _oracle(input, tuple(places), source, reduce, include_self)
