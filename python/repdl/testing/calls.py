# SPDX-License-Identifier: MIT
"""Calls of ops and their results, as golden files have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from repdl import conformance
from repdl._op import Op
from repdl.conformance import digests


def golden_lines(op: str) -> list[tuple[str, str]]:
    """The digest and the text of each golden case of an op."""
    return [(digest, text) for digest, _, text in conformance.golden_lines(op)]


def bits_of(array: np.ndarray[Any, Any]) -> digests.Bits:
    """The elements as digests read them: every NaN as one. A bfloat16 array is one of its bits, uint16."""
    dtype = "bfloat16" if array.dtype == np.uint16 else array.dtype.name
    if dtype in ("float64", "float32", "float16"):
        array = np.ascontiguousarray(array).view(f"u{array.itemsize}")
    return digests.with_one_nan(array, dtype)


def digest(results: Sequence[np.ndarray[Any, Any]]) -> str:
    """The digest of a golden file."""
    return digests.digest([bits_of(array) for array in results])


def results_of(op: Op[..., Any], arguments: dict[str, Any]) -> list[Any]:
    """What the golden files hash: the arguments that an op changes, then what it returns."""
    outputs = op(**arguments)
    changed = [arguments[name] for name, kind, _ in op.arguments if kind.startswith("Tensor!")]
    returned = [] if outputs is None else list(outputs) if isinstance(outputs, tuple) else [outputs]
    return [value for value in changed if value is not None] + returned


def has_bfloat16(arguments: dict[str, Any]) -> bool:
    """Whether a case holds what NumPy cannot: its arrays are then of bits, uint16."""
    return any(isinstance(v, np.ndarray) and v.dtype == np.uint16 for v in arguments.values())


def to_torch(arguments: dict[str, Any]) -> dict[str, Any]:
    def tensor(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if value.dtype == np.uint16:
            return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(value)

    return {k: tensor(v) for k, v in arguments.items()}


def to_numpy(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal bit for bit, every NaN alike."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_complex():
        return same_bits(torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj()))
    if not a.is_floating_point():
        return torch.equal(a, b)
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.itemsize]
    nan = a.isnan()
    return torch.equal(nan, b.isnan()) and torch.equal(a.contiguous().view(bits)[~nan], b.contiguous().view(bits)[~nan])
