# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repdl._op import Sample, Tensor, op, rows_of, sample


@op()
def integer_mm(input: Tensor, mat2: Tensor) -> Tensor:
    """`mm` of integers, modulo 2^n, where n is the number of bits of their type.

    Args:
        input: uint8, int8, int16, int32 or int64, (…, m, k).
        mat2: of its type, (…, k, n). Batch dimensions must be those of input; an operand without any serves the whole
            batch.

    Returns:
        As input, (…, m, n).
    """


@integer_mm.rows
def _(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    is_batch = arguments["mat2"].ndim > 2
    names = ("input", "mat2") if is_batch and arguments["input"].ndim > 2 else ("mat2",) if is_batch else ("input",)
    return rows_of(*names)(arguments, rows)


@integer_mm.samples
def _() -> Iterator[Sample]:
    # Around the edges of tiles.
    for m, n, k in [(1, 1, 1), (5, 7, 3), (32, 32, 32), (33, 65, 31), (3, 2, 0), (0, 4, 5), (70, 1, 513), (1, 129, 64)]:
        yield sample(input=f"classes99[{m}, {k}]#1", mat2=f"classes50[{k}, {n}]#2")
    yield sample(input="classes9223372036854775807[7, 9]#1", mat2="classes9223372036854775807[9, 5]#2")
    yield sample(input="classes99[40, 300]#1", mat2="classes50[300, 90]#2")
    yield sample(input="classes99[3, 5, 7]#1", mat2="classes50[3, 7, 9]#2")
    yield sample(input="classes99[2, 3, 5, 40]#1", mat2="classes50[40, 9]#2")
    yield sample(input="classes99[9, 30]#1", mat2="classes50[2, 30, 11]#2")
