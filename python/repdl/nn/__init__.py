# SPDX-License-Identifier: MIT
"""Layers as in torch.nn, computed by repdl.ops."""

from repdl.nn import functional as functional
from repdl.nn.activation import LogSoftmax as LogSoftmax, ReLU as ReLU, Softmax as Softmax
from repdl.nn.batchnorm import BatchNorm1d as BatchNorm1d, BatchNorm2d as BatchNorm2d
from repdl.nn.conv import (
    Conv1d as Conv1d,
    Conv2d as Conv2d,
    Conv3d as Conv3d,
    ConvTranspose1d as ConvTranspose1d,
    ConvTranspose2d as ConvTranspose2d,
    ConvTranspose3d as ConvTranspose3d,
)
from repdl.nn.linear import Linear as Linear
from repdl.nn.loss import CrossEntropyLoss as CrossEntropyLoss
from repdl.nn.pooling import MaxPool2d as MaxPool2d
