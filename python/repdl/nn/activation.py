# SPDX-License-Identifier: MIT
from __future__ import annotations

import torch

from repdl.nn import functional as F


class ReLU(torch.nn.ReLU):
    """torch.nn.ReLU with the same bits everywhere."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.relu(input, inplace=self.inplace)


class Softmax(torch.nn.Softmax):
    """torch.nn.Softmax with the same bits everywhere."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(torch.nn.LogSoftmax):
    """torch.nn.LogSoftmax with the same bits everywhere."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(input, self.dim)
