# SPDX-License-Identifier: MIT
"""Ops that torch.func makes of other steps than a call alone. Here they are made of those that give its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.aten.matmul import over_batch, plus
from repdl.interception.native import LOW_DTYPES
from repdl.interception.override import of_transform
from repdl.interception.rounding import rounded_once


def _add_product(name: str, product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    def compute(self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, beta: Any, alpha: Any) -> torch.Tensor:
        return plus(self, product(a, b), beta, alpha)

    low = rounded_once(compute)

    @of_transform("FuncTorchBatched", name)
    def add_product(
        self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> torch.Tensor:
        are_low = self.dtype in LOW_DTYPES and self.dtype == a.dtype == b.dtype
        return (low if are_low else compute)(self, a, b, beta, alpha)


_add_product("addmm", torch.mm)
_add_product("addmv", torch.mv)
_add_product("baddbmm", torch.bmm)
_add_product("addbmm", lambda batch1, batch2: torch.mm(*over_batch(batch1, batch2)))


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
