# SPDX-License-Identifier: MIT
from __future__ import annotations

import torch

from repdl.nn import functional as F


class MaxPool2d(torch.nn.MaxPool2d):
    """torch.nn.MaxPool2d with the same bits everywhere."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(  # type: ignore[return-value]
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )
