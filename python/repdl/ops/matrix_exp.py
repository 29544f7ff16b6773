# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, matrices_of, op, sample


@op()
def matrix_exp(input: Tensor) -> Tensor:
    """Exponentials of square matrices.

    Args:
        input: float32 or float64, (…, n, n).

    Returns:
        The type and shape of input; all NaN for a matrix with a number that is not finite.
    """


matrix_exp.rows(matrices_of("input"))


@matrix_exp.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def of_input() -> Any:
        # Above the diagonal of exp([[Aᵀ, G], [0, Aᵀ]]): Mathias, "A chain rule for matrix functions and applications",
        # SIAM Journal on Matrix Analysis and Applications 17 (1996).
        n = grad.shape[-1]
        blocks = grad.new_zeros((*grad.shape[:-2], 2 * n, 2 * n))
        blocks[..., :n, :n] = blocks[..., n:, n:] = saved.input.mT
        blocks[..., :n, n:] = grad
        return matrix_exp(blocks)[..., :n, n:]

    return {"input": of_input}


@matrix_exp.samples
def _() -> Iterator[Sample]:
    for n in (0, 1, 2, 4, 9, 33):
        yield sample(input=f"normal[{n}, {n}]#1")
    yield sample(input="uniform[66, 66]#1")
    yield sample(input="uniform[2, 3, 5, 5]#2")
    yield sample(input="uniform[300, 5, 5]#2")  # worth a fork
    for kind in ("zeros", "special", "infinite", "tiny", "wide"):
        yield sample(input=f"{kind}[5, 7, 7]#3")


@matrix_exp.oracle
def _(input: Any) -> Any:
    """With the squarings of the difference from 1 and more of them, in long double where it has more digits."""
    n = input.shape[-1]
    doublings = int(np.ceil(np.log2(np.abs(input).sum(-2).max(initial=1.0)))) + 6
    b = input.astype(np.longdouble) / 2**doublings
    term, result = b, b
    for k in range(2, 14):
        term = (term @ b) / k
        result = result + term
    for _ in range(doublings):
        result = 2 * result + result @ result
    return (result + np.eye(n)).astype(np.float64)
