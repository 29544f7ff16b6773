# SPDX-License-Identifier: MIT
"""Tensors of the core's cases in the words of torch's."""

from __future__ import annotations

from typing import Any

from repdl.conformance.torch_case import TensorText

_OF_PAIRS = {"float32": "complex64", "float64": "complex128"}


def in_words(value: Any, is_complex: bool = False, turned: bool = False) -> str:
    """An argument of the core as an argument of torch.

    With `is_complex` tensors of floating-point numbers are pairs, in a last dimension of 2.
    """
    if not isinstance(value, TensorText):
        return repr(value)
    is_pairs = is_complex and value.dtype in _OF_PAIRS
    dtype = _OF_PAIRS[value.dtype] if is_pairs else value.dtype
    shape = value.shape[:-1] if is_pairs else value.shape
    of_dtype = "" if dtype == "float32" or value.generator.startswith(("classes", "offsets")) else f".{dtype}"
    return f"{value.generator}{of_dtype}[{', '.join(map(str, shape))}]#{value.seed}{'.mT' if turned else ''}"
