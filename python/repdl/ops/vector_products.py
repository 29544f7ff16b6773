# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repdl._op import Sample, Tensor, op, rows_of, sample
from repdl.ops.elementwise.arithmetic import mul
from repdl.ops.mm import mm


@op()
def mv(input: Tensor, vec: Tensor, order: str | None = None) -> Tensor:
    """The product of a matrix and a vector.

    Args:
        input: float32, float64, bfloat16 or float16, (m, k).
        vec: of its type, (k).
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32, float64, bfloat16 or float16, (m).
    """


@op()
def dot(input: Tensor, tensor: Tensor, order: str | None = None) -> Tensor:
    """The sum of the products of the elements of two vectors.

    Args:
        input: float32, float64, bfloat16 or float16, (k).
        tensor: of its type, (k).
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32, float64, bfloat16 or float16, ().
    """


@mv.backward(saves=("input", "vec"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: mul(grad.unsqueeze(1), saved.vec),
        "vec": lambda: mm(saved.input, grad.unsqueeze(1), True, False, saved.order).squeeze(1),
    }


mv.rows(rows_of("input"))


@dot.backward(saves=("input", "tensor"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: mul(saved.tensor, grad), "tensor": lambda: mul(saved.input, grad)}


@mv.samples
def _() -> Iterator[Sample]:
    for m, k in [(1, 1), (5, 3), (0, 7), (3, 0), (37, 256), (64, 257), (9, 64 * 256 + 3), (513, 300)]:
        yield sample(input=f"normal[{m}, {k}]#1", vec=f"normal[{k}]#2")
    for kind in ("wide", "tiny", "bits", "special", "infinite"):
        yield sample(input=f"{kind}[19, 30]#3", vec=f"{kind}[30]#4")
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"normal.{dtype}[77, 300]#1", vec=f"normal.{dtype}[300]#2")
        yield sample(input=f"bits.{dtype}[19, 30]#3", vec=f"bits.{dtype}[30]#4")


@dot.samples
def _() -> Iterator[Sample]:
    for k in (0, 1, 5, 256, 257, 64 * 256, 64 * 256 + 3, 70001):  # the last one on several threads
        yield sample(input=f"normal[{k}]#1", tensor=f"normal[{k}]#2")
    for kind in ("wide", "tiny", "bits", "special", "infinite"):
        yield sample(input=f"{kind}[300]#3", tensor=f"{kind}[300]#4")
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"normal.{dtype}[700]#1", tensor=f"normal.{dtype}[700]#2")
        yield sample(input=f"bits.{dtype}[300]#3", tensor=f"bits.{dtype}[300]#4")


@mv.oracle
def _(input: Any, vec: Any) -> Any:
    return input @ vec


@dot.oracle
def _(input: Any, tensor: Any) -> Any:
    return input @ tensor
