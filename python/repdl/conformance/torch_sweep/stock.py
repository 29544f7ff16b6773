# SPDX-License-Identifier: MIT
"""What stock torch gives for a trial, and what it would give with more digits; repdl is disabled meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from repdl.conformance.torch_sweep import calls
from repdl.conformance.torch_sweep.accuracy import tensors_of, widened
from repdl.conformance.torch_sweep.layouts import rows
from repdl.conformance.torch_sweep.samples import Sample


@dataclass
class Stock:
    """What stock torch makes of a call.

    error: of the forward call, which makes it no sample. gradient: None where there is none.
    wide, wide_gradient: of the same numbers in float64 or complex128.
    random: whether it draws numbers. row: the one that was tried alone, if it then is a row of the result.
    """

    error: str | None = None
    forward: Any = None
    gradient: Any = None
    wide: Any = None
    wide_gradient: Any = None
    random: bool = False
    row: int | None = None
    forms: set[str] = field(default_factory=set)


def attempt(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str | None]:
    """The result, or the error in words."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:200]


def gradients(result: Any) -> Any:
    return None if result is None else [g for g in result[1] if g is not None]


def ask_stock(sample: Sample, dtype: torch.dtype, differentiable: bool, row: int | None) -> Stock:
    forward, error = attempt(calls.forward, sample)
    if error is not None:
        return Stock(error)
    stock = Stock(forward=forward)
    stock.random = is_random(sample, forward)
    if differentiable:
        stock.gradient = gradients(attempt(calls.gradient, sample)[0])
    wide = widened(sample, dtype, forward)
    if wide is not None and not stock.random:
        stock.wide = attempt(calls.forward, wide)[0]
        if stock.gradient is not None:
            stock.wide_gradient = gradients(attempt(calls.gradient, wide)[0])
    if sample.in_place is not None and attempt(calls.in_place, sample, sample.in_place)[1] is None:
        stock.forms.add("in place")
    if sample.out and attempt(calls.into, sample, forward, False)[1] is None:
        stock.forms.add("out")
    if row is not None and not stock.random:
        exact = (sample, forward) if wide is None or stock.wide is None else (wide, stock.wide)
        if is_row(*exact, row):
            stock.row = row
    return stock


def is_random(sample: Sample, before: Any) -> bool:
    """Whether another seed gives another result, or was drawn from, to multiply zeros say."""
    again, error = attempt(calls.forward, sample, calls.SEED + 1)
    if error is not None:
        return False
    unused = torch.Generator().manual_seed(calls.SEED + 1).get_state()
    return calls.digest(again) != calls.digest(before) or not torch.equal(torch.get_rng_state(), unused)


def row_of(result: Any, row: int) -> list[torch.Tensor]:
    """That row of each tensor; a tensor without rows, which is not what torch gives, as it is."""
    return [x[row % x.shape[0]][None] if len(x) else x for x in tensors_of(result)]


def is_row(sample: Sample, whole: Any, row: int) -> bool:
    """Whether the call of one row alone gives that row of the result of the whole, but for rounding."""
    alone = rows(sample, row)
    if alone is None:
        return False
    count = sample.tensors()[0].shape[0]
    found, error = attempt(calls.forward, alone)
    all_rows, one = tensors_of(whole), tensors_of(found)
    if error is not None or not one or len(one) != len(all_rows):
        return False
    for x, y in zip(all_rows, one):
        if x.dim() == 0 or y.shape != (1, *x.shape[1:]) or x.shape[0] != count or x.dtype != y.dtype:
            return False
        if not close(x[row % count][None], y):
            return False
    return True


def close(part: torch.Tensor, y: torch.Tensor) -> bool:
    """Whether two tensors of one shape and dtype may be the same row, rounded otherwise."""
    if not (part.is_floating_point() or part.is_complex()):
        return torch.equal(part, y)
    near = 1e-9 if part.dtype in (torch.float64, torch.complex128) else 1e-4
    sizes = part.to(torch.complex128).abs()
    size = float(torch.where(sizes.isfinite(), sizes, 0.0).max()) if part.numel() else 0.0
    if not torch.allclose(part, y, near, near * size, equal_nan=True):
        return False
    # Of a call with zeros alone, nothing else tells what is a row.
    return torch.equal(_negative_zeros(part), _negative_zeros(y))


def _negative_zeros(x: torch.Tensor) -> torch.Tensor:
    """Where they are, of complex numbers in each part."""
    parts = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return parts.signbit() & (parts == 0)
