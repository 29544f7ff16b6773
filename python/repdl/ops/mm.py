# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def mm(input: Tensor, mat2: Tensor, transA: bool = False, transB: bool = False, order: str | None = None) -> Tensor:
    """Matrix product, of two matrices or matrix by matrix of a batch.

    Args:
        input: float32, float64, bfloat16 or float16, (…, m, k), or (…, k, m) with transA.
        mat2: of its type, (…, k, n), or (…, n, k) with transB. Batch dimensions must be those of input; an operand
            without any serves the whole batch.
        transA: take input with its last two dimensions exchanged.
        transB: take mat2 likewise.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32, float64, bfloat16 or float16, (…, m, n).
    """


@mm.backward(saves=("input", "mat2"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    a, b, order = saved.input, saved.mat2, saved.order
    trans_a, trans_b = saved.transA, saved.transB

    def grad_input() -> Any:
        if a.dim() == 2 and b.dim() > 2:
            # One product over the batch and n: (m, batch n) times (batch n, k).
            full_b = (b.mT if trans_b else b).movedim(-2, 0).flatten(1)
            g = grad.movedim(-2, 0).flatten(1)
            return mm(full_b, g, False, True, order) if trans_a else mm(g, full_b, False, True, order)
        return mm(b, grad, trans_b, True, order) if trans_a else mm(grad, b, False, not trans_b, order)

    def grad_mat2() -> Any:
        if b.dim() == 2 and a.dim() > 2:
            # One product over the batch and m: (k, batch m) times (batch m, n).
            full_a = (a.mT if trans_a else a).flatten(0, -2)
            g = grad.flatten(0, -2)
            return mm(g, full_a, True, False, order) if trans_b else mm(full_a, g, True, False, order)
        return mm(grad, a, True, trans_a, order) if trans_b else mm(a, grad, not trans_a, False, order)

    return {"input": grad_input, "mat2": grad_mat2}


@mm.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    a, b = arguments["input"], arguments["mat2"]
    if b.ndim > 2:
        names = ("mat2",) if a.ndim == 2 else ("input", "mat2")
        return rows_of(*names)(arguments, rows)
    if a.ndim == 2 and arguments["transA"]:
        return {**arguments, "input": a[:, rows]}
    return rows_of("input")(arguments, rows)


@mm.samples
def _() -> Iterator[Sample]:
    # Around the edges of tiles, panels and chunks.
    for m, n, k in [
        (1, 1, 1), (5, 7, 3), (14, 32, 256), (15, 33, 257), (3, 2, 0), (0, 4, 5), (1, 300, 512), (70, 1, 513),
        (13, 17, 1300), (29, 65, 769), (31, 100, 64), (3, 5, 7 * 256 - 1), (2, 3, 11 * 256), (2, 9, 13 * 256 + 7),
        (2, 2, 17 * 256 + 10),
    ]:  # fmt: skip
        yield sample(input=f"normal[{m}, {k}]#1", mat2=f"normal[{k}, {n}]#2")
    for trans_a in (False, True):
        for trans_b in (False, True):
            a = "normal[70, 19]#3" if trans_a else "normal[19, 70]#3"
            b = "wide[37, 70]#4" if trans_b else "wide[70, 37]#4"
            yield sample(input=a, mat2=b, transA=trans_a, transB=trans_b)
    # Few rows, which have kernels of their own.
    for m in (2, 5, 7, 8):
        yield sample(input=f"normal[300, {m}]#3", mat2="normal[37, 300]#4", transA=True, transB=True)
        yield sample(input=f"normal[{m}, 300]#3", mat2="normal[37, 300]#4", transB=True)
    for kind in ("wide", "tiny", "bits", "special", "infinite"):
        yield sample(input=f"{kind}[9, 21]#5", mat2=f"{kind}[21, 35]#6")
    yield sample(input="normal[1, 40001]#9", mat2="normal[40001, 1]#10")  # chains on several threads
    yield sample(input="special[2, 33000]#9", mat2="wide[2, 33000]#10", transB=True)
    yield sample(input="normal[3, 5, 7]#7", mat2="normal[3, 7, 9]#8")
    for kind in ("normal", "special", "zeros"):  # so small and many that they go side by side
        yield sample(input=f"{kind}[131, 3, 3]#5", mat2=f"{kind}[131, 3, 3]#6")
        yield sample(input=f"{kind}[37, 4, 2]#5", mat2=f"{kind}[37, 1, 4]#6", transA=True, transB=True)
        yield sample(input=f"{kind}[21, 2, 4]#5", mat2=f"{kind}[4, 3]#6")
    for dtype in ("bfloat16", "float16"):
        for m in (1, 3, 8, 9, 33):
            yield sample(input=f"normal.{dtype}[{m}, 300]#3", mat2=f"normal.{dtype}[300, 77]#4")
            yield sample(input=f"normal.{dtype}[{m}, 300]#3", mat2=f"normal.{dtype}[77, 300]#4", transB=True)
        for kind in ("wide", "bits", "special", "infinite"):
            yield sample(input=f"{kind}.{dtype}[5, 21]#5", mat2=f"{kind}.{dtype}[21, 70]#6")
            yield sample(input=f"{kind}.{dtype}[21, 5]#5", mat2=f"{kind}.{dtype}[70, 21]#6", transA=True, transB=True)
        yield sample(input=f"normal.{dtype}[2, 3, 5, 300]#7", mat2=f"normal.{dtype}[300, 9]#8")
        yield sample(input=f"normal.{dtype}[2, 3, 0]#7", mat2=f"normal.{dtype}[2, 0, 9]#8")
        yield sample(input=f"normal.{dtype}[70, 70]#7", mat2=f"normal.{dtype}[2, 70, 70]#8")
    yield sample(input="normal[2, 3, 5, 300]#7", mat2="normal[300, 9]#8")
    yield sample(input="normal[9, 300]#7", mat2="normal[2, 11, 300]#8", transB=True)


@mm.oracle
def _(input: Any, mat2: Any, transA: bool = False, transB: bool = False) -> Any:
    a = np.swapaxes(input, -1, -2) if transA else input
    b = np.swapaxes(mat2, -1, -2) if transB else mat2
    return a @ b
