# SPDX-License-Identifier: MIT
"""Products of vectors in space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The cross products of vectors of three numbers, as torch.linalg.cross of tensors of one shape.

    Args:
        input: float32 or float64, of size 3 along dim.
        other: of its type and shape.
        dim: the dimension of the vectors, from the end if negative.
    """


@cross.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: cross(saved.other, grad, saved.dim),
        "other": lambda: cross(grad, saved.input, saved.dim),
    }


@cross.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    return None if arguments["dim"] % arguments["input"].ndim == 0 else rows_of("input", "other")(arguments, rows)


@cross.samples
def _() -> Iterator[Sample]:
    for shape, dim in (("3", 0), ("1, 3", 1), ("70, 3", -1), ("3, 70", 0), ("5, 3, 7", 1), ("0, 3", 1), ("3, 0", 0)):
        yield sample(input=f"normal[{shape}]#1", other=f"normal[{shape}]#2", dim=dim)
    yield sample(input="normal[9001, 3]#1", other="normal[9001, 3]#2")  # worth a fork
    yield sample(input="normal[2, 3, 9001]#1", other="normal[2, 3, 9001]#2", dim=1)
    for kind in ("special", "infinite", "zeros", "tiny", "wide"):
        yield sample(input=f"{kind}[119, 3]#3", other=f"{kind}[119, 3]#4")
        yield sample(input=f"{kind}[2, 3, 59]#3", other=f"{kind}[2, 3, 59]#4", dim=1)


@cross.oracle
def _(input: Any, other: Any, dim: int) -> Any:
    return np.cross(input, other, axis=dim)
