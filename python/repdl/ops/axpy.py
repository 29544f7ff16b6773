# SPDX-License-Identifier: MIT
"""Sums with a scaled term, every operation rounded: torch fuses some of them on some machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Op, Sample, Tensor, op, sample
from repdl.ops.elementwise._family import takes_numbers, to_shape


@op()
def add(input: Tensor, other: Tensor | float, alpha: float = 1.0) -> Tensor:
    """input + other * alpha, the product rounded; the operands are broadcast.

    Args:
        input: float32, float64, bfloat16 or float16, any shape.
        other: the same, of a shape that broadcasts, or a number, which is rounded to float32, or float64, first.
        alpha: rounded to float32, or float64.
    """


@op()
def sub(input: Tensor, other: Tensor | float, alpha: float = 1.0) -> Tensor:
    """input - other * alpha. Arguments as for `add`."""


@op()
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float = 1.0) -> Tensor:
    """input + (tensor1 * value) * tensor2, every operation rounded; the operands are broadcast."""


@op()
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: float = 1.0) -> Tensor:
    """input + (tensor1 * value) / tensor2, every operation rounded; the operands are broadcast."""


@op()
def lerp(input: Tensor, end: Tensor, weight: float) -> Tensor:
    """Between input and end, from the nearer: input + (end - input) * weight, or end - (end - input) * (1 - weight)."""


@op()
def lerp_tensor(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """The same with a weight for each number; the operands are broadcast."""


takes_numbers(add)
takes_numbers(sub)


def _declare_gradient(op: Op[..., Any], sign: float) -> None:
    @op.backward(saves=())
    def _(saved: Any, grad: Any) -> dict[str, Any]:
        return {
            "input": lambda: to_shape(grad, saved.input_shape),
            "other": lambda: to_shape(grad * (sign * saved.alpha), saved.other_shape),
        }


_declare_gradient(add, 1.0)
_declare_gradient(sub, -1.0)


@addcmul.backward(saves=("tensor1", "tensor2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(grad, saved.input_shape),
        "tensor1": lambda: to_shape(grad * (saved.tensor2 * saved.value), saved.tensor1_shape),
        "tensor2": lambda: to_shape(grad * (saved.tensor1 * saved.value), saved.tensor2_shape),
    }


@addcdiv.backward(saves=("tensor1", "tensor2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def quotient() -> Any:
        return grad * saved.value / saved.tensor2

    return {
        "input": lambda: to_shape(grad, saved.input_shape),
        "tensor1": lambda: to_shape(quotient(), saved.tensor1_shape),
        "tensor2": lambda: to_shape(-(quotient() * (saved.tensor1 / saved.tensor2)), saved.tensor2_shape),
    }


@lerp.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(grad * (1 - saved.weight), saved.input_shape),
        "end": lambda: to_shape(grad * saved.weight, saved.end_shape),
    }


@lerp_tensor.backward(saves=("input", "end", "weight"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(grad * (1 - saved.weight), saved.input_shape),
        "end": lambda: to_shape(grad * saved.weight, saved.end_shape),
        "weight": lambda: to_shape(grad * (saved.end - saved.input), saved.weight_shape),
    }


def _operands(names: tuple[str, ...], kind: str, *shapes: str) -> dict[str, str]:
    return {name: f"{kind}[{shape}]#{i}" for i, (name, shape) in enumerate(zip(names, shapes, strict=True))}


def _samples(op: Op[..., Any], names: tuple[str, ...], scalar: str, numbers: tuple[float, ...]) -> None:
    @op.samples
    def _() -> Iterator[Sample]:
        count = len(names)
        for kind in ("normal", "wide", "special", "bits"):
            for number in numbers:
                yield sample(**_operands(names, kind, *["1000"] * count), **{scalar: number})
        for shapes in (("5, 7, 9", "7, 1", "9"), ("9", "4, 1", ""), ("", "3, 0", "1"), ("", "", "")):
            yield sample(**_operands(names, "normal", *shapes[:count]), **{scalar: numbers[-1]})
        yield sample(**_operands(names, "normal", *["20000"] * count), **{scalar: numbers[-1]})
        for dtype in ("bfloat16", "float16"):
            yield sample(
                **_operands(names, f"normal.{dtype}", *("3, 50", "50", "3, 1")[:count]), **{scalar: numbers[-1]}
            )


_samples(add, ("input", "other"), "alpha", (1.0, 0.1, -1e-3))
_samples(sub, ("input", "other"), "alpha", (1.0, 0.1, -1e-3))
_samples(addcmul, ("input", "tensor1", "tensor2"), "value", (1.0, 0.1, -1e-3))
_samples(addcdiv, ("input", "tensor1", "tensor2"), "value", (1.0, 0.1, -1e-3))
_samples(lerp, ("input", "end"), "weight", (0.1, 0.5, 0.9))


@lerp_tensor.samples
def _() -> Iterator[Sample]:
    for kind in ("normal", "special", "bits"):
        yield sample(**_operands(("input", "end", "weight"), kind, "300", "300", "300"))
    yield sample(input="normal[20000]#1", end="normal[20000]#2", weight="uniform[20000]#3")
    yield sample(input="normal[5, 7, 9]#1", end="normal[7, 1]#2", weight="normal[9]#3")
    for low in ("bfloat16", "float16"):
        yield sample(input=f"normal.{low}[3, 50]#1", end=f"normal.{low}[50]#2", weight=f"normal.{low}[3, 1]#3")


@add.oracle
def _(input: Any, other: Any, alpha: float = 1.0) -> Any:
    return input + other * alpha


@sub.oracle
def _(input: Any, other: Any, alpha: float = 1.0) -> Any:
    return input - other * alpha


@addcmul.oracle
def _(input: Any, tensor1: Any, tensor2: Any, value: float = 1.0) -> Any:
    return input + tensor1 * value * tensor2


@addcdiv.oracle
def _(input: Any, tensor1: Any, tensor2: Any, value: float = 1.0) -> Any:
    return input + tensor1 * value / tensor2


@lerp.oracle
def _(input: Any, end: Any, weight: float) -> Any:
    return input + (end - input) * weight


@lerp_tensor.oracle
def _(input: Any, end: Any, weight: Any) -> Any:
    return input + (end - input) * weight
