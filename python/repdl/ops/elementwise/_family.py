# SPDX-License-Identifier: MIT
"""What the families of elementwise functions share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from repdl._op import Op, Sample, sample
from repdl.ops.sum import sum as sum_of


def unary_samples(*ordinary: str) -> Callable[[], Iterator[Sample]]:
    """The calls of a function of one tensor; `ordinary` names generators whose numbers lie in its domain."""

    def make() -> Iterator[Sample]:
        for kind in (*ordinary, "wide", "special"):
            yield sample(input=f"{kind}[1000]#1")
        yield sample(input="bits[40000]#2")
        yield sample(input="sweep[65536]#1")
        for shape in ("3, 5, 7", "0", ""):
            yield sample(input=f"{ordinary[0]}[{shape}]#3")
        # Every number of the types of 16 bits.
        yield sample(input="sweep.bfloat16[65536]#0")
        yield sample(input="sweep.float16[65536]#0")

    return make


def few_unary_samples(*ordinary: str) -> Callable[[], Iterator[Sample]]:
    """The same for a function whose exact values take long to find: fewer numbers."""

    def make() -> Iterator[Sample]:
        for kind in (*ordinary, "wide", "special"):
            yield sample(input=f"{kind}[1000]#1")
        yield sample(input="bits[20000]#2")
        for shape in ("3, 5, 7", "0", ""):
            yield sample(input=f"{ordinary[0]}[{shape}]#3")
        yield sample(input="bits.bfloat16[2000]#2")
        yield sample(input="bits.float16[2000]#2")

    return make


def binary_samples(first: str, second: str, ordinary: str = "normal") -> Callable[[], Iterator[Sample]]:
    """The calls of a function of two tensors with these names."""

    def make() -> Iterator[Sample]:
        for kind, size in ((ordinary, "1000"), ("wide", "1000"), ("special", "1000"), ("bits", "20000")):
            yield sample(**{first: f"{kind}[{size}]#1", second: f"{kind}[{size}]#2"})
        for a, b in (("5, 7, 9", "7, 1"), ("9", "4, 1"), ("600", ""), ("", "3, 0"), ("", "")):
            yield sample(**{first: f"{ordinary}[{a}]#1", second: f"{ordinary}[{b}]#2"})
        for dtype in ("bfloat16", "float16"):
            yield sample(**{first: f"{ordinary}.{dtype}[3, 50]#1", second: f"{ordinary}.{dtype}[50]#2"})
            yield sample(**{first: f"bits.{dtype}[2000]#1", second: f"bits.{dtype}[2000]#2"})
        yield sample(**{first: f"{ordinary}.bfloat16[99]#1", second: f"{ordinary}[99]#2"})

    return make


def to_shape(grad: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of an operand that was broadcast: summed over what it was repeated along."""
    extra = grad.dim() - len(shape)
    repeated = tuple(d for d in range(grad.dim()) if d < extra or (shape[d - extra] == 1 and grad.shape[d] != 1))
    return (sum_of(grad, repeated) if repeated else grad).reshape(shape)


def takes_numbers(op: Op[..., Any]) -> None:
    """Lets one of the two operands be a Python number, which is rounded to float32 first, or to float64 beside that."""

    def prepare(*args: Any) -> tuple[Any, ...]:
        if len(args) != 2 or not any(isinstance(arg, (int, float)) for arg in args):
            return args
        first, second = args
        if isinstance(second, (int, float)):
            return first, _number_like(first, second)
        return _number_like(second, first), second

    op.prepare(prepare)


def _number_like(tensor: Any, number: float) -> Any:
    if isinstance(tensor, np.ndarray):
        return np.array(number, np.float64 if tensor.dtype == np.float64 else np.float32)
    import torch

    if not isinstance(tensor, torch.Tensor):
        return number
    dtype = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    return tensor.new_full((), number, dtype=dtype)
