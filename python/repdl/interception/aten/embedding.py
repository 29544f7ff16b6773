# SPDX-License-Identifier: MIT
"""Bags of embeddings: the rows of a bag are added to +0 in the order of the indices. And rows held to a norm."""

from __future__ import annotations

from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core
from repdl.interception.aten.reduction import checked_dim, vector_norm
from repdl.interception.native import native_of, wide
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import override

_MODES = ("sum", "mean", "max")

_native_gradient = native_of("embedding_dense_backward")


@override("embedding_dense_backward", op="embedding_grad", wide="compute")
def embedding_dense_backward(
    grad_output: torch.Tensor, indices: torch.Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> torch.Tensor:
    if grad_output.dtype not in (torch.float32, torch.float64) or indices.dtype not in (torch.int64, torch.int32):
        return _native_gradient(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)
    return core.ops["embedding_grad"](grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)


@override(
    "_embedding_bag",
    "_embedding_bag_forward_only",
    op="embedding_bag",
    wide="float64",
    alike=(0, 6),
    constants={3: ..., 5: ...},
    choices={4: _MODES},
)
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    for name, integers in (("indices", indices), ("offsets", offsets)):
        if integers.dtype not in (torch.int64, torch.int32):
            raise RuntimeError(f"[embedding_bag] {name} must be int64 or int32, got {integers.dtype}")
    settings = _MODES[mode], per_sample_weights, include_last_offset, padding_idx
    return core.ops["embedding_bag"](weight, indices, offsets, *settings)


@override(
    "_embedding_bag_backward",
    op="embedding_bag_grad",
    wide="float64",
    constants={2: ..., 9: False},
    choices={8: _MODES},
)
def embedding_bag_backward(
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
    """The op; or if sparse, of a sum or a mean, the rows that it adds, with the same steps."""
    kind = _MODES[mode]
    if not sparse or kind == "max":
        places = indices, offset2bag, bag_size, maximum_indices
        settings = scale_grad_by_freq, kind, per_sample_weights, padding_idx
        return core.ops["embedding_bag_grad"](grad, *places, num_weights, *settings)
    rows = grad.index_select(0, offset2bag)
    if kind == "mean":
        sizes = bag_size.index_select(0, offset2bag).clamp_min(1)
        rows = core.ops["div"](rows, sizes.to(rows.dtype)[:, None])
    if per_sample_weights is not None:
        rows = core.ops["mul"](rows, per_sample_weights[:, None])
    if scale_grad_by_freq:
        times = torch.bincount(indices, minlength=num_weights)[indices]
        rows = core.ops["div"](rows, times.to(rows.dtype)[:, None])
    to = indices
    if padding_idx >= 0:
        to, rows = indices[indices != padding_idx], rows[indices != padding_idx]
    return torch.sparse_coo_tensor(to[None], rows, (num_weights, grad.shape[1]), check_invariants=False)


@override("_embedding_bag_per_sample_weights_backward", wide="float64")
def per_sample_weights_backward(
    grad: torch.Tensor,
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    offset2bag: torch.Tensor,
    mode: int,
    padding_idx: int = -1,
) -> torch.Tensor:
    """Product(grad, row) over the columns, and +0 for the padding index."""
    places = offset2bag.to(torch.int64), indices.to(torch.int64)
    along = core.ops["sampled_mm"](grad, weight.t(), *places, get_order())
    return torch.where(indices != padding_idx, along, torch.zeros_like(along))


def _held(x: torch.Tensor, p: Any, dims: tuple[int, ...], largest: Any) -> torch.Tensor:
    """Scaled by largest / (norm + 1e-7), two roundings, where the norm is larger."""
    norm = vector_norm(x, p, dims, True, ops_of(x))
    one, tiny = (torch.full((), number, dtype=norm.dtype) for number in (largest, 1e-7))
    scale = core.ops["div"](one, core.ops["add"](norm, tiny))
    return torch.where(norm > largest, ops_of(x)["mul"](x, scale.to(x.dtype)), x)


@override("renorm", wide="float64", complex=True, converts=False)
def renorm(self: torch.Tensor, p: Any, dim: int, maxnorm: Any) -> torch.Tensor:
    if self.dim() < 2:
        raise RuntimeError(f"[renorm] input must have 2 dimensions or more, got {self.dim()}; add one with unsqueeze")
    if isinstance(p, complex) or not p > 0:
        raise RuntimeError(f"[renorm] p must be a positive number, got {p}")
    if isinstance(maxnorm, complex) or not maxnorm >= 0:
        raise RuntimeError(f"[renorm] maxnorm must be a number that is not negative, got {maxnorm}")
    kept = checked_dim(self, dim) % self.dim()
    return _held(self, p, tuple(d for d in range(self.dim()) if d != kept), maxnorm).contiguous()


@override("embedding_renorm_", low="compute", wide="compute")
def embedding_renorm_(self: torch.Tensor, indices: torch.Tensor, max_norm: float, norm_type: float) -> torch.Tensor:
    rows = torch.unique(indices).to(torch.int64)
    held = _held(self.index_select(0, rows).to(wide(self.dtype)), norm_type, (1,), max_norm)
    return self.index_copy_(0, rows, held.to(self.dtype))
