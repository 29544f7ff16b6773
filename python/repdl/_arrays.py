# SPDX-License-Identifier: MIT
"""Arrays of libraries other than torch and NumPy, which the core reads through DLPack and whose kind an op gives back.

An array says where its namespace is (`__array_namespace__`, of the array API standard), or its package has
`from_dlpack`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

_ON_CPU = (1, 3)
"""DLPack's numbers for memory of the CPU, and for memory of it that CUDA reads too."""

_ALIGNMENT = 64
"""Bytes at whose multiples an array begins that is given to another library. TensorFlow ends the process at others."""

_WITHOUT_NUMBERS = ("string", "resource", "variant")
"""Are in the names of dtypes of TensorFlow, which ends the process if it is asked for their memory."""

_USUAL = frozenset({np.ndarray, type(None), bool, int, float, str, tuple, list})
"""Types of arguments that are none of these, found in no time."""


def first_of_others(arguments: Iterable[Any], named: Mapping[str, Any]) -> Any:
    """The first argument that is an array of another library; None if there is none."""
    for value in arguments:
        if type(value) not in _USUAL and _is_of_another(value):
            return value
    for value in named.values():
        if type(value) not in _USUAL and _is_of_another(value):
            return value
    return None


def _is_of_another(value: Any) -> bool:
    kind: Any = type(value)
    return _is_kind_of_another(kind)


@cache
def _is_kind_of_another(kind: Any) -> bool:
    return hasattr(kind, "__dlpack__") and (not issubclass(kind, np.ndarray) or _has_mask(kind))


def _has_mask(kind: Any) -> bool:
    return any(base.__module__.startswith("numpy.ma") for base in kind.__mro__)


def check(op: str, name: str, value: Any, changed: bool) -> None:
    """TypeError for an array of another library that NumPy could not hold, or that an op may not change.

    What is not such an array passes, and so does one on another device, which the core names.
    """
    if not _is_of_another(value):
        return
    if _has_mask(type(value)):
        raise TypeError(f"[{op}] {name} has a mask, which no op looks at; give its numbers, as by .filled(0)")
    try:
        device = value.__dlpack_device__()[0]
    except AttributeError:  # as of JAX, while it traces a function
        raise TypeError(
            f"[{op}] {name} is a {type(value).__name__}, which has no numbers to read; call the op outside of "
            "functions that are compiled or differentiated, or by a callback"
        ) from None
    if device not in _ON_CPU:
        return
    dtype = str(getattr(value, "dtype", ""))
    if any(word in dtype for word in _WITHOUT_NUMBERS):
        raise TypeError(f"[{op}] {name} must hold numbers, got {type(value).__name__} of {dtype}")
    if "bfloat16" in dtype:
        raise TypeError(
            f"[{op}] {name} is bfloat16, of which NumPy has no arrays; give a torch tensor, by torch.from_dlpack, "
            "or convert it to float32 first"
        )
    if changed and not _is_writable(value):
        raise TypeError(
            f"[{op}] {name} must be an array that may be changed, got a read-only {type(value).__name__}; "
            "give a NumPy array or a torch tensor"
        )


def check_scalars(op: str, arguments: Mapping[str, Any]) -> None:
    """TypeError for one of NumPy's scalars that is no number: a date, text or a record."""
    for name, value in arguments.items():
        if isinstance(value, np.generic) and value.dtype.kind not in "biufc":
            kind = type(value).__name__
            raise TypeError(f"[{op}] {name} must be a torch tensor or NumPy array, got {kind} of dtype {value.dtype}")


def _is_writable(value: Any) -> bool:
    """What says nothing about it is read-only, as the arrays of JAX are."""
    try:
        return bool(np.from_dlpack(value).flags.writeable)
    except (BufferError, RuntimeError, TypeError):
        return False


def given_back(op: str, like: Any, results: Any) -> Any:
    """The NumPy arrays that the core has made as arrays of the library of `like`; as they are if it takes none.

    ValueError if the library gives them a type that does not hold their numbers.
    """
    from_dlpack = _from_dlpack_of(like)
    if from_dlpack is None or results is None:
        return results
    if isinstance(results, tuple):
        return tuple(_converted(op, from_dlpack, result) for result in results)
    return _converted(op, from_dlpack, results)


def _from_dlpack_of(array: Any) -> Callable[[Any], Any] | None:
    namespace = getattr(array, "__array_namespace__", None)
    library = sys.modules.get(type(array).__module__.partition(".")[0]) if namespace is None else namespace()
    from_dlpack: Callable[[Any], Any] | None = getattr(library, "from_dlpack", None)
    if from_dlpack is not None:
        return from_dlpack
    of_capsules = getattr(getattr(library, "experimental", None), "dlpack", None)  # where TensorFlow has it
    return None if of_capsules is None else lambda array: of_capsules.from_dlpack(array.__dlpack__())


def _converted(op: str, from_dlpack: Callable[[Any], Any], result: np.ndarray[Any, Any]) -> Any:
    converted = from_dlpack(_aligned(result))
    seen = np.from_dlpack(converted)
    if seen.dtype != result.dtype and not np.array_equal(seen, result, equal_nan=result.dtype.kind == "f"):
        raise ValueError(
            f"[{op}] gives {result.dtype} numbers, of which this library keeps {seen.dtype} only; let it have 64 bits, "
            "or give NumPy arrays"
        )
    return converted


def _aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.ctypes.data % _ALIGNMENT == 0:
        return array
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    offset = -memory.ctypes.data % _ALIGNMENT
    copy: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, memory, offset)
    copy[...] = array
    return copy
