# SPDX-License-Identifier: MIT
"""Sums in the order of an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1.0) -> Tensor:
    """input, to whose slices along a dimension those of source are added, times alpha, in the order of the index.

    Args:
        input: float32 or float64, of at least one dimension.
        dim: the dimension of the slices.
        index: int64, (n), in [0, input.shape[dim]): the slice that each of source is added to.
        source: as input, with n slices.
        alpha: rounded to the dtype of input.
    """


@op()
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input, to whose elements those of src are added, each at its index along a dimension, in order.

    Args:
        input: float32 or float64, of at least one dimension.
        dim: the dimension that the index is of.
        index: int64 in [0, input.shape[dim]), of the shape of src.
        src: as input, but for the size along the dimension.
    """


@index_add.backward(saves=("index",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_source() -> Any:
        chosen = grad.index_select(saved.dim, saved.index)
        return chosen if saved.alpha == 1.0 else chosen * saved.alpha

    return {"input": lambda: grad, "source": grad_source}


@scatter_add.backward(saves=("index",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad, "src": lambda: grad.gather(saved.dim, saved.index)}


def rows_of_terms(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    """Of the ops by an index, that of slices and that of elements: none along the first dimension."""
    if arguments["dim"] % arguments["input"].ndim == 0:
        return None
    batched = ("input", "source") if "source" in arguments else ("input", "index", "src")
    return rows_of(*batched)(arguments, rows)


index_add.rows(rows_of_terms)
scatter_add.rows(rows_of_terms)


@index_add.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[7, 5]#1", dim=0, index="classes7[33]#2", source="normal[33, 5]#3")
    yield sample(input="zeros[300]#1", dim=0, index="classes300[40000]#2", source="normal[40000]#3")
    yield sample(input="normal[3, 64]#1", dim=0, index="classes3[500]#2", source="normal[500, 64]#3", alpha=0.3)
    yield sample(input="normal[700, 19]#1", dim=0, index="classes700[1000]#2", source="normal[1000, 19]#3")
    yield sample(input="normal[4, 6, 3]#1", dim=1, index="classes6[9]#2", source="normal[4, 9, 3]#3", alpha=-1e-3)
    yield sample(input="normal[20, 9]#1", dim=-1, index="classes9[100]#2", source="wide[20, 100]#3")
    yield sample(input="normal[4, 3]#1", dim=0, index="classes4[0]#2", source="normal[0, 3]#3")
    for kind in ("tiny", "bits", "special"):
        yield sample(input=f"{kind}[9, 17]#1", dim=0, index="classes9[40]#2", source=f"{kind}[40, 17]#3")


@scatter_add.samples
def _() -> Iterator[Sample]:
    yield sample(input="normal[7, 5]#1", dim=0, index="classes7[33, 5]#2", src="normal[33, 5]#3")
    yield sample(input="zeros[300]#1", dim=0, index="classes300[40000]#2", src="normal[40000]#3")
    yield sample(input="normal[2, 5]#1", dim=1, index="classes5[2, 20000]#2", src="normal[2, 20000]#3")
    yield sample(input="normal[3, 6, 50]#1", dim=-2, index="classes6[3, 200, 50]#2", src="wide[3, 200, 50]#3")
    yield sample(input="normal[4, 3]#1", dim=0, index="classes4[0, 3]#2", src="normal[0, 3]#3")
    for kind in ("tiny", "bits", "special"):
        yield sample(input=f"{kind}[9, 17]#1", dim=1, index="classes17[9, 40]#2", src=f"{kind}[9, 40]#3")


@index_add.oracle
def _(input: Any, dim: int, index: Any, source: Any, alpha: float = 1.0) -> Any:
    sums = np.array(input)
    np.add.at(np.moveaxis(sums, dim, 0), index, np.moveaxis(source * alpha, dim, 0))
    return sums


@scatter_add.oracle
def _(input: Any, dim: int, index: Any, src: Any) -> Any:
    sums = np.array(input)
    places = list(np.indices(index.shape))
    places[dim] = index
    np.add.at(sums, tuple(places), src)
    return sums
