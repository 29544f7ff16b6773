# SPDX-License-Identifier: MIT
from __future__ import annotations

import torch

from repdl.nn import functional as F


class Conv2d(torch.nn.Conv2d):
    """torch.nn.Conv2d with the same bits everywhere; every padding mode."""

    def _conv_forward(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            # Padding moves numbers and computes none.
            input = torch.nn.functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0, 0)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)
