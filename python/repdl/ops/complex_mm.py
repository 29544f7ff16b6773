# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def complex_mm(
    input: Tensor, mat2: Tensor, conjA: bool = False, conjB: bool = False, order: str | None = None
) -> Tensor:
    """Product of complex matrices, of two or matrix by matrix of a batch.

    Args:
        input: float32 or float64, (…, m, k, 2): pairs of a real and an imaginary part, as `torch.view_as_real` makes
            them.
        mat2: of its type, (…, k, n, 2). Batch dimensions must be those of input; an operand without any serves the
            whole batch.
        conjA: take the conjugates of input.
        conjB: take those of mat2.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32 or float64, (…, m, n, 2).
    """


@complex_mm.backward(saves=("input", "mat2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    a, b, order = saved.input, saved.mat2, saved.order
    both = saved.conjA == saved.conjB

    def grad_input() -> Any:
        if a.dim() == 3 and b.dim() > 3:
            # One product over the batch and n: (m, batch n) times (batch n, k).
            columns = b.movedim(-3, 0).flatten(1, -2).transpose(0, 1)
            return complex_mm(grad.movedim(-3, 0).flatten(1, -2), columns, saved.conjA, both, order)
        return complex_mm(grad, b.transpose(-3, -2), saved.conjA, both, order)

    def grad_mat2() -> Any:
        if b.dim() == 3 and a.dim() > 3:
            # One product over the batch and m: (k, batch m) times (batch m, n).
            return complex_mm(a.flatten(0, -3).transpose(0, 1), grad.flatten(0, -3), both, saved.conjB, order)
        return complex_mm(a.transpose(-3, -2), grad, both, saved.conjB, order)

    return {"input": grad_input, "mat2": grad_mat2}


@complex_mm.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    a, b = arguments["input"], arguments["mat2"]
    if b.ndim > 3:
        return rows_of(*(("mat2",) if a.ndim == 3 else ("input", "mat2")))(arguments, rows)
    return rows_of("input")(arguments, rows)


@complex_mm.samples
def _() -> Iterator[Sample]:
    for m, n, k in [(1, 1, 1), (5, 7, 3), (3, 2, 0), (0, 4, 5), (1, 37, 300), (70, 1, 513), (9, 17, 40)]:
        yield sample(input=f"normal[{m}, {k}, 2]#1", mat2=f"normal[{k}, {n}, 2]#2")
    yield sample(input="normal[600, 5, 2]#1", mat2="normal[5, 33, 2]#2", conjA=True)  # two blocks of rows, and a fork
    yield sample(input="normal[2, 5, 2]#1", mat2="normal[5, 40, 2]#2", conjB=True)
    for m, n, k in [(3, 70, 300), (70, 3, 257), (4, 4, 4), (15, 33, 700), (7, 9, 11 * 256), (41, 37, 40)]:
        yield sample(input=f"normal[{m}, {k}, 2]#3", mat2=f"wide[{k}, {n}, 2]#4", conjB=m > n)
    for kind in ("tiny", "bits", "special", "infinite"):
        yield sample(input=f"{kind}[3, 9, 2]#5", mat2=f"{kind}[9, 11, 2]#6", conjA=True, conjB=kind == "special")
    yield sample(input="normal[3, 5, 7, 2]#7", mat2="normal[3, 7, 9, 2]#8")
    yield sample(input="normal[2, 3, 5, 30, 2]#7", mat2="normal[30, 9, 2]#8", conjB=True)
    yield sample(input="normal[2, 3, 2]#9", mat2="normal[40, 3, 4, 2]#9", conjA=True)


@complex_mm.oracle
def _(input: Any, mat2: Any, conjA: bool = False, conjB: bool = False) -> Any:
    a, b = input[..., 0] + 1j * input[..., 1], mat2[..., 0] + 1j * mat2[..., 1]
    product = (a.conj() if conjA else a) @ (b.conj() if conjB else b)
    return np.stack([product.real, product.imag], -1)
