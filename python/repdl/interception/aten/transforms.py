# SPDX-License-Identifier: MIT
"""Ops that torch.func makes of other steps than a call alone. Here they are made of those that give its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.aten.matmul import plus
from repdl.interception.native import LOW_DTYPES
from repdl.interception.override import of_transform


def _of_batch(batch1: torch.Tensor, batch2: torch.Tensor) -> torch.Tensor:
    """One product over (batch, k)."""
    wide = batch1.transpose(0, 1).reshape(batch1.shape[1], -1)
    return torch.mm(wide, batch2.reshape(-1, batch2.shape[2]))


def _add_product(name: str, product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    """Of low types both in float32, rounded once."""

    @of_transform("FuncTorchBatched", name)
    def add_product(
        self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> torch.Tensor:
        dtype = self.dtype
        if dtype in LOW_DTYPES and a.dtype == b.dtype == dtype:
            self, a, b = self.float(), a.float(), b.float()
        return plus(self, product(a, b), beta, alpha).to(dtype)


_add_product("addmm", torch.mm)
_add_product("addmv", torch.mv)
_add_product("baddbmm", torch.bmm)
_add_product("addbmm", _of_batch)


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
