# SPDX-License-Identifier: MIT
"""Operands of several types, and numbers beyond one, give the values, dtypes and strides that they have in torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import repdl

X = torch.tensor([2.0, -0.5, 1.0])
WHOLE = torch.arange(3)
BYTES = torch.tensor([4, 6, 200], dtype=torch.uint8)
LEAST = torch.tensor([-128, 5], dtype=torch.int8)
DENSE, SPARSE = torch.ones(2, 4), torch.eye(4, 5)
MINUS_ONE = torch.tensor(-1)


def _gradient_of_logit() -> torch.Tensor:
    x = torch.tensor([-0.0, 0.0, 0.25, 1.0], requires_grad=True)
    torch.logit(x).sum().backward()
    assert x.grad is not None
    return x.grad


CALLS: dict[str, Callable[[], torch.Tensor]] = {
    "lerp of bytes": lambda: torch.lerp(BYTES, BYTES.flip(0), torch.tensor(0.5)),
    "list of whole numbers, and a fraction": lambda: torch._foreach_maximum([WHOLE], 0.5)[0],
    "list of whole numbers, and one": lambda: torch._foreach_minimum([WHOLE], 1)[0],
    "list, and a number": lambda: torch._foreach_maximum([X], 0.5)[0],
    "power beyond the type": lambda: X**1e300,
    "base beyond the type": lambda: 1e300**X,
    "remainder by a number beyond the type": lambda: X % 1e300,
    "remainder of one": lambda: 1e300 % X,
    "fmod by one": lambda: torch.fmod(X, 1e300),
    "xlogy of whole numbers and one": lambda: torch.xlogy(WHOLE, 1e300),
    "fmod of whole numbers by a fraction": lambda: torch.fmod(WHOLE, 0.75),
    "remainder of bytes": lambda: BYTES % 7,
    "gcd of bytes": lambda: torch.gcd(BYTES, MINUS_ONE),
    "lcm of bytes": lambda: torch.lcm(BYTES, MINUS_ONE),
    "quotient of bytes": lambda: torch.div(BYTES, -1, rounding_mode="trunc"),
    "gradient of logit at zeros": _gradient_of_logit,
    "product with CSR": lambda: DENSE @ SPARSE.to_sparse_csr(),
    "product with CSC": lambda: DENSE @ SPARSE.to_sparse_csc(),
    "product with COO": lambda: DENSE @ SPARSE.to_sparse(),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", CALLS)
def test_result_is_that_of_torch(name: str) -> None:
    stock = CALLS[name]()
    with repdl.reproducible():
        ours = CALLS[name]()
    torch.testing.assert_close(ours, stock, equal_nan=True)
    assert ours.stride() == stock.stride()


def test_least_integer_by_minus_one() -> None:
    """torch's kernel ends the process on some CPUs."""
    with repdl.reproducible():
        assert torch.div(LEAST, -1, rounding_mode="trunc").tolist() == [-128, -5]
