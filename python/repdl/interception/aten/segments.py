# SPDX-License-Identifier: MIT
"""Segments of a dimension, by the core."""

from __future__ import annotations

from typing import Any

import torch

from repdl.interception.core import ops
from repdl.interception.native import native_of
from repdl.interception.override import override

_native = native_of("segment_reduce")
_WAYS = {"amax": "max", "amin": "min"}


def _lengths(lengths: torch.Tensor | None, offsets: torch.Tensor | None) -> torch.Tensor:
    if offsets is None:
        assert lengths is not None
        return lengths.to(torch.int64)
    if bool((offsets.narrow(-1, 0, 1) != 0).any()):
        raise RuntimeError("[segment_reduce] offsets must begin with 0; pass the part of data where the segments begin")
    return offsets.to(torch.int64).diff(dim=-1)


def _is_ours(data: torch.Tensor, reduce: str, dim: int, *segments: torch.Tensor | None) -> bool:
    """Others torch refuses, with its own words."""
    given = [x for x in segments if x is not None]
    return (
        bool(given)
        and _WAYS.get(reduce, reduce) in ("sum", "mean", "prod", "max", "min")
        and all(x.dtype in (torch.int64, torch.int32) and x.dim() == dim + 1 for x in given)
        and all(x.shape[:-1] == data.shape[:dim] and x.numel() > 0 for x in given)
    )


@override("segment_reduce", wide="float64", converts=False)
def segment_reduce(
    data: torch.Tensor,
    reduce: str,
    *,
    lengths: torch.Tensor | None = None,
    indices: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> torch.Tensor:
    dim = axis % max(data.dim(), 1)
    if indices is not None or not _is_ours(data, reduce, dim, lengths, offsets):
        kept = {"lengths": lengths, "indices": indices, "offsets": offsets, "axis": axis, "unsafe": unsafe}
        result: torch.Tensor = _native(data, reduce, **kept, initial=initial)
        return result
    counts = _lengths(lengths, offsets)
    if not unsafe and offsets is None and bool((counts.sum(-1) != data.shape[dim]).any()):
        raise RuntimeError(
            f"[segment_reduce] lengths must have the sum {data.shape[dim]}, the size of dimension {dim} of data"
        )
    start = None if initial is None else float(initial)
    reduced: torch.Tensor = ops["segment_reduce"](data, counts, _WAYS.get(reduce, reduce), start, dim)
    return reduced


@override("_segment_reduce_backward", wide="float64", converts=False)
def segment_reduce_backward(
    grad: torch.Tensor,
    output: torch.Tensor,
    data: torch.Tensor,
    reduce: str,
    *,
    lengths: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    axis: int = 0,
    initial: Any = None,
) -> torch.Tensor:
    dim = axis % max(data.dim(), 1)
    counts = _lengths(lengths, offsets)
    start = None if initial is None else float(initial)
    settings = _WAYS.get(reduce, reduce), start, dim
    result: torch.Tensor = ops["segment_reduce_grad"](grad, output, data, counts, *settings)
    return result
