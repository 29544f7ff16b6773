# SPDX-License-Identifier: MIT
"""The gradient of a table of rows that were looked up, and sums of such rows in bags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, no_rows, op, sample
from repdl.ops.sparse_mm import sampled_mm


@op(outputs=("grad_weight",))
def embedding_grad(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int = -1, scale_grad_by_freq: bool = False
) -> Tensor:
    """The gradient of a table by the rows that were looked up in it.

    Args:
        grad_output: float32 or float64, of the shape of indices and behind it the width.
        indices: int64 or int32, in [0, num_weights).
        num_weights: rows of the table.
        padding_idx: an index that is left out; -1 for none.
        scale_grad_by_freq: a row is multiplied by 1 over how often its index comes.

    Returns:
        float32 or float64, (num_weights, width).
    """


@op(outputs=("output", "offset2bag", "bag_size", "maximum_indices"))
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    mode: str = "sum",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums, means or maxima of rows of a table, one for each bag of indices.

    Args:
        weight: float32 or float64, (rows, width).
        indices: int64 or int32, (n), in [0, rows).
        offsets: int64 or int32, (bags), rising from 0 to at most n: where each bag begins among the indices.
        mode: "sum", "mean" or "max".
        per_sample_weights: as weight, (n): a factor for each index, or None; not for "max".
        include_last_offset: the last offset begins no bag.
        padding_idx: an index that is left out; -1 for none.

    Returns:
        The bags, (bags, width); and of the type of offsets the bag of each index, (n); the size of each bag, (bags);
        and the index that each number of a maximum comes from, (bags, width), or zeros, (bags).
    """


@op(outputs=("grad_weight",))
def embedding_bag_grad(
    grad_output: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool = False,
    mode: str = "sum",
    per_sample_weights: Tensor | None = None,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of embedding_bag by its table; offset2bag, bag_size and maximum_indices are what that returned.

    With scale_grad_by_freq, which is not for "max", a row is divided by how often its index comes.
    """


@embedding_bag.backward(
    saves=("weight", "indices", "per_sample_weights", "offset2bag", "bag_size", "maximum_indices"),
    non_differentiable=("offset2bag", "bag_size", "maximum_indices"),
)
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_factors() -> Any:
        of_bags = grad
        if saved.mode == "mean":
            of_bags = grad / saved.bag_size.clamp_min(1)[:, None].to(grad.dtype)
        along = sampled_mm(of_bags, saved.weight.mT, saved.offset2bag, saved.indices)
        return along if saved.padding_idx < 0 else along.masked_fill(saved.indices == saved.padding_idx, 0.0)

    return {
        "weight": lambda: embedding_bag_grad(
            grad, saved.indices, saved.offset2bag, saved.bag_size, saved.maximum_indices, saved.weight_shape[0], False,
            saved.mode, saved.per_sample_weights, saved.padding_idx,
        ),
        "per_sample_weights": grad_factors,
    }  # fmt: skip


embedding_grad.rows(no_rows)
embedding_bag.rows(no_rows)
embedding_bag_grad.rows(no_rows)


@embedding_grad.samples
def _() -> Iterator[Sample]:
    yield sample(grad_output="wide[33, 5]#1", indices="classes7[33]#2", num_weights=7)
    yield sample(grad_output="normal[4, 50, 131]#1", indices="classes300[4, 50]#2", num_weights=300, padding_idx=3)
    yield sample(grad_output="normal[900, 33]#1", indices="classes5[900]#2", num_weights=5, scale_grad_by_freq=True)
    yield sample(grad_output="normal[40, 6]#1", indices="classes9[40]#2", num_weights=9, padding_idx=8,
                 scale_grad_by_freq=True)  # fmt: skip
    yield sample(grad_output="normal[0, 3]#1", indices="classes4[0]#2", num_weights=4)
    yield sample(grad_output="normal[9]#1", indices="classes4[]#2", num_weights=4)
    for kind in ("tiny", "special"):
        yield sample(grad_output=f"{kind}[40, 17]#1", indices="classes9[40]#2", num_weights=9)


@embedding_bag.samples
def _() -> Iterator[Sample]:
    bags = {"indices": "classes9[40]#2", "offsets": "offsets40[7]#3"}
    for mode in ("sum", "mean"):
        yield sample(weight="wide[9, 5]#1", **bags, mode=mode)
        yield sample(weight="normal[9, 5]#1", **bags, mode=mode, per_sample_weights="normal[40]#4", padding_idx=3)
    yield sample(weight="normal[300, 70]#1", indices="classes300[500]#2", offsets="offsets500[20]#3")
    yield sample(weight="special[9, 17]#1", **bags, mode="mean")
    yield sample(weight="normal[9, 17]#1", indices="classes9[0]#2", offsets="offsets0[3]#3", mode="mean")
    yield sample(weight="zeros[9, 17]#1", **bags, include_last_offset=True)
    yield sample(weight="normal[5, 3]#1", indices="classes5[30]#2", offsets="offsets4[40]#3", padding_idx=2)
    for kind in ("normal", "special", "zeros"):
        yield sample(weight=f"{kind}[9, 17]#1", **bags, mode="max")
        yield sample(weight=f"{kind}[9, 5]#1", **bags, mode="max", include_last_offset=True, padding_idx=3)
    yield sample(weight="normal[300, 70]#1", indices="classes300[600]#2", offsets="offsets600[20]#3", mode="max")
    yield sample(weight="normal[9, 17]#1", indices="classes9[0]#2", offsets="offsets0[1]#3", mode="max",
                 include_last_offset=True)  # fmt: skip


@embedding_bag_grad.samples
def _() -> Iterator[Sample]:
    bags = {"indices": "classes9[40]#2", "offset2bag": "classes7[40]#3", "bag_size": "classes9[7]#4"}
    other = {"maximum_indices": "classes1[7]#6", "num_weights": 9}
    for mode in ("sum", "mean"):
        for scaled in (False, True):
            yield sample(grad_output="wide[7, 5]#1", **bags, **other, mode=mode, scale_grad_by_freq=scaled)
            yield sample(grad_output="normal[7, 5]#1", **bags, **other, mode=mode, per_sample_weights="normal[40]#5",
                         scale_grad_by_freq=scaled, padding_idx=3)  # fmt: skip
    yield sample(grad_output="special[7, 17]#1", **bags, **other, mode="mean")
    yield sample(grad_output="normal[20, 70]#1", indices="classes300[600]#2", offset2bag="classes20[600]#3",
                 bag_size="classes9[20]#4", maximum_indices="classes1[20]#6", num_weights=300, mode="mean")  # fmt: skip
    for kind in ("normal", "special"):
        yield sample(grad_output=f"{kind}[7, 17]#1", **bags, maximum_indices="classes9[7, 17]#6", num_weights=9,
                     mode="max")  # fmt: skip
    yield sample(grad_output="normal[400, 70]#1", indices="classes30[600]#2", offset2bag="classes400[600]#3",
                 bag_size="classes4[400]#4", maximum_indices="classes30[400, 70]#6", num_weights=30,
                 mode="max")  # fmt: skip


@embedding_grad.oracle
def _(grad_output: Any, indices: Any, num_weights: int, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Any:
    sums = np.zeros((num_weights, grad_output.shape[-1]))
    scale = 1 / np.bincount(indices.ravel(), minlength=num_weights)[indices] if scale_grad_by_freq else 1.0
    kept = scale * (indices != padding_idx)
    np.add.at(sums, indices, grad_output * np.asarray(kept)[..., None])
    return sums


@embedding_bag.oracle
def _(
    weight: Any, indices: Any, offsets: Any, mode: str = "sum", per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int = -1,
) -> Any:  # fmt: skip
    bounds = [*(offsets[:-1] if include_last_offset else offsets), len(indices)]
    bag_of = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    kept = indices != padding_idx
    sizes = np.bincount(bag_of[kept], minlength=len(bounds) - 1)
    sums, places = np.zeros((len(sizes), weight.shape[1])), np.zeros((len(sizes), weight.shape[1]), np.int64)
    if mode == "max":
        for bag in np.flatnonzero(sizes):
            rows = indices[kept & (bag_of == bag)]
            sums[bag], places[bag] = weight[rows].max(0), rows[weight[rows].argmax(0)]
        return sums, bag_of, sizes, places
    factors = np.ones(len(indices)) if per_sample_weights is None else per_sample_weights
    np.add.at(sums, bag_of[kept], (weight[indices] * factors[:, None])[kept])
    means = sums / np.maximum(sizes, 1)[:, None] if mode == "mean" else sums
    return means, bag_of, sizes, np.zeros_like(sizes)


@embedding_bag_grad.oracle
def _(
    grad_output: Any, indices: Any, offset2bag: Any, bag_size: Any, maximum_indices: Any, num_weights: int,
    scale_grad_by_freq: bool = False, mode: str = "sum", per_sample_weights: Any = None, padding_idx: int = -1,
) -> Any:  # fmt: skip
    sums = np.zeros((num_weights, grad_output.shape[1]))
    if mode == "max":
        filled = bag_size != 0
        np.add.at(sums, (maximum_indices[filled], np.arange(sums.shape[1])), grad_output[filled])
        return sums
    grad = grad_output / np.where(bag_size == 0, 1, bag_size)[:, None] if mode == "mean" else grad_output
    factors = np.ones(len(indices)) if per_sample_weights is None else np.array(per_sample_weights)
    if scale_grad_by_freq:
        factors = factors / np.bincount(indices, minlength=num_weights)[indices]
    kept = indices != padding_idx
    np.add.at(sums, indices[kept], (grad[offset2bag] * factors[:, None])[kept])
    return sums
