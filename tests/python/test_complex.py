# SPDX-License-Identifier: MIT
"""Complex numbers under `repdl.enable()`: steps of real arithmetic, and their gradients; what has none raises."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl.interception.aten.complex_numbers import _parts
from support import run_python, same_bits

DTYPES = (torch.complex64, torch.complex128)


def numbers(dtype: torch.dtype, seed: int, n: int = 3000) -> torch.Tensor:
    """Of many sizes, zeros of both signs, infinities and NaN among them."""
    draw = np.random.default_rng(seed)
    parts = draw.standard_normal((n, 2)) * 2.0 ** draw.integers(-40, 40, (n, 1))
    parts[::7, 0], parts[3::11, 1], parts[5::13] = 0.0, -0.0, draw.integers(-3, 4, (len(parts[5::13]), 2))
    parts[1::97, 0], parts[2::89, 1] = np.inf, np.nan
    return torch.view_as_complex(torch.from_numpy(parts)).to(dtype)


def same(ours: torch.Tensor, expected: np.ndarray[Any, Any]) -> bool:
    of_numpy = torch.from_numpy(expected)
    if ours.is_complex():
        ours, of_numpy = torch.view_as_real(ours), torch.view_as_real(of_numpy)
    ours, of_numpy = ours.double(), of_numpy.double()  # exact, and same_bits tells NaN for float32 alone
    zeros = torch.equal(ours.signbit() & (ours == 0), of_numpy.signbit() & (of_numpy == 0))
    return zeros and torch.allclose(ours, of_numpy, rtol=0, atol=0, equal_nan=True)


def product(x: Any, y: Any) -> Any:
    result = np.empty(np.broadcast(x, y).shape, x.dtype)
    result.real = x.real * y.real - x.imag * y.imag
    result.imag = x.real * y.imag + x.imag * y.real
    return result


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_four_and_two_roundings(dtype: torch.dtype) -> None:
    x, y = numbers(dtype, 1), numbers(dtype, 2)
    expected = product(x.numpy(), y.numpy())
    with repdl.reproducible():
        for a, b in ((x, y), (spread(x), y), (x.conj().resolve_conj().conj(), y)):
            assert same(a * b, expected)
        assert same(torch.mul(x, y, out=torch.empty(0, dtype=dtype)), expected)
        assert same(x.clone().mul_(y), expected)
        assert same(x[:60].reshape(30, 2).mT * y[:30], product(x.numpy()[:60].reshape(30, 2).T, y.numpy()[:30]))
        number = np.asarray(0.1 + 0.3j, dtype=x.numpy().dtype)
        assert same(x * (0.1 + 0.3j), product(x.numpy(), number))
        assert same(x * 0.1, product(x.numpy(), np.asarray(0.1, dtype=number.dtype)))
        assert same(x.real * (0.1 + 0.3j), product(x.real.numpy().astype(number.dtype), number))
        assert same(torch._foreach_mul([x], [y])[0], expected)


def spread(x: torch.Tensor) -> torch.Tensor:
    return x.new_zeros(*x.shape, 2)[..., 0].copy_(x)


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "over a number": lambda x: x / (0.3 - 2j),
    "over a real number": lambda x: x / 3,
    "number over": lambda x: (1 - 1j) / x,
    "square": lambda x: x**2,
    "abs": torch.abs,
    "sgn": torch.sgn,
    "angle": torch.angle,
}


@pytest.mark.parametrize("name", UNARY)
def test_near_what_torch_gives(name: str) -> None:
    x = torch.tensor(np.random.default_rng(3).standard_normal((40, 2)), dtype=torch.float32)
    z = torch.view_as_complex(x).requires_grad_()
    wide = z.detach().to(torch.complex128).requires_grad_()
    expected = UNARY[name](wide)
    (slope,) = torch.autograd.grad(expected, wide, torch.ones_like(expected) * 0.5)
    with repdl.reproducible():
        ours = UNARY[name](z)
        (ours_slope,) = torch.autograd.grad(ours, z, torch.ones_like(ours) * 0.5)
        assert same_bits(*(torch.view_as_real(t + 0j) for t in (ours, UNARY[name](spread(z.detach())))))
    assert torch.allclose(ours.to(expected.dtype), expected, rtol=1e-6, atol=1e-7)
    assert torch.allclose(ours_slope.to(slope.dtype), slope, rtol=1e-5, atol=1e-6)


def test_division() -> None:
    x, y = numbers(torch.complex64, 4), numbers(torch.complex64, 5)
    with repdl.reproducible():
        quotient = x / y
        assert same(torch.div(x, y, out=torch.empty_like(x)), quotient.numpy())
        assert same(x.clone().div_(y), quotient.numpy())
        zero = torch.tensor([1 + 1j, -1 - 1j]) / torch.tensor([0j, 0j])
    assert torch.equal(torch.view_as_real(zero), torch.tensor([[torch.inf, torch.inf], [-torch.inf, -torch.inf]]))
    exact = x.to(torch.complex128) / y.to(torch.complex128)
    finite = exact.isfinite() & (exact.abs() > 1e-30) & quotient.isfinite()
    assert finite.sum() > 2000
    assert torch.allclose(quotient[finite].to(exact.dtype), exact[finite], rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_sign_of_zero_and_the_absolute_value(dtype: torch.dtype) -> None:
    z = torch.tensor([complex(0.0, -0.0), complex(-0.0, 1.0), 3 + 4j, -3j] * 9, dtype=dtype)
    with repdl.reproducible():
        assert same(-z, -z.numpy())
        assert same(z.clone().neg_(), -z.numpy())
        if dtype == torch.complex64:
            assert z.abs()[:4].tolist() == [0.0, 1.0, 5.0, 3.0]
            assert z.sgn()[:4].tolist() == [0, 1j, 3 / 5 + 4j / 5, -1j] or torch.allclose(z.sgn()[2], z[2] / 5)
            with pytest.raises(RuntimeError, match="In-place abs"):
                z.abs_()


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_those_of_the_products(dtype: torch.dtype) -> None:
    x = numbers(dtype, 6, 60).nan_to_num(1, 1, 1).requires_grad_()
    y = numbers(dtype, 7, 60).nan_to_num(1, 1, 1).requires_grad_()
    seed = numbers(dtype, 8, 60).nan_to_num(1, 1, 1)
    with repdl.reproducible():
        grads = torch.autograd.grad(x * y, (x, y), seed, create_graph=True)
        (second,) = torch.autograd.grad(grads[0], y, seed)
    a, b, g = (t.detach().numpy() for t in (x, y, seed))
    assert same(grads[0].detach(), product(g, b.conj()))
    assert same(grads[1].detach(), product(g, a.conj()))
    assert second.shape == y.shape


WIDE_OR_WITHOUT_KERNEL: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "sqrt": torch.sqrt,
    "pow": lambda x: x**2.5,
    "cumprod": lambda x: x.cumprod(0),
    "cumprod_": lambda x: x.clone().cumprod_(0),
    "prod": torch.prod,
    "sum": torch.sum,
    "dot": lambda x: x @ x,
    "abs of complex128": lambda x: x.to(torch.complex128).abs(),
    "sgn of complex128": lambda x: x.to(torch.complex128).sgn(),
    "angle of complex128": lambda x: x.to(torch.complex128).angle(),
}


@pytest.mark.parametrize("name", WIDE_OR_WITHOUT_KERNEL)
def test_what_raises(name: str) -> None:
    x = numbers(torch.complex64, 9, 5)
    with repdl.reproducible():
        with pytest.raises(repdl.NotReproducibleError) as raised:
            WIDE_OR_WITHOUT_KERNEL[name](x)
        assert raised.value.reason == "dtype"
        with repdl.allow_native("a test"):
            WIDE_OR_WITHOUT_KERNEL[name](x)


def test_the_audit_tells_complex_products_from_real_ones() -> None:
    x = numbers(torch.complex64, 9, 5)
    report = repdl.audit(lambda: (x * x, x.real * x.real))
    assert {row.kind: row.dtypes for row in report if row.op == "aten::mul.Tensor"} == {
        "guarded": {"complex64"},
        "exact": {"float32"},
    }
    assert report.ok


def rotated(queries: torch.Tensor, length: int) -> torch.Tensor:
    """The rotary embedding as Llama has it."""
    dim = queries.shape[-1]
    speeds = 1.0 / (10000.0 ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    angles = torch.outer(torch.arange(length), speeds)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(queries.float().reshape(*queries.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns.view(1, length, 1, -1)).flatten(3).type_as(queries)


def rotary_digest() -> str:
    queries = torch.from_numpy(np.random.default_rng(5).standard_normal((2, 17, 3, 26))).float().requires_grad_()
    with repdl.reproducible():
        result = rotated(queries, 17)
        (result * result.detach().abs()).sum().backward()
    assert queries.grad is not None
    return hashlib.sha256(result.detach().numpy().tobytes() + queries.grad.numpy().tobytes()).hexdigest()


def test_rotary_embeddings_are_the_same_everywhere() -> None:
    digests = {
        run_python(
            f"import sys, torch; sys.path.insert(0, 'tests/python'); torch.set_num_threads({threads});"
            "import test_complex; print(test_complex.rotary_digest())",
            ATEN_CPU_CAPABILITY=capability,
        )
        for capability, threads in (("default", 1), ("avx2", 2), ("avx512", 3))
    }
    assert digests == {rotary_digest() + "\n"}
    queries = torch.from_numpy(np.random.default_rng(5).standard_normal((1, 4, 1, 2))).float()
    with repdl.reproducible():
        angles = torch.arange(4.0).view(1, 4, 1)
        (a, b), c, d = queries.unbind(-1), angles.cos(), angles.sin()
        assert same_bits(rotated(queries, 4), torch.stack((a * c - b * d, a * d + b * c), -1))


def test_parts_of_a_number() -> None:
    real, imaginary = _parts(1 - 2j, torch.complex64)
    assert (real.item(), imaginary.item(), real.dtype) == (1.0, -2.0, torch.float32)
