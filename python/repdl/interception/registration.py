# SPDX-License-Identifier: MIT
"""Puts kernels into torch's dispatcher."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from types import BuiltinFunctionType
from typing import Any

import torch
from torch._library.utils import RegistrationHandle
from torch.utils._python_dispatch import _disable_current_modes

from repdl import _core
from repdl._symbols import addresses
from repdl.interception.exact import is_measured
from repdl.interception.native import schemas
from repdl.interception.override import op_or

Kernels = Mapping[str, Mapping[str, Callable[..., Any]]]
"""By dispatch key, the kernel of each overload."""


def register(kernels: Kernels, namespace: str = "aten") -> torch.library.Library:
    """Overrides overloads of aten, or of another namespace, while the library that it returns lives.

    torch's warning, once a process, that a kernel is replaced is not given: here that is asked for.
    """
    library = torch.library.Library(namespace, "IMPL")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel.*")
        for key, of_key in kernels.items():
            direct = _direct(library, key)
            # Those first of which torch warns as Python does.
            for name, kernel in sorted(of_key.items(), key=lambda item: isinstance(item[1], BuiltinFunctionType)):
                if direct is None or not _put(direct, name, kernel):
                    library.impl(name, kernel, key, allow_override=True)  # not what every torch does unasked
    return library


def _direct(library: torch.library.Library, key: str) -> _core.TorchKernels | None:
    """Kernels that torch calls by its stable C interface, beside those of a library; None where it cannot."""
    if library.ns != "aten" or not _raises():
        return None
    direct = _core.TorchKernels(library.ns, key, __file__)
    library._registration_handles.append(RegistrationHandle(direct.end))
    return direct


def _put(direct: _core.TorchKernels, name: str, kernel: Callable[..., Any]) -> bool:
    arguments = _arguments(name) if isinstance(kernel, BuiltinFunctionType) else None
    return arguments is not None and direct.put(name, kernel, arguments)


@cache
def _arguments(name: str) -> list[tuple[str, str | None, object]] | None:
    """The type, the name of one that is given by it, and the default or `...`; None if not all results are tensors."""
    schema = schemas(name.partition(".")[0])[name]
    if {str(result.type) for result in schema.returns} != {"Tensor"}:
        return None
    return [
        (
            f"{a.real_type}!" if a.is_write else str(a.real_type),
            a.name if a.kwarg_only else None,
            a.default_value if a.has_default_value() else ...,
        )
        for a in schema.arguments
    ]


@cache
def _raises() -> bool:
    """Whether kernels can be put there so, and what they call may raise any exception, as torch then tells it.

    The core mirrors torch's C++ exception for it, whose members a version that was never measured may change.
    """
    if not is_measured(str(torch.__version__)):
        return False
    in_c = addresses(
        "torch_cpu",
        "aoti_torch_library_init_impl",
        "torch_library_impl",
        "aoti_torch_delete_library_object",
        "torch_delete_generator",
        "torch_list_size",
        "torch_list_get_item",
        "torch_delete_list",
        "torch_delete_stable_ivalue",
        "aoti_torch_new_uninitialized_tensor",
        "_ZN2at4_ops18result_type_Tensor4callERKNS_6TensorES4_",
    )
    in_python = addresses("torch_python", "_Z17THPGenerator_WrapRKN2at9GeneratorE")
    if not in_c or not in_python:
        return False
    _core.set_kernel_functions([*in_c[:3], *in_python, *in_c[3:]])

    def fail(x: torch.Tensor) -> torch.Tensor:
        raise _SampleError(x)

    library = torch.library.Library("repdl_sample", "FRAGMENT")
    library.define("call(Tensor x) -> Tensor")
    direct = _core.TorchKernels("repdl_sample", "CPU", __file__)
    try:
        with _disable_current_modes():  # it is nothing that the program computes, and somebody may be recording
            return direct.put("call", op_or("exp", fail), [("Tensor", None, ...)]) and _is_told()
    finally:
        direct.end()
        library._destroy()


class _SampleError(Exception):
    pass


def _is_told() -> bool:
    x = torch.zeros((), dtype=torch.int64)
    try:
        torch.ops.repdl_sample.call(x)
    except _SampleError as error:
        return error.args[0] is x
    except RuntimeError:
        pass
    return False
