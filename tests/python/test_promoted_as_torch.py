# SPDX-License-Identifier: MIT
"""Operands of several types, and numbers beyond one, give the values, dtypes and strides that they have in torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import repdl

X = torch.tensor([2.0, -0.5, 1.0])
WHOLE = torch.arange(3)
WHOLE_ROWS = torch.arange(1, 13).reshape(3, 4)
BYTES = torch.tensor([4, 6, 200], dtype=torch.uint8)
LEAST = torch.tensor([-128, 5], dtype=torch.int8)
ROWS = torch.arange(24.0).reshape(1, 3, 2, 4).transpose(1, 2) / 24
COLUMNS = ROWS.transpose(2, 3).contiguous().transpose(2, 3)
DENSE, SPARSE = torch.ones(2, 4), torch.eye(4, 5)
MINUS_ONE = torch.tensor(-1)
LOW = torch.tensor([1.01, -3.3, 0.7], dtype=torch.bfloat16)
TURNED, ONE = torch.arange(1.0, 9.0).reshape(4, 2).t(), torch.ones(1, 1, 1)


def _gradient_of_logit() -> torch.Tensor:
    x = torch.tensor([-0.0, 0.0, 0.25, 1.0], requires_grad=True)
    torch.logit(x).sum().backward()
    assert x.grad is not None
    return x.grad


CALLS: dict[str, Callable[[], torch.Tensor]] = {
    "bytes by a number beyond them": lambda: BYTES / 256,
    "bytes by a number below them": lambda: BYTES / -1,
    "one byte by such a number": lambda: BYTES[0] / 256,
    "list of bytes by such a number": lambda: torch._foreach_div([BYTES], 300)[0],
    "int32 by a number beyond them": lambda: WHOLE.int() / 2**31,
    "int8 by such a number": lambda: LEAST / 200,
    "truth values by a number": lambda: BYTES.bool() / 2,
    "bytes plus a number beyond them": lambda: BYTES + 300,
    "sum of bytes times a negative alpha": lambda: torch.add(X, BYTES, alpha=-1),
    "sum in place": lambda: X.clone().sub_(BYTES, alpha=3),
    "sum of wider integers": lambda: torch.add(WHOLE, BYTES, alpha=2),
    "sum of a list": lambda: torch._foreach_add([X], [BYTES], alpha=-1)[0],
    "sum with an alpha beyond the integers": lambda: torch.add(X, WHOLE.int(), alpha=2**31),
    "sum of float64 and float32 with alpha": lambda: torch.add(X.double(), X, alpha=0.3),
    "sum of truth values with alpha": lambda: torch.add(BYTES > 5, BYTES > 5, alpha=2),
    "addcmul of bytes": lambda: torch.addcmul(X, BYTES, BYTES),
    "addcmul of float64 and bfloat16": lambda: torch.addcmul(X.double(), LOW, LOW),
    "addcmul of a single float64": lambda: torch.addcmul(X, LOW, X.double()[0]),
    "addcdiv of float64 and bfloat16": lambda: torch.addcdiv(X.double(), LOW, LOW + 2),
    "addcdiv of bytes and one number": lambda: torch.addcdiv(X, BYTES, X[1]),
    "addr of bytes": lambda: torch.addr(torch.zeros(3, 3), BYTES, BYTES),
    "fmod of more dimensions": lambda: torch.fmod(TURNED, ONE),
    "atan2 of two types and more dimensions": lambda: torch.atan2(TURNED.double(), ONE),
    "maximum of two types": lambda: torch.maximum(TURNED.double(), ONE),
    "hypot of a column and a row": lambda: torch.hypot(TURNED[:, :1].double(), TURNED[:1]),
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
    "quotient of transposed integers": lambda: torch.div(
        WHOLE_ROWS.t(), WHOLE_ROWS.t().contiguous(), rounding_mode="trunc"
    ),
    "attention of keys that lie the other way": lambda: F.scaled_dot_product_attention(ROWS, COLUMNS, COLUMNS),
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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_integers_beside_fractions_have_a_low_default_type(dtype: torch.dtype) -> None:
    whole = torch.tensor([1, 257, 1000])

    def results() -> list[torch.Tensor]:
        return [
            *(whole * 0.1, whole / 0.3, 0.1 - whole, whole + 0.5, whole / 3, whole[1] * 0.1, (whole > 1) * 0.1),
            torch._foreach_mul([whole], 0.1)[0],
            torch.add(whole, 0.5, alpha=2),
        ]

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        stock = results()
        with repdl.reproducible():
            ours = results()
    finally:
        torch.set_default_dtype(before)
    for a, b in zip(ours, stock, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("default", [torch.float64, torch.bfloat16])
def test_the_default_type_does_not_reach_what_has_one(default: torch.dtype) -> None:
    quantized = torch.quantize_per_tensor(X, 0.1, 3, torch.quint8)

    def results() -> list[torch.Tensor]:
        torch.manual_seed(5)
        drawn = torch.empty(100, dtype=torch.float32).normal_()
        return [drawn, repdl.random.uniform_(torch.empty(40, dtype=torch.float32)), quantized.dequantize()]

    before = torch.get_default_dtype()
    with repdl.reproducible(rng="torch"):
        usual = results()
    torch.set_default_dtype(default)
    try:
        with repdl.reproducible(rng="torch"):
            found = results()
    finally:
        torch.set_default_dtype(before)
    for a, b in zip(found, usual, strict=True):
        assert torch.equal(a, b)


def test_a_truth_value_is_not_subtracted() -> None:
    with repdl.reproducible(), pytest.raises(RuntimeError, match="bool"):
        X - True


def test_least_integer_by_minus_one() -> None:
    """torch's kernel ends the process on some CPUs; 2^32 - 1 becomes -1 beside int32."""
    least = torch.full((40,), -(2**31), dtype=torch.int32)
    with repdl.reproducible():
        assert torch.div(LEAST, -1, rounding_mode="trunc").tolist() == [-128, -5]
        for by in (2**32 - 1, torch.tensor(2**32 - 1), torch.full((40,), -1, dtype=torch.int32)):
            assert torch.equal(torch.div(least, by, rounding_mode="trunc"), least)
            assert torch.equal(torch.lcm(least, torch.as_tensor(by)), least)


def test_numbers_lie_where_their_operands_do() -> None:
    def results() -> list[torch.Tensor]:
        quotient = torch.div(WHOLE, -1, rounding_mode="trunc")
        powers = [X**2.5, torch.pow(2.0, X), torch._foreach_pow([X], 1.5)[0], torch._foreach_sub([X], 0.1)[0]]
        return [X % 0.7, torch.fmod(X, 0.7), torch.remainder(7, X), quotient, *powers, torch.floor_divide(X, 0.3)]

    with repdl.reproducible():
        expected = results()
        with torch.device("meta"):
            found = results()
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, equal_nan=True)
