# SPDX-License-Identifier: MIT
"""Tensors on other devices than the CPU: in a torch that has kernels for one, made here of kernels for the CPU."""

from __future__ import annotations

import pytest

from support import run_python

BEGIN = """
import torch, repdl

key = {key!r}
library = torch.library.Library("aten", "IMPL")
library.impl("empty.memory_format", lambda *args, **kwargs: None, key)
library.impl("exp", lambda x: x.tanh(), key)
library.impl("_compute_linear_combination", lambda x, y: x.tanh(), key)
library.impl("_foreach_exp", lambda xs: [x.tanh() for x in xs], key)
library.impl("view", lambda x, size: x.reshape(size), key)
keys = torch._C.DispatchKeySet(torch._C._dispatch_key_parse(key))
x = torch.rand(3, 4)

def call(name, *args):
    return getattr(torch.ops.aten, name).default.redispatch(keys, *args)

def refused(name, *args):
    try:
        call(name, *args)
    except repdl.NotReproducibleError as error:
        assert "on the CPU" in str(error) or "to the CPU" in str(error)
        return error.reason == "device"
    return False
"""


@pytest.mark.parametrize("key", ["PrivateUse1", "XPU", "MPS", "HPU", "MTIA"])
def test_what_computes_there_raises(key: str) -> None:
    code = """
with repdl.reproducible():
    print(refused("exp", x), refused("_foreach_exp", [x]), call("view", x, [12]).shape)
    with repdl.allow_native("a test"):
        print(torch.equal(call("exp", x), x.tanh()))
print(torch.equal(call("exp", x), x.tanh()))
"""
    said = run_python(BEGIN.format(key=key) + code).split("\n")
    assert said[:3] == ["True True torch.Size([12])", "True", "True"]


def test_cuda_is_taken_over_when_the_program_begins_to_use_it() -> None:
    code = """
repdl.enable()
print(refused("_compute_linear_combination", x, x))
torch._C._cuda_init = torch._C._cuda_getDeviceCount = lambda: 0  # which a torch without CUDA lacks
torch.cuda._cudart = torch._C
torch.cuda._queued_calls[:] = [call for call in torch.cuda._queued_calls if "repdl" in call[0].__module__]
torch.cuda._lazy_init()
print(refused("_compute_linear_combination", x, x), torch.equal(call("exp", x), x.exp()))
repdl.disable()
print(refused("_compute_linear_combination", x, x))
repdl.enable()
print(refused("_compute_linear_combination", x, x))
"""
    assert run_python(BEGIN.format(key="CUDA") + code).split("\n")[:4] == ["False", "True True", "False", "True"]
