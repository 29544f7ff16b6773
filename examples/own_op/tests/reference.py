# SPDX-License-Identifier: MIT
"""The contract of add_rms_norm a second time, one number after the other, without any code of the op.

    python tests/reference.py

writes the golden file. A test compares the op with this reference where no golden file has been.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import own_op  # noqa: F401 (declares the op)
from repdl.testing.python_reference import sum_in_order, write_golden


def add_rms_norm(input: Any, residual: Any, weight: Any, eps: float, order: str) -> list[Any]:
    number = input.dtype.type  # float32 or float64, whose + * / and sqrt round once
    n = input.shape[-1]
    r = number(1.0 / n)
    output, total, rstds = [], [], []
    for row, other in zip(input.reshape(-1, n), residual.reshape(-1, n), strict=True):
        x = [a + b for a, b in zip(row, other, strict=True)]
        rstd = number(1) / np.sqrt(sum_in_order([value * value for value in x], order) * r + number(eps))
        output += [value * rstd * w for value, w in zip(x, weight, strict=True)]
        total += x
        rstds.append(rstd)

    def tensor(values: list[Any], shape: tuple[int, ...]) -> Any:
        return np.array(values, input.dtype).reshape(shape)

    return [tensor(output, input.shape), tensor(total, input.shape), tensor(rstds, (*input.shape[:-1], 1))]


REFERENCE = {"add_rms_norm": add_rms_norm}

if __name__ == "__main__":
    write_golden(REFERENCE)
