# SPDX-License-Identifier: MIT
"""Single steps of LSTM and GRU on devices, above autograd: those that torch makes on the CPU; there it has others."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from repdl.interception.aten.packed_steps import gru_layer
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
    h, c = hx
    gates = F.linear(h, w_hh, b_hh).add_(F.linear(input, w_ih, b_ih)).unsafe_chunk(4, 1)
    enters, stays, shows = (gates[i].sigmoid_() for i in (0, 1, 3))
    cy = (stays * c).add_(enters * gates[2].tanh_())
    return shows * cy.tanh(), cy


@composite("gru_cell", on_devices=True)
def gru_cell(
    input: torch.Tensor, hx: torch.Tensor, w_ih: torch.Tensor, w_hh: torch.Tensor, b_ih: Any = None, b_hh: Any = None
) -> torch.Tensor:
    if not input.is_cuda:
        return _native["gru_cell"](input, hx, w_ih, w_hh, b_ih, b_hh)
    return gru_layer(F.linear(input, w_ih, b_ih).unsqueeze(0), [hx], w_hh, b_hh, False)[1]
