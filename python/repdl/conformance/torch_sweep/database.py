# SPDX-License-Identifier: MIT
"""The entries of the sweep: torch's databases of ops and modules, or those of another module."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any, Protocol

from repdl.conformance.torch_sweep.samples import Sample, modules_samples, ops_samples

DTYPES = (
    "float32", "float64", "bfloat16", "float16", "complex64", "complex128",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
"""The dtypes of the sweep, the most used first."""


class MissingError(RuntimeError):
    """A package that the sweep needs is not installed; the message says how to install it."""


class Entry(Protocol):
    """An op or a module, of which there are samples.

    elementwise: whether each element of the result is made of those at its place alone, so that accuracy is told for
        each element.
    """

    name: str
    elementwise: bool

    def dtypes(self) -> set[str]: ...
    def differentiable(self, dtype: str) -> bool: ...
    def samples(self, dtype: str) -> Iterator[Sample]: ...


def _names(dtypes: Any) -> set[str]:
    return {str(dtype).removeprefix("torch.") for dtype in dtypes}


class OpEntry:
    def __init__(self, info: Any, elementwise: bool) -> None:
        self.info, self.elementwise = info, elementwise
        self.name: str = info.full_name

    def dtypes(self) -> set[str]:
        return _names(self.info.supported_dtypes("cpu"))

    def differentiable(self, dtype: str) -> bool:
        return bool(self.info.supports_autograd) and dtype in _names(self.info.supported_backward_dtypes("cpu"))

    def samples(self, dtype: str) -> Iterator[Sample]:
        return ops_samples(self.info, dtype)


class ModuleEntry:
    elementwise = False

    def __init__(self, info: Any) -> None:
        self.info = info
        self.name: str = info.name.replace("_", ".")  # nn.Linear

    def dtypes(self) -> set[str]:
        return _names(self.info.dtypes) | {"bfloat16", "float16"}

    def differentiable(self, dtype: str) -> bool:
        return True

    def samples(self, dtype: str) -> Iterator[Sample]:
        return modules_samples(self.info, dtype)


def entries(source: str | None = None) -> dict[str, Entry]:
    """By name; `source`, "module:function", names what gives other entries than those of torch's databases.

    Raises MissingError if torch, or what its databases need, is not installed.
    """
    if source is not None:
        module, _, function = source.partition(":")
        found: list[Entry] = getattr(importlib.import_module(module), function)()
    else:
        found = list(_databases())
    return {entry.name: entry for entry in found}


def _databases() -> Iterator[Entry]:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingError("the sweep runs ops of torch, which is not installed: pip install torch") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch.testing._internal.common_methods_invocations import op_db
            from torch.testing._internal.common_modules import module_db
            from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo
    except ModuleNotFoundError as error:
        raise MissingError(
            f"the samples of torch's own tests need the package {error.name}: pip install {error.name}"
        ) from error
    for op in op_db:
        yield OpEntry(op, isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)))
    for module in module_db:
        yield ModuleEntry(module)
