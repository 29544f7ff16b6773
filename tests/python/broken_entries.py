# SPDX-License-Identifier: MIT
"""Entries for the sweep that are broken, each in one way, beside two that are sound; for test_torch_sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from repdl.conformance.torch_sweep.samples import Sample
from support import without_kernel

EPS = 2.0**-20


class Made:
    """An op of float32 that is its own only sample, of 4 rows."""

    elementwise = True

    def __init__(self, function: Callable[..., Any], in_place: Any = None, out: bool = False) -> None:
        self.name, self.function, self.in_place, self.out = function.__name__, function, in_place, out

    def dtypes(self) -> set[str]:
        return {"float32"}

    def differentiable(self, dtype: str) -> bool:
        return self.name != "held_out"

    def samples(self, dtype: str) -> Iterator[Sample]:
        x = torch.arange(1, 25, dtype=torch.float32).reshape(4, 6) / 8
        yield Sample("0", self.function, (x,), {}, in_place=self.in_place, out=self.out)


def _nudged(x: torch.Tensor, wrong: bool) -> torch.Tensor:
    return x.abs() + EPS if wrong else x.abs() + 0.0


def held(x: torch.Tensor) -> torch.Tensor:
    return x.abs() + 0.0


def held_out(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    return torch.abs(x, out=out)


def by_threads(x: torch.Tensor) -> torch.Tensor:
    return _nudged(x, torch.get_num_threads() == 7)


def by_layout(x: torch.Tensor) -> torch.Tensor:
    return _nudged(x, not x.is_contiguous())


def by_alignment(x: torch.Tensor) -> torch.Tensor:
    return _nudged(x, x.storage_offset() != 0)


def by_capability(x: torch.Tensor) -> torch.Tensor:
    return _nudged(x, os.environ.get("ATEN_CPU_CAPABILITY") == "default")


def by_target(x: torch.Tensor) -> torch.Tensor:
    return _nudged(x, os.environ.get("REPDL_TARGET") == "scalar")


def by_batch(x: torch.Tensor) -> torch.Tensor:
    """In float64 a row is one of the batch, as in any op that adds up in another order."""
    return _nudged(x, x.dim() == 2 and len(x) == 1 and x.dtype == torch.float32)


def by_zero(x: torch.Tensor) -> torch.Tensor:
    """Of two zeros the one that a vector has in its last lane."""
    return torch.copysign(x, torch.ones(())) if torch.get_num_threads() == 3 else torch.where(x == 0, x, x.abs())


class _Gradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad + EPS if ctx.saved_tensors[0].is_contiguous() else grad


def by_layout_backwards(x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = _Gradient.apply(x)
    return result


def in_place_other(x: torch.Tensor) -> torch.Tensor:
    return x.abs()


def out_other(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    return x.abs() if out is None else out.copy_(x.abs() + EPS)


def _enabled() -> bool:
    import repdl

    return repdl.interception.is_enabled()


def far_off(x: torch.Tensor) -> torch.Tensor:
    return x.abs() * 1.001 if _enabled() else x.abs()


def breaking(x: torch.Tensor) -> torch.Tensor:
    if _enabled():
        raise TypeError("no such kernel")
    return x.abs()


def raising(x: torch.Tensor) -> torch.Tensor:
    return without_kernel(x) if x.dim() == 2 else x


def crashing(x: torch.Tensor) -> torch.Tensor:
    if _enabled() and torch.get_num_threads() == 3:
        os.abort()
    return x.abs()


def crashing_in_stock(x: torch.Tensor) -> torch.Tensor:
    """torch's own kernels have such faults, with numbers that nobody tried."""
    if not _enabled() and bool((x == 0).all()):
        os.abort()
    return x.abs()


def entries() -> list[Made]:
    plain = [
        held, by_threads, by_layout, by_alignment, by_capability, by_target, by_batch, by_zero, by_layout_backwards,
        far_off, breaking, raising, crashing, crashing_in_stock,
    ]  # fmt: skip
    made = [Made(function) for function in plain]
    made.append(Made(in_place_other, in_place=lambda x: x.abs_().add_(EPS)))
    return [*made, Made(held_out, out=True), Made(out_other, out=True)]
