# SPDX-License-Identifier: MIT
"""Tensors of CUDA devices, as far as it can be seen without one, and the golden digests where there is one."""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

import pytest
import torch

import repdl
from repdl import _core
from repdl._op import registry
from support import ALL_OPS, digest, golden_lines, results_of, to_torch

CUDA, INDEX = 2, 99  # DLPack's number for CUDA, and a device that is not there


def test_devices_are_listed() -> None:
    devices = _core.cuda_devices()
    assert isinstance(devices, list)
    assert devices == [] or _core.has_cuda
    if _core.has_cuda and torch.version.cuda is not None:
        assert len(devices) == torch.cuda.device_count()


class Version(ctypes.Structure):
    _fields_ = (("major", c_uint32), ("minor", c_uint32))


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", c_void_p),
        ("offset", c_uint64),
    )


class ManagedTensor(ctypes.Structure):
    _fields_ = (
        ("version", Version),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", Tensor),
    )


class Framework:
    """A framework as DLPack's C exchange API shows it: its tensors are on a CUDA device and have no data to read."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.shape = (c_int64 * 1)(5)
        self.output = ManagedTensor(Version(1, 3))
        self.functions = (
            CFUNCTYPE(c_int, POINTER(Tensor), POINTER(c_void_p), c_void_p, c_void_p)(self.allocate),
            CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))(lambda *_: -1),
            CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))(self.to_object),
            CFUNCTYPE(c_int, c_void_p, POINTER(Tensor))(self.from_object),
            CFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))(self.current_stream),
        )
        pointers = [ctypes.cast(function, c_void_p).value for function in self.functions]
        self.table = (c_uint64 * 7)(3 << 32 | 1, 0, *pointers)  # version 1.3, no older table
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype, new_capsule.argtypes = ctypes.py_object, (c_void_p, c_char_p, c_void_p)
        capsule = new_capsule(ctypes.addressof(self.table), b"dlpack_exchange_api", None)
        self.tensor_type = type("FakeTensor", (), {"__dlpack_c_exchange_api__": capsule})

    def from_object(self, _: int, out: Any) -> int:
        out[0] = Tensor(0x1000, CUDA, INDEX, 1, 2, 32, 1, self.shape, None, 0)
        return 0

    def allocate(self, prototype: Any, out: Any, *_: object) -> int:
        self.asked.append(("allocate", prototype[0].device_type, prototype[0].device_id, prototype[0].shape[0]))
        self.output.tensor = Tensor(0x2000, CUDA, INDEX, 1, 2, 32, 1, self.shape, None, 0)
        out[0] = ctypes.addressof(self.output)
        return 0

    def to_object(self, _: int, out: Any) -> int:
        result = self.tensor_type()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(result))
        out[0] = id(result)
        return 0

    def current_stream(self, device_type: int, device_id: int, out: Any) -> int:
        self.asked.append(("stream", device_type, device_id))
        out[0] = 0
        return 0


def test_the_framework_allocates_on_the_device_and_names_the_stream() -> None:
    framework = Framework()
    # Without the kernel an error says so; with it CUDA says that there is no such device, or no driver.
    expected, words = (RuntimeError, "cudaError") if _core.has_cuda else (NotImplementedError, "no kernel for cuda:99")
    with pytest.raises(expected, match=rf"^\[exp\] .*{words}"):
        _core.ops["exp"](framework.tensor_type())
    assert framework.asked == [("allocate", CUDA, INDEX, 5), ("stream", CUDA, INDEX)]


@pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")
@pytest.mark.parametrize("name", ALL_OPS)
def test_cuda_tensors_give_the_golden_digests(name: str) -> None:
    for expected, text in golden_lines(name):
        _, arguments = _core.read_case(text)
        arguments = {
            key: value.cuda() if isinstance(value, torch.Tensor) else value
            for key, value in to_torch(arguments).items()
        }
        with torch.cuda.stream(torch.cuda.Stream()):
            try:
                results = results_of(registry[name], arguments)
            except NotImplementedError as error:
                pytest.skip(str(error))
            assert all(result.is_cuda for result in results)
            assert digest([result.cpu().numpy() for result in results]) == expected, text


@pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")
def test_gradients_on_cuda() -> None:
    x = torch.linspace(-2, 2, 1000, requires_grad=True)
    y = x.detach().cuda().requires_grad_()
    repdl.ops.relu(x).backward(torch.ones(1000))
    repdl.ops.relu(y).backward(torch.ones(1000, device="cuda"))
    assert torch.equal(x.grad, y.grad.cpu())  # type: ignore[arg-type, union-attr]
