# SPDX-License-Identifier: MIT
"""Single steps of LSTM and GRU on devices, above autograd: those that torch makes on the CPU; there it has others."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from repdl.interception.aten.recurrent_steps import gru_step, lstm_step
from repdl.interception.native import Kernel, native_of
from repdl.interception.override import composite

_native: dict[str, Kernel] = {name: native_of(name) for name in ("lstm_cell", "gru_cell")}
"""They look at shapes, too, and serve the CPU."""


@composite("lstm_cell", on_devices=True)
def lstm_cell(
    input: torch.Tensor, hx: Any, w_ih: torch.Tensor, w_hh: torch.Tensor, b_ih: Any = None, b_hh: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    if not input.is_cuda:
        return _native["lstm_cell"](input, hx, w_ih, w_hh, b_ih, b_hh)
    h, c = lstm_step(F.linear(input, w_ih, b_ih), hx, w_hh, b_hh)
    return h, c


@composite("gru_cell", on_devices=True)
def gru_cell(
    input: torch.Tensor, hx: torch.Tensor, w_ih: torch.Tensor, w_hh: torch.Tensor, b_ih: Any = None, b_hh: Any = None
) -> torch.Tensor:
    if not input.is_cuda:
        return _native["gru_cell"](input, hx, w_ih, w_hh, b_ih, b_hh)
    return gru_step(F.linear(input, w_ih, b_ih), [hx], w_hh, b_hh)[0]
