# SPDX-License-Identifier: MIT
"""What has no kernel for the device raises by its name, and so do tensors that are not all there."""

from __future__ import annotations

from collections.abc import Callable

import device
import pytest
import torch
from support_cuda import bits

import repdl

X = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))


def cuda(x: torch.Tensor = X) -> torch.Tensor:
    return device.on_device(x.clone())


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("aten::linalg_eig", lambda x: torch.linalg.eig(x)),
        ("aten::_compute_linear_combination", lambda x: torch._compute_linear_combination(x, x)),
    ],
)
def test_what_lacks_a_kernel_raises(name: str, call: Callable[[torch.Tensor], object], enabled: None) -> None:
    x = cuda()
    with pytest.raises(repdl.NotReproducibleError) as error:
        call(x)
    assert error.value.op == name
    assert (error.value.device, error.value.reason) == ("cuda:0", "device")
    with repdl.allow_native("a test"):
        call(x)


def test_levels() -> None:
    x = cuda(X)
    with repdl.reproducible(strict="off"):
        torch._compute_linear_combination(x, x)
    with repdl.reproducible(strict="warn"), pytest.warns(repdl.NotReproducibleWarning, match="linear_combination"):
        torch._compute_linear_combination(x, x)


def test_mixed_devices(enabled: None) -> None:
    for call in (torch.mm, torch.add, torch.mul, torch.atan2):
        for a, b in ((cuda(), X), (X, cuda())):
            with pytest.raises(RuntimeError, match=r"cuda:0.*cpu|cpu.*cuda:0"):
                call(a, b)
    with pytest.raises(RuntimeError, match="cuda:0"):
        torch.tensor(1.0).add_(cuda()[0, 0])
    for call in (torch.exp, torch.neg):
        for x, out in ((cuda(), torch.empty(4, 4)), (X, cuda())):
            with pytest.raises(RuntimeError, match="cuda:0"):
                call(x, out=out)
    with pytest.raises(ValueError, match=r"\[mm\] mat2 is on cpu but the first tensor is on cuda:0; move one of them"):
        repdl.ops.mm(cuda(), X)


def test_a_number_on_the_cpu_counts(enabled: None) -> None:
    third = torch.tensor(0.3, dtype=torch.float64)
    assert bits(cuda() * third) == bits(X * third)
    assert bits(cuda() ** third.float()) == bits(X ** third.float())
    assert bits(cuda().mul_(third)) == bits(X * third)
