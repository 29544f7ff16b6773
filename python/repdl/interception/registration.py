# SPDX-License-Identifier: MIT
"""Puts kernels into torch's dispatcher."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import BuiltinFunctionType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from repdl import _core
from repdl._symbols import addresses
from repdl.interception.exact import is_measured
from repdl.interception.native import native_of, schemas
from repdl.interception.override import op_or

Kernels = Mapping[str, Mapping[str, Callable[..., Any]]]
"""By dispatch key, the kernel of each overload."""


def _none(*_: Any) -> None:
    return None


def register(
    kernels: Kernels, namespace: str = "aten", native_of_integers: Callable[[str, Callable[..., Any]], Any] = _none
) -> torch.library.Library:
    """Overrides overloads of aten, or of another namespace, while the library that it returns lives.

    `native_of_integers` gives for an overload and its kernel torch's own, if that is called for integers on the CPU.

    torch's warning, once a process, that a kernel is replaced is not given: here that is asked for.
    """
    library = torch.library.Library(namespace, "IMPL")
    direct = namespace == "aten" and _reads_calls()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel.*")
        for key, of_key in kernels.items():
            for name, kernel in of_key.items():
                put = partial(library.impl, name, kernel, key, allow_override=True)  # not what every torch does unasked
                native = native_of_integers(name, kernel) if direct and key == "CPU" else None
                is_known = native is not None or isinstance(kernel, BuiltinFunctionType)
                signature = _signature(name) if direct and is_known else None
                if signature is None:
                    put()
                else:
                    _core.put_kernel(name, kernel, *signature, native, put)
    return library


@cache
def _signature(name: str) -> tuple[list[tuple[str, str | None, object]], int] | None:
    """Of each argument the type, the name of one that is given by it, and the default or `...`; and the number of
    results. None if not all of these are tensors."""
    schema = schemas(name.partition(".")[0])[name]
    results = [str(result.type) for result in schema.returns]
    if set(results) != {"Tensor"}:
        return None
    arguments = [
        (str(a.real_type), a.name if a.kwarg_only else None, a.default_value if a.has_default_value() else ...)
        for a in schema.arguments
    ]
    return arguments, len(results)


@cache
def _reads_calls() -> bool:
    """Whether the core can do calls before torch hands them to Python, which calls of a sample op tell.

    It mirrors torch's C++ objects that hold a call, whose members a version that was never measured may change.
    """
    if not is_measured(str(torch.__version__)):
        return False
    enter = "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE"
    in_c = addresses("torch_cpu", enter, "aoti_torch_new_uninitialized_tensor", "aoti_torch_assign_tensors")
    in_python = addresses("torch_python", "_Z17THPGenerator_WrapRKN2at9GeneratorE")
    if not in_c or not in_python:
        return False
    _core.set_kernel_functions(in_c, *in_python)
    with _disable_current_modes():  # it is nothing that the program computes, and somebody may be recording
        x, refused = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.int64)
    calls: dict[str, tuple[str, tuple[str, ...], tuple[Any, ...]]] = {
        "add": ("Tensor x, Tensor y, Scalar alpha", ("Tensor", "Tensor", "number"), (x, 0.5)),
        "amax": ("Tensor x, int[]? dim, bool keepdim", ("Tensor", "Optional[List[int]]", "bool"), ([1], True)),
    }

    def fail(first: torch.Tensor, *_: Any) -> torch.Tensor:
        raise _SampleError(first)

    library = torch.library.Library("repdl_sample", "FRAGMENT")
    try:
        with _disable_current_modes():
            for op, (schema, types, _) in calls.items():
                library.define(f"{op}({schema}) -> Tensor")
                kernel = op_or(op, fail)
                put = partial(library.impl, op, kernel, "CPU")
                _core.put_kernel(op, kernel, [(type, None, ...) for type in types], 1, None, put)
            library.define("neg(Tensor x) -> Tensor")
            put, native = partial(library.impl, "neg", fail, "CPU"), native_of("neg").kernel
            _core.put_kernel("neg", fail, [("Tensor", None, ...)], 1, native, put)
            ops = torch.ops.repdl_sample
            done = [_done(getattr(ops, op), x, refused, *rest) for op, (_, _, rest) in calls.items()]
            negated = _done(ops.neg, refused, x)
            are_done = all(result is not None and result.shape[0] == 2 for result in done)
            return are_done and negated is not None and negated.tolist() == [[-1] * 3] * 2
    finally:
        library._destroy()


class _SampleError(Exception):
    pass


def _done(op: Any, taken: torch.Tensor, refused: torch.Tensor, *rest: Any) -> torch.Tensor | None:
    """What the first call gives, if it is done without Python and the second is left to it."""
    try:
        done: torch.Tensor = op(taken, *rest)
        op(refused, *rest)
    except _SampleError as error:
        return done if error.args[0] is refused else None
    except RuntimeError:
        pass
    return None
