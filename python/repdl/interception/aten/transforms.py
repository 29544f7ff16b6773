# SPDX-License-Identifier: MIT
"""Ops that torch.func makes of other steps than a call alone. Here they are made of those that give its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.vmap import lazy_load_decompositions  # type: ignore[attr-defined]
from torch.utils import _pytree as pytree

from repdl.interception.aten.matmul import over_batch, plus
from repdl.interception.dtypes import LOW, WIDE, kinds_of, map_tensors, widen
from repdl.interception.native import LOW_DTYPES, Kernel, native_of, overload
from repdl.interception.override import of_transform
from repdl.interception.rounding import first_rounded, rounded_once

_BATCHED = "FuncTorchBatched"

lazy_load_decompositions()  # which torch else puts over ours with the first vmap


def _add_product(name: str, product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    def compute(self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, beta: Any, alpha: Any) -> torch.Tensor:
        return plus(self, product(a, b), beta, alpha)

    low = rounded_once(compute)

    @of_transform(_BATCHED, name)
    def add_product(
        self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> torch.Tensor:
        are_low = self.dtype in LOW_DTYPES and self.dtype == a.dtype == b.dtype
        return (low if are_low else compute)(self, a, b, beta, alpha)


_add_product("addmm", torch.mm)
_add_product("addmv", torch.mv)
_add_product("baddbmm", torch.bmm)
_add_product("addbmm", lambda batch1, batch2: torch.mm(*over_batch(batch1, batch2)))


def _in_float32(round_results: Callable[[Kernel], Kernel], *names: str) -> None:
    """Declares ops that torch makes of several steps for a batch, each of which rounds bfloat16 and float16.

    A single entry is widened and rounded once. So is the batch: in float32 the steps give the bits of the op.
    """
    for name in names:
        of_transform(_BATCHED, name)(_widened(name, round_results))


def _widened(name: str, round_results: Callable[[Kernel], Kernel]) -> Kernel:
    native, op = native_of(name, _BATCHED), overload(name)
    places = {argument.name: i for i, argument in enumerate(op._schema.arguments)}
    statistics = [places[a] for a in ("running_mean", "running_var") if a in places]

    def wide(*args: Any) -> Any:
        return op(*args)

    rounded = round_results(wide)

    def in_float32(*args: Any) -> Any:
        kinds = kinds_of(args)
        if not kinds & LOW or kinds & WIDE:
            return native.run(args, args, {})
        given = list(args)
        for i in statistics:
            given[i] = widen(args[i])
        result = rounded(*given)
        for i in statistics:
            if given[i] is not args[i] and args[places["training"]]:
                args[i].copy_(given[i])
        return result

    return in_float32


def _each_alone(name: str) -> None:
    """Declares an op that is called for each entry of a batch, since the steps of torch give other bits."""
    op, native = overload(name), native_of(name, _BATCHED)
    functorch = torch._C._functorch

    @of_transform(_BATCHED, name)
    def each_alone(*args: Any) -> Any:
        level = functorch.maybe_current_level()
        assert level is not None
        given = [functorch._unwrap_batched(a, level) if isinstance(a, torch.Tensor) else (a, None) for a in args]
        sizes = {x.shape[dim] for x, dim in given if dim is not None}
        if sizes == {0}:
            return native.run(args, args, {})
        with torch._C._ExcludeDispatchKeyGuard(native.keys):
            if not sizes:  # a batch of another level
                return op(*args)
            (size,) = sizes
            rows = [op(*(x if dim is None else x.select(dim, i) for x, dim in given)) for i in range(size)]
            results = pytree.tree_map(lambda *row: None if row[0] is None else torch.stack(row), *rows)
        return map_tensors(lambda x: functorch._add_batch_dim(x, 0, level), results)


_in_float32(
    first_rounded,
    *("native_layer_norm", "native_group_norm", "native_batch_norm"),
    *("_native_batch_norm_legit", "_native_batch_norm_legit.no_stats"),
)
_in_float32(
    rounded_once,
    *("native_layer_norm_backward", "native_group_norm_backward"),
    *("convolution", "_convolution", "convolution_backward"),
    *("binary_cross_entropy", "smooth_l1_loss", "huber_loss"),
)


_each_alone("native_batch_norm_backward")
for _loss in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"):
    _each_alone(f"{_loss}_backward")
for _loss in ("nll_loss", "nll_loss2d"):
    _each_alone(f"{_loss}_forward")
    _each_alone(f"{_loss}_backward")


@of_transform("FuncTorchDynamicLayerFrontMode", "binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    pos_weight: torch.Tensor | None = None,
    reduction: int = 1,
) -> torch.Tensor:
    """The steps of torch outside of a transform, none in place."""
    log = torch.nn.functional.logsigmoid(self)
    if pos_weight is not None:
        log = log * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * self - log
    if weight is not None:
        loss = loss * weight
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss
