# SPDX-License-Identifier: MIT
"""What only a device on the host can show: which kernels torch calls, and a device that is not there or stops."""

from __future__ import annotations

import device
import pytest
import torch
from support_cuda import bits, to_cuda

import repdl

X = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))


def cuda(x: torch.Tensor = X) -> torch.Tensor:
    return device.on_device(x.clone())


@pytest.fixture
def counted(enabled: None) -> None:
    device.own_calls.clear()


def test_torch_gets_its_kernels_back(counted: None) -> None:
    torch.exp(cuda())
    assert device.own_calls["exp"] == 0
    with repdl.allow_native("a test"):  # which has no use for it: ours is there
        torch.exp(cuda())
    assert device.own_calls["exp"] == 0


def test_outside_torch_computes() -> None:
    device.own_calls.clear()
    torch.exp(cuda())
    assert device.own_calls["exp"] == 1


def test_only_moves_and_choices_are_torchs_own(counted: None) -> None:
    from repdl.interception.exact import is_exact_on_cuda

    x = cuda().requires_grad_()
    y = torch.nn.functional.layer_norm(torch.softmax(x * 2 + 1, 1) @ x, (4,))
    (torch.where(y > 0, y, -y) / 3).sum().backward()
    assert device.own_calls
    assert [name for name in device.own_calls if not is_exact_on_cuda(name)] == []


def test_a_device_that_is_not_there(enabled: None) -> None:
    x = device.on_device(X.clone(), index=5)
    assert str(x.device) == "cuda:5"
    for call in (torch.exp, repdl.ops.exp):
        with pytest.raises(RuntimeError, match=r"^\[exp\] .*cuda:5.*cudaErrorInvalidDevice"):
            call(x)
    with pytest.raises(
        ValueError, match=r"\[mm\] mat2 is on cuda:5 but the first tensor is on cuda:0; move one of them"
    ):
        repdl.ops.mm(cuda(), x)
    assert bits(torch.exp(cuda())) == bits(torch.exp(X))


def test_an_index_out_of_range_stops_the_kernel(enabled: None) -> None:
    index = device.on_device(torch.tensor([0, 4]))
    with pytest.raises(RuntimeError, match=r"^\[index_add\] .*cuda:0"):
        cuda().index_add(0, index, cuda()[:2])
    assert bits(torch.exp(cuda())) == bits(torch.exp(X))


def test_writes_out_of_range_are_refused(enabled: None) -> None:
    x = torch.zeros(3, 4)
    for index in ([[0, 3]], [[-1]]):
        places = torch.tensor(index)
        with pytest.raises(RuntimeError):
            to_cuda(x).scatter_(0, to_cuda(places), to_cuda(torch.ones(places.shape)))


def test_torchs_kernels_with_other_steps_are_not_called(counted: None) -> None:
    x, index = cuda(), device.on_device(torch.zeros(4, 4, dtype=torch.int64))
    torch.nn.functional.hardswish(torch.nn.functional.hardsigmoid(x), inplace=True)
    x.floor_divide(x).div(0.3, rounding_mode="trunc").round(decimals=2).angle()
    x.scatter_reduce(0, index, x, "prod").scatter_(0, index, x, reduce="multiply").index_reduce(0, index[0], x, "mean")
    torch.unique(x, dim=0)
    torch.argmax(x, 1, out=index.new_empty(4))
    theirs = "hardswish hardsigmoid floor_divide div angle scatter_reduce scatter index_reduce unique_dim argmax"
    called = {name.partition(".")[0].removesuffix("_") for name in device.own_calls if name != "scatter_.src"}
    assert called & set(theirs.split()) == set()
    assert "round.decimals" not in device.own_calls
