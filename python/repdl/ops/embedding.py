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
        indices: int64, in [0, num_weights).
        num_weights: rows of the table.
        padding_idx: an index that is left out; -1 for none.
        scale_grad_by_freq: a row is multiplied by 1 over how often its index comes.

    Returns:
        float32 or float64, (num_weights, width).
    """


@op(outputs=("output", "bag_size"))
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    num_bags: int,
    mode: str = "sum",
    per_sample_weights: Tensor | None = None,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor]:
    """Sums or means of rows of a table, one for each bag of indices.

    Args:
        weight: float32 or float64, (rows, width).
        indices: int64, (n), in [0, rows).
        offset2bag: int64, (n), in [0, num_bags): the bag of each index.
        num_bags: their number.
        mode: "sum" or "mean".
        per_sample_weights: as weight, (n): a factor for each index, or None.
        padding_idx: an index that is left out; -1 for none.

    Returns:
        The bags, (num_bags, width); and the size of each, int64, (num_bags).
    """


@op(outputs=("grad_weight",))
def embedding_bag_grad(
    grad_output: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    num_weights: int,
    mode: str = "sum",
    per_sample_weights: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of embedding_bag by its table; bag_size is what embedding_bag returned.

    With scale_grad_by_freq a row is divided by how often its index comes.
    """


@embedding_bag.backward(
    saves=("weight", "indices", "per_sample_weights", "offset2bag", "bag_size"),
    non_differentiable=("bag_size",),
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
            grad, saved.indices, saved.offset2bag, saved.bag_size, saved.weight_shape[0], saved.mode,
            saved.per_sample_weights, False, saved.padding_idx,
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
    bags = {"indices": "classes9[40]#2", "offset2bag": "classes7[40]#3", "num_bags": 7}
    for mode in ("sum", "mean"):
        yield sample(weight="wide[9, 5]#1", **bags, mode=mode)
        yield sample(weight="normal[9, 5]#1", **bags, mode=mode, per_sample_weights="normal[40]#4", padding_idx=3)
    yield sample(weight="normal[300, 70]#1", indices="classes300[500]#2", offset2bag="classes20[500]#3", num_bags=20)
    yield sample(weight="special[9, 17]#1", **bags, mode="mean")
    yield sample(weight="normal[9, 17]#1", indices="classes9[0]#2", offset2bag="classes3[0]#3", num_bags=3, mode="mean")


@embedding_bag_grad.samples
def _() -> Iterator[Sample]:
    bags = {"indices": "classes9[40]#2", "offset2bag": "classes7[40]#3", "bag_size": "classes9[7]#4", "num_weights": 9}
    for mode in ("sum", "mean"):
        for scaled in (False, True):
            yield sample(grad_output="wide[7, 5]#1", **bags, mode=mode, scale_grad_by_freq=scaled)
            yield sample(grad_output="normal[7, 5]#1", **bags, mode=mode, per_sample_weights="normal[40]#5",
                         scale_grad_by_freq=scaled, padding_idx=3)  # fmt: skip
    yield sample(grad_output="special[7, 17]#1", **bags, mode="mean")
    yield sample(grad_output="normal[20, 70]#1", indices="classes300[600]#2", offset2bag="classes20[600]#3",
                 bag_size="classes9[20]#4", num_weights=300, mode="mean")  # fmt: skip


@embedding_grad.oracle
def _(grad_output: Any, indices: Any, num_weights: int, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Any:
    sums = np.zeros((num_weights, grad_output.shape[-1]))
    scale = 1 / np.bincount(indices.ravel(), minlength=num_weights)[indices] if scale_grad_by_freq else 1.0
    kept = scale * (indices != padding_idx)
    np.add.at(sums, indices, grad_output * np.asarray(kept)[..., None])
    return sums


@embedding_bag.oracle
def _(
    weight: Any, indices: Any, offset2bag: Any, num_bags: int, mode: str = "sum", per_sample_weights: Any = None,
    padding_idx: int = -1,
) -> Any:  # fmt: skip
    kept = indices != padding_idx
    sizes = np.bincount(offset2bag[kept], minlength=num_bags)
    sums = np.zeros((num_bags, weight.shape[1]))
    factors = np.ones(len(indices)) if per_sample_weights is None else per_sample_weights
    np.add.at(sums, offset2bag[kept], (weight[indices] * factors[:, None])[kept])
    return sums / np.maximum(sizes, 1)[:, None] if mode == "mean" else sums, sizes


@embedding_bag_grad.oracle
def _(
    grad_output: Any, indices: Any, offset2bag: Any, bag_size: Any, num_weights: int, mode: str = "sum",
    per_sample_weights: Any = None, scale_grad_by_freq: bool = False, padding_idx: int = -1,
) -> Any:  # fmt: skip
    grad = grad_output / np.where(bag_size == 0, 1, bag_size)[:, None] if mode == "mean" else grad_output
    factors = np.ones(len(indices)) if per_sample_weights is None else np.array(per_sample_weights)
    if scale_grad_by_freq:
        factors = factors / np.bincount(indices, minlength=num_weights)[indices]
    kept = indices != padding_idx
    sums = np.zeros((num_weights, grad.shape[1]))
    np.add.at(sums, indices[kept], (grad[offset2bag] * factors[:, None])[kept])
    return sums
