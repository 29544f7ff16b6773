# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import device
import torch


def bits(value: Any) -> Any:
    """The bytes of tensors, of whatever device, with every NaN alike; read without a wait that a test would count."""
    if isinstance(value, torch.Tensor):
        if value._is_zerotensor():  # of the CPU, without memory
            value = torch.zeros(value.shape, dtype=value.dtype)
        host = device.on_host(value.detach()).contiguous()
        if host.is_complex():
            host = torch.view_as_real(host.resolve_conj())
        if host.is_floating_point():
            host = torch.where(host.isnan(), torch.full_like(host, float("nan")), host)
        return host.dtype, tuple(host.shape), host.view(-1).view(torch.uint8).numpy().tobytes()
    return [bits(item) for item in value] if isinstance(value, (list, tuple)) else value


def to_cuda(value: Any) -> Any:
    """A copy on the device, with the strides that it has."""
    if isinstance(value, torch.Tensor):
        return device.on_device(value.detach().clone()).requires_grad_(value.requires_grad)
    return type(value)(map(to_cuda, value)) if isinstance(value, (list, tuple)) else value
