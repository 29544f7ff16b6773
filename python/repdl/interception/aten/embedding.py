# SPDX-License-Identifier: MIT
"""Bags of embeddings: the rows of a bag are added to +0 in the order of the indices. And rows held to a norm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from repdl.interception.aten.reduction import sum_of, vector_norm
from repdl.interception.native import native_of
from repdl.interception.override import ops_of, override

_SUM, _MEAN, _MAX = range(3)
_native = native_of("_embedding_bag")


def _parts(count: int, width: int) -> Iterator[slice]:
    """Of rows of that width, one after the other, each small enough to stay in the cache."""
    length = max(2**17 // max(width, 1), 1)
    for begin in range(0, count, length):
        yield slice(begin, min(begin + length, count))


@override("_embedding_bag", "_embedding_bag_forward_only", wide="float64")
def _(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """A row is first multiplied by its weight, if there are any; a mean is the sum over the size of the bag.

    Rows of the padding index are left out and not counted. The other results are the bag of each index, the size of
    each bag, and zeros. A maximum is of torch's kernel, which only compares: the first of equals, NaN alone where it
    comes first; its last result are the indices of the rows. An empty bag is +0.
    """
    if mode == _MAX:
        packed = indices.contiguous(), offsets.contiguous()  # torch's kernel reads them as such
        return _native(
            weight, *packed, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
        )
    count = indices.numel()
    if offsets.numel() and (int(offsets[0]) != 0 or int(offsets[-1]) > count):
        raise RuntimeError(
            f"[embedding_bag] offsets must begin with 0 and not exceed the {count} indices, "
            f"got {int(offsets[0])} … {int(offsets[-1])}"
        )
    if bool(((indices < 0) | (indices >= weight.shape[0])).any()):
        raise RuntimeError(f"[embedding_bag] indices must lie in 0 … {weight.shape[0] - 1}, the rows of weight")
    bags = offsets.numel() - int(include_last_offset)
    bag_of = torch.searchsorted(offsets[:bags].contiguous(), torch.arange(count, dtype=offsets.dtype), right=True) - 1
    counted = indices != padding_idx if padding_idx >= 0 else None
    output = weight.new_zeros(bags, weight.shape[1])
    for part in _parts(count, weight.shape[1]):
        rows, to = weight.index_select(0, indices[part]), bag_of[part]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[part, None]
        if counted is not None:
            rows, to = rows[counted[part]], to[counted[part]]
        output.index_add_(0, to, rows)
    chosen_bags = bag_of if counted is None else bag_of[counted]
    sizes = torch.bincount(chosen_bags, minlength=bags).to(offsets.dtype)
    if mode == _MEAN:
        output = output / sizes.clamp_min(1)[:, None]
    return output, bag_of.to(offsets.dtype), sizes, torch.zeros_like(sizes)


@override("_embedding_bag_backward", wide="float64")
def _(
    grad: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    bag_size: torch.Tensor,
    maximum_indices: torch.Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: torch.Tensor | None,
    padding_idx: int = -1,
) -> torch.Tensor:
    """To the row of each index, in order, the gradient of its bag is added, over its size for a mean, times its weight,
    over the number of times that the index comes with `scale_grad_by_freq`. Each step is rounded.

    Of a maximum, to each element that was one, in the order of the bags.
    """
    wide = grad.new_zeros(num_weights, grad.shape[1])
    if mode == _MAX:  # never sparse
        filled = bag_size != 0
        places = maximum_indices[filled] * grad.shape[1] + torch.arange(grad.shape[1])
        return wide.reshape(-1).index_add(0, places.reshape(-1), grad[filled].reshape(-1)).reshape(wide.shape)
    counts = torch.bincount(indices, minlength=num_weights) if scale_grad_by_freq else None

    def rows_of(part: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Where the rows of a part of the indices go, and the rows."""
        to, bags = indices[part], offset2bag[part]
        rows = grad.index_select(0, bags)
        if mode == _MEAN:
            rows = rows / bag_size.index_select(0, bags).clamp_min(1)[:, None]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[part, None]
        if counts is not None:
            rows = rows / counts[to][:, None]
        if padding_idx < 0:
            return to, rows
        counted = to != padding_idx
        return to[counted], rows[counted]

    if sparse:
        to, rows = rows_of(slice(None))
        return torch.sparse_coo_tensor(to[None], rows, wide.shape)
    for part in _parts(len(indices), grad.shape[1]):
        wide.index_add_(0, *rows_of(part))
    return wide


@override("_embedding_bag_per_sample_weights_backward", wide="float64")
def _(
    grad: torch.Tensor,
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    mode: int,
    padding_idx: int = -1,
) -> torch.Tensor:
    """Sum(grad * row) over the columns, and +0 for the padding index."""
    along = sum_of(grad.index_select(0, offset2bag) * weight.index_select(0, indices), 1, ops=ops_of(grad))
    return torch.where(indices != padding_idx, along, torch.zeros_like(along))


def _held(x: torch.Tensor, p: Any, dims: tuple[int, ...], largest: Any) -> torch.Tensor:
    """Scaled by largest / (norm + 1e-7), two roundings, where the norm is larger."""
    norm = vector_norm(x, p, dims, True, ops_of(x))
    scale = torch.full((), largest, dtype=norm.dtype) / (norm + 1e-7)  # a number over a tensor would be two more
    return torch.where(norm > largest, x * scale, x)


@override("renorm", wide="float64", converts=False)
def _(self: torch.Tensor, p: Any, dim: int, maxnorm: Any) -> torch.Tensor:
    return _held(self, p, tuple(d for d in range(self.dim()) if d != dim % self.dim()), maxnorm).contiguous()


@override("embedding_renorm_", low="compute", wide="compute")
def _(self: torch.Tensor, indices: torch.Tensor, max_norm: float, norm_type: float) -> torch.Tensor:
    rows = torch.unique(indices)
    wide = torch.float64 if self.dtype == torch.float64 else torch.float32
    held = _held(self.index_select(0, rows).to(wide), norm_type, (1,), max_norm)
    return self.index_copy_(0, rows, held.to(self.dtype))
