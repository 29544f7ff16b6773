# SPDX-License-Identifier: MIT
"""Complex numbers under `repdl.enable()`: steps of real arithmetic, and their gradients; what has none raises."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from mpmath import mp

import repdl
from complex_places import at_places
from support import same_bits

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


FUNCTIONS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[Any], Any]]] = {
    "exp": (torch.exp, mp.exp),
    "exp2": (torch.exp2, lambda z: mp.power(2, z)),
    "expm1": (torch.expm1, mp.expm1),
    "log": (torch.log, mp.log),
    "log1p": (torch.log1p, lambda z: mp.log(1 + z)),
    "log2": (torch.log2, lambda z: mp.log(z) / mp.log(2)),
    "log10": (torch.log10, mp.log10),
    "sqrt": (torch.sqrt, mp.sqrt),
    "rsqrt": (torch.rsqrt, lambda z: 1 / mp.sqrt(z)),
    "sin": (torch.sin, mp.sin),
    "cos": (torch.cos, mp.cos),
    "tan": (torch.tan, mp.tan),
    "sinh": (torch.sinh, mp.sinh),
    "cosh": (torch.cosh, mp.cosh),
    "tanh": (torch.tanh, mp.tanh),
    "sinc": (torch.sinc, lambda z: mp.sinpi(z) / (mp.pi * z)),
    "sigmoid": (torch.sigmoid, lambda z: 1 / (1 + mp.exp(-z))),
    "power": (lambda z: z**2.5, lambda z: mp.power(z, 2.5)),
    "complex power": (lambda z: z ** (0.5 + 1j), lambda z: mp.power(z, mp.mpc(0.5, 1))),
    "power of a number": (lambda z: 2**z, lambda z: mp.power(2, z)),
    "square root as a power": (lambda z: z**0.5, mp.sqrt),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_accurate(name: str, dtype: torch.dtype) -> None:
    """Within some roundings of the size of the result, near 0 and 1 and far from them; of a power's logarithm."""
    function, exact = FUNCTIONS[name]
    z = torch.cat([scale * ordinary(dtype, seed, 60) for seed, scale in enumerate((1, 1e-4, 5))])
    near = 1 + 1e-3 * ordinary(dtype, 4, 20)
    z = torch.cat([z, near, torch.tensor([3, -3, 2j, -1j, 15 + 1j, -25 + 2j], dtype=dtype)])
    roundings = 40 if "power" in name else 8
    epsilon = 2.0**-23 if dtype == torch.complex64 else 2.0**-52
    with repdl.reproducible():
        results = function(z)
        assert torch.equal(function(spread(z)), results)
        assert torch.equal(function(z[7:8]), results[7:8])
    with mp.workprec(120):
        for at, result in zip(z.tolist(), results.tolist(), strict=True):
            expected = exact(mp.mpc(at))
            assert abs(mp.mpc(result) - expected) <= roundings * epsilon * abs(expected), at


def ordinary(dtype: torch.dtype, seed: int, *shape: int) -> torch.Tensor:
    draw = np.random.default_rng(seed).standard_normal((*shape, 2))
    return torch.view_as_complex(torch.from_numpy(draw)).to(dtype)


def test_square_roots_of_extreme_numbers() -> None:
    sizes = (1e-45, 1e-30, 1.0, 3e38)
    z = torch.tensor([complex(a * s, b * t) for a in sizes for b in sizes for s in (1, -1) for t in (1, -1)])
    with repdl.reproducible():
        root = z.sqrt()
        zeros = torch.tensor([complex(0.0, 0.0), complex(-0.0, -0.0), complex(-4.0, -0.0)]).sqrt()
    expected = torch.from_numpy(np.sqrt(z.numpy().astype(complex)))
    assert torch.allclose(root.to(expected.dtype), expected, rtol=1e-6, atol=0)
    assert same(zeros, np.array([0j, complex(0.0, -0.0), complex(0.0, -2.0)], dtype=np.complex64))


A, B, C = (ordinary(torch.complex64, 20 + i, *shape) for i, shape in enumerate(((5, 7), (7, 4), (3, 5, 7))))
SEVERAL: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mm": lambda a, b, c: a @ b,
    "mm with conjugates": lambda a, b, c: a @ a.mH,
    "addmm": lambda a, b, c: torch.addmm(b[0], a, b),
    "addmm with factors": lambda a, b, c: torch.addmm(b[0], a, b, beta=0.5j, alpha=2 - 1j),
    "bmm": lambda a, b, c: c @ b.expand(3, 7, 4),
    "baddbmm": lambda a, b, c: torch.baddbmm(c[:, :, :4], c, b.expand(3, 7, 4), beta=2),
    "addbmm": lambda a, b, c: torch.addbmm(a[:, :4], c, b.expand(3, 7, 4)),
    "mv": lambda a, b, c: a @ b[:, 0],
    "addmv": lambda a, b, c: torch.addmv(a[:, 0], a, b[:, 0], alpha=3),
    "dot": lambda a, b, c: torch.dot(a[0], b[:, 1]),
    "dot with conjugates": lambda a, b, c: torch.dot(a[0].conj(), b[:, 1]),
    "vdot": lambda a, b, c: torch.vdot(a[0], b[:, 1]),
    "vdot with conjugates": lambda a, b, c: torch.vdot(a[0].conj(), b[:, 1].conj()),
    "linear": lambda a, b, c: torch.nn.functional.linear(c, b.mT.contiguous(), b[0]),
    "einsum": lambda a, b, c: torch.einsum("bij,jk->ki", c, b),
    "sum": lambda a, b, c: c.sum(),
    "sum along": lambda a, b, c: c.sum((0, 2), keepdim=True),
    "sum into": lambda a, b, c: torch.sum(c, 1, out=c.new_empty(0)),
    "sum of real numbers": lambda a, b, c: c.real.sum(0, dtype=c.dtype),
    "sum of one": lambda a, b, c: c[0, 0, 0].sum(),
    "mean": lambda a, b, c: c.mean(1),
    "prod": lambda a, b, c: a[0].prod(),
    "prod along": lambda a, b, c: c.prod(1, keepdim=True),
    "prod of none": lambda a, b, c: c[:0].prod(0),
    "cumprod": lambda a, b, c: c.cumprod(1),
    "cumprod_": lambda a, b, c: a.clone().cumprod_(0),
    "cumsum": lambda a, b, c: c.cumsum(2),
    "silu": lambda a, b, c: torch.nn.functional.silu(c),
    "sinc_": lambda a, b, c: a.clone().sinc_(),
    "logaddexp": lambda a, b, c: torch.logaddexp(a, b[:5, :1]),
    "logaddexp of real numbers": lambda a, b, c: torch.logaddexp(a.real, a),
    "logsumexp": lambda a, b, c: c.logsumexp(1),
    "logsumexp along": lambda a, b, c: torch.logsumexp(c, (0, -1), keepdim=True),
    "logsumexp into": lambda a, b, c: torch.logsumexp(c, 1, out=c.new_empty(0)),
    "logsumexp of all": lambda a, b, c: torch.logsumexp(a, (0, 1)),
    "logsumexp of one": lambda a, b, c: c[0, 0, 0].logsumexp(0),
    "logsumexp of none": lambda a, b, c: c[:, :0].logsumexp(1).exp(),
    "masked logsumexp": lambda a, b, c: torch.masked.logsumexp(a, 1, mask=a.real > -0.5),
    "logcumsumexp": lambda a, b, c: c.logcumsumexp(1),
    "logcumsumexp into": lambda a, b, c: torch.logcumsumexp(a, 0, out=a.new_empty(0)),
    "renorm": lambda a, b, c: torch.renorm(c, 2, 0, 1.5),
    "renorm with the 1-norm": lambda a, b, c: c.clone().renorm_(1, -1, 1.5),
    "embedding with a norm": lambda a, b, c: torch.nn.functional.embedding(
        torch.tensor([2, 0]), a.detach().clone(), max_norm=1.5
    ),
    "matrix_exp": lambda a, b, c: torch.linalg.matrix_exp(c[:, :, :5]),
    "difference": lambda a, b, c: a - b[:5, :1],
    "sum with a factor": lambda a, b, c: torch.add(a, c, alpha=2 - 1j),
    "prod along a row of zeros": lambda a, b, c: (a * (a.real > 0)).prod(1),
    "var": lambda a, b, c: c.var(1),
    "std": lambda a, b, c: c.std(),
    "var_mean": lambda a, b, c: torch.cat([t.flatten().abs() for t in torch.var_mean(c, (0, 1))]),
    "norm": lambda a, b, c: torch.linalg.vector_norm(c),
    "norm along": lambda a, b, c: torch.linalg.vector_norm(c, dim=(0, -1), keepdim=True),
    "norm of one": lambda a, b, c: torch.linalg.vector_norm(c[0, 0, 0]),
    "1-norm": lambda a, b, c: torch.linalg.vector_norm(c, 1, dim=1),
    "3-norm": lambda a, b, c: c.norm(3),
    "largest": lambda a, b, c: torch.linalg.vector_norm(c, float("inf"), dim=2),
    "number of others than 0": lambda a, b, c: torch.linalg.vector_norm(c, 0),
    "norm of a matrix": lambda a, b, c: torch.linalg.norm(a),
    "trace": lambda a, b, c: torch.trace(a[:4]),
    "pow": lambda a, b, c: a[:, :4] ** b[:5],
    "pow of real numbers": lambda a, b, c: a.abs() ** a,
    "pow by real numbers": lambda a, b, c: (1 + 2j) ** a.real,
    "pow in place": lambda a, b, c: a.clone().pow_(0.5 - 1j),
    "polar": lambda a, b, c: torch.polar(a.abs(), a.angle()),
    "exp in place": lambda a, b, c: a.clone().exp_(),
    "log into": lambda a, b, c: torch.log(a.mT, out=a.new_empty(7, 5)),
    "abs, angle, sgn": lambda a, b, c: torch.polar(a.abs(), a.angle()) + a.sgn(),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SEVERAL)
def test_sums_and_products(name: str, dtype: torch.dtype) -> None:
    operands = [t.to(dtype) for t in (A, B, C)]
    expected = SEVERAL[name](*(t.to(torch.complex128) for t in operands))
    stock = SEVERAL[name](*operands)
    with repdl.reproducible():
        ours = SEVERAL[name](*operands)
        turned = SEVERAL[name](*(t.mT.contiguous().mT for t in operands))
        assert torch.equal(ours, turned)
    assert (ours.shape, ours.dtype, ours.stride()) == (stock.shape, stock.dtype, stock.stride())
    close = 2e-6 if dtype == torch.complex64 else 1e-14
    assert torch.allclose(ours.to(expected.dtype), expected, rtol=close * 5, atol=close * float(expected.abs().max()))


def test_products_are_four_of_real_numbers() -> None:
    a, b, c, d = A.real, A.imag, B.real, B.imag
    with repdl.reproducible():
        result = A @ B
        assert torch.equal(result.real, a @ c - b @ d)
        assert torch.equal(result.imag, a @ d + b @ c)
        assert torch.equal(A[2:3] @ B, result[2:3])
        total = C.sum(1)
        assert torch.equal(total.real, C.real.sum(1)) and torch.equal(total.imag, C.imag.sum(1))


def test_large_products_are_those_of_their_parts() -> None:
    """Which are cut into blocks of rows, of columns, or of matrices."""
    several, high = ordinary(torch.complex64, 30, 20, 100, 50), ordinary(torch.complex64, 31, 2, 1200, 50)
    square = ordinary(torch.complex64, 32, 20, 50, 50)
    with repdl.reproducible():
        for a, b in ((several, square), (several.mT, several.conj()), (high, square[:2]), (high.mH, high)):
            whole = a @ b
            assert torch.equal(whole, torch.stack([x @ y for x, y in zip(a, b, strict=True)]))
            assert torch.equal(whole[:, 7:9], a[:, 7:9] @ b)
            assert torch.equal(whole[..., -1:], a @ b[..., -1:])
        assert torch.equal(square[0] @ high[0].mT, torch.cat([square[0] @ x.mT for x in high[0].split(300)], 1))
        pairs = torch.view_as_real(several.unflatten(0, (4, 5))).transpose(0, 1)  # a batch of two loops
        matrices = torch.view_as_real(square.unflatten(0, (4, 5))).transpose(0, 1)
        whole = torch.view_as_complex(repdl.ops.complex_mm(pairs, matrices)).transpose(0, 1).flatten(0, 1)
        assert torch.equal(whole, several @ square)


def of_layouts(n: int, m: int, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """The same matrix in memory in several ways."""
    x = numbers(dtype, 40, n * m).reshape(n, m)
    wide = torch.empty(2 * n, 3 * m, dtype=dtype)
    wide[::2, ::3] = x
    return {
        "rows": x,
        "columns": x.mT.contiguous().mT,
        "spread": wide[::2, ::3],
        "conjugates": x.conj().resolve_conj().conj(),
        "misaligned": torch.cat([x.new_zeros(1), x.flatten()])[1:].reshape(n, m),
        "both signs changed": torch.view_as_complex(torch.view_as_real(-x).contiguous().neg()),
    }


POINTWISE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "neg": torch.neg,
    "abs": torch.abs,
    "angle": torch.angle,
    "mul": lambda x: x * x,
    "mul by a row": lambda x: x * x[:1],
    "mul by a column": lambda x: x[:, :1] * x,
    "mul by one": lambda x: x * x[2, 1],
    "mul by a number": lambda x: x * (2 - 0.5j),
    "add a number": lambda x: x + 3,
    "number less": lambda x: 0.5j - x,
    "over a number": lambda x: x / float("inf"),
    "into": lambda x: torch.mul(x, x, out=torch.empty_like(x)),
    "into one of other strides": lambda x: torch.mul(x, x, out=torch.empty_like(x.mT).mT),
    "abs into": lambda x: torch.abs(x, out=torch.empty_like(x.real)),
    "abs into one of other strides": lambda x: torch.abs(x, out=torch.empty_like(x.real.mT).mT),
    "over itself": lambda x: x.clone().mul_(x),
    "over its neighbours": lambda x: torch.add(x[:-1], x[:-1], out=x.clone()[1:]),
    "of four dimensions": lambda x: (x[:9, None, None] * x[None, -9:, :, None].flip(1)).permute(2, 0, 1, 3).abs(),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_results_are_those_of_rows_laid_out_as_torchs(name: str, dtype: torch.dtype) -> None:
    call = POINTWISE[name]
    for n, m in ((5, 7), (300, 40), (1, 6), (6, 1)):
        of_stock = {layout: (x, call(x)) for layout, x in of_layouts(max(n, 3), max(m, 2), dtype).items()}
        with repdl.reproducible():
            for layout, (x, stock) in of_stock.items():
                ours, plain = call(x), call(x.resolve_conj().contiguous())
                assert same(ours.resolve_conj(), plain.resolve_conj().numpy()), layout
                assert (ours.shape, ours.dtype, ours.stride()) == (stock.shape, stock.dtype, stock.stride()), layout


REDUCED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": torch.sum,
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.sum(-2, keepdim=True),
    "mean": lambda x: x.mean(0),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(correction=2),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "prod": lambda x: x.prod(1),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(-1),
    "logcumsumexp": lambda x: x[:, :60].logcumsumexp(-1),
    "logsumexp": lambda x: x.logsumexp(1),
    "logsumexp of columns": lambda x: x.logsumexp(0, keepdim=True),
    "renorm": lambda x: x.renorm(2, 0, 1.0),
    "mm": lambda x: x @ x[:3].mT,
    "mm with conjugates": lambda x: x[:, :40].mH @ x[:, :40],
    "mm into": lambda x: torch.mm(x, x[:3].mH, out=x.new_empty(x.shape[0], 3)),
    "bmm": lambda x: torch.bmm(x[None].expand(2, *x.shape), x.mT[None].expand(2, *x.mT.shape)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_and_products_do_not_see_layouts(name: str, dtype: torch.dtype) -> None:
    call = REDUCED[name]
    for n, m in ((5, 7), (300, 40), (3, 5000)):
        tensors = of_layouts(n, m, dtype)
        with repdl.reproducible():
            for layout, x in tensors.items():
                assert same(call(x), call(x.resolve_conj().contiguous()).numpy()), layout


def test_sums_are_those_of_the_parts() -> None:
    """Above the length of a chunk too, and with signed zeros."""
    for n in (1, 63, 64, 65, 4096, 4097, 9 * 4096 + 77):
        z = ordinary(torch.complex64, n, n)
        with repdl.reproducible():
            parts = torch.complex(z.real.clone().sum(), z.imag.clone().sum())
            assert same(z.sum(), parts.numpy())
    zeros = torch.full((70,), complex(-0.0, -0.0))
    with repdl.reproducible():
        assert same(zeros.sum(), np.asarray(0j, np.complex64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sinc_where_steps_lose_digits(dtype: torch.dtype) -> None:
    """Both parts, near 0 and near integers, where terms cancel; and where sinh overflows, and sinc does not."""
    near = torch.tensor([1e-30 + 1e-25j, 1e-9 - 1e-4j, 0.24 + 0.2j, 3 + 1e-6j, -7.0001 + 0.01j, 1e6 + 2j], dtype=dtype)
    high = torch.tensor([1e15 + 226.5j, 3.25 - 227j, 0.5 + 190.5j, -12.125 + 210j], dtype=dtype)
    z = torch.cat([near, high if dtype == torch.complex128 else high.real + high.imag * 0.125j])
    with repdl.reproducible():
        results = torch.sinc(z)
        assert torch.sinc(torch.tensor([0j, 2, complex(-1, 0)], dtype=dtype)).tolist() == [1, 0, 0]
    tiny = torch.finfo(dtype.to_real()).smallest_normal
    with mp.workprec(1200):
        for at, result in zip(z.tolist(), results.tolist(), strict=True):
            expected = mp.sin(mp.pi * mp.mpc(at)) / (mp.pi * mp.mpc(at))
            for part, exact in ((result.real, expected.real), (result.imag, expected.imag)):
                assert abs(mp.mpf(part) - exact) <= 20 * torch.finfo(dtype).eps * max(abs(exact), tiny), at


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_of_sums_of_exponentials_at_the_ends(dtype: torch.dtype) -> None:
    """As in stock torch: what has a real part of -inf is nothing, whatever its imaginary part."""
    low, high, nan = (complex(x, 2.0) for x in (-torch.inf, torch.inf, torch.nan))
    ends = torch.tensor([low, complex(-torch.inf, torch.inf), 1 + 2j, high, -5 + 1j, 5 - 1j, nan], dtype=dtype)
    first, second = torch.broadcast_tensors(ends[:, None], ends)
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: torch.logaddexp(first, second),
        lambda: torch.logsumexp(torch.stack((first, second)), 0),
        lambda: torch.logcumsumexp(torch.stack((first, second, first)), 0),
        lambda: torch.logcumsumexp(ends, 0),
        lambda: torch.logsumexp(ends[:2], 0),
        lambda: torch.logsumexp(ends[:0], 0),
    ]
    for call in calls:
        stock = call()
        with repdl.reproducible():
            assert torch.allclose(call(), stock, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_running_logarithms_stay_on_their_branch(dtype: torch.dtype) -> None:
    """Of numbers of any imaginary part the results are those of stock torch, which adds one to the next."""
    turns = torch.arange(300, dtype=torch.float64)
    size = ordinary(torch.complex128, 50, 300).real
    for z in (
        torch.complex(size * 0.01, turns * 0.9),
        torch.complex(size * 9, turns * 40),
        torch.complex(turns, -turns),
    ):
        stock = torch.logcumsumexp(z.to(dtype), 0)
        with repdl.reproducible():
            ours = torch.logcumsumexp(z.to(dtype), 0)
        assert torch.allclose(ours, stock, rtol=1e-5 if dtype == torch.complex64 else 1e-12, atol=1e-10)


ORDINARY: dict[str, Callable[[torch.Tensor], Any]] = {
    **{
        name: getattr(torch, name)
        for name in ("abs", "angle", "exp", "neg", "sgn", "sum", "mean", "prod", "reciprocal")
    },
    "silu": torch.nn.functional.silu,
    "add": lambda x: torch.add(x, x),
    "sub a number": lambda x: torch.sub(x, 2.5),
    "mul by a complex number": lambda x: torch.mul(x, 1 - 2j),
    "div": lambda x: torch.div(x, x.mT),
    "pow": lambda x: torch.pow(x, x),
    "mul_": lambda x: x.mul_(x),
    "exp into": lambda x: torch.exp(x, out=x),
    "sum along": lambda x: torch.sum(x, 0, keepdim=True),
    "var": lambda x: torch.var(x, 1, correction=0),
    "norm": torch.linalg.vector_norm,
    "prod along": lambda x: torch.prod(x, 1),
    "cumsum": lambda x: torch.cumsum(x, 1),
    "cumprod": lambda x: torch.cumprod(x, -1),
    "logcumsumexp": lambda x: torch._logcumsumexp(x, 1),
    "logaddexp": lambda x: torch.logaddexp(x, x.mT),
    "sinc": torch.sinc,
    "mm": lambda x: torch.mm(x, x.mT),
    "mm with conjugates": lambda x: torch.mm(x.mH, x),
    "bmm": lambda x: torch.bmm(x[None], x[None].mH),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_calls_do_not_go_through_python(name: str) -> None:
    x = ordinary(torch.complex64, 41, 4, 4)
    called = []

    def see(frame: Any, event: str, _: Any) -> None:
        if event == "call" and "repdl/interception/aten" in frame.f_code.co_filename.replace("\\", "/"):
            called.append(frame.f_code.co_name)

    with repdl.reproducible():
        sys.setprofile(see)
        try:
            ORDINARY[name](x)
        finally:
            sys.setprofile(None)
    assert not called


def test_powers_of_zero() -> None:
    zero = torch.tensor([0j, 0j, 0j])
    with repdl.reproducible():
        assert torch.equal(zero ** torch.tensor([0j, 2.5 + 1j, 1j + 1]), torch.tensor([1 + 0j, 0j, 0j]))


def test_errors_are_torchs() -> None:
    with repdl.reproducible():
        with pytest.raises(RuntimeError, match="same dtype"):
            torch.mm(A, B.real)
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            torch.mm(A, A)
        with pytest.raises(RuntimeError, match="can't be cast"):
            torch.exp(A, out=torch.empty(5, 7))


WITHOUT_GRADIENT = (
    "sum into", "log into", "logsumexp into", "logcumsumexp into", "sum of real numbers", "logaddexp of real numbers",
    "silu", "logsumexp of none", "embedding with a norm",
)  # fmt: skip
"""In torch too."""


@pytest.mark.parametrize("name", [name for name in (*FUNCTIONS, *SEVERAL) if name not in WITHOUT_GRADIENT])
def test_gradients_of_complex_numbers(name: str) -> None:
    """Those of torch's formulas, against differences of the results."""
    if name in FUNCTIONS:
        call: Any = FUNCTIONS[name][0]
        operands = [ordinary(torch.complex128, 30, 6).requires_grad_()]
    else:
        call = SEVERAL[name]
        operands = [t.to(torch.complex128).requires_grad_() for t in (A, B, C)]
    with repdl.reproducible():
        assert torch.autograd.gradcheck(call, operands, fast_mode=True)


WITHOUT_KERNEL: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "products at places": lambda x: at_places(),
}


@pytest.mark.parametrize("name", WITHOUT_KERNEL)
def test_what_raises(name: str) -> None:
    x = numbers(torch.complex64, 9, 5)
    with repdl.reproducible():
        with pytest.raises(repdl.NotReproducibleError) as raised:
            WITHOUT_KERNEL[name](x)
        assert raised.value.reason == "dtype"


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_half_numbers_raise() -> None:
    """In torch's words, which has no kernel of it either, or in ours."""
    half = numbers(torch.complex64, 9, 5).to(torch.complex32)
    with repdl.reproducible(), pytest.raises(NotImplementedError, match="ComplexHalf"):
        half.exp()
    with repdl.reproducible(), pytest.raises(repdl.NotReproducibleError):
        half.var()


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


def test_rotary_embeddings() -> None:
    queries = torch.from_numpy(np.random.default_rng(5).standard_normal((1, 4, 1, 2))).float()
    with repdl.reproducible():
        angles = torch.arange(4.0).view(1, 4, 1)
        (a, b), c, d = queries.unbind(-1), angles.cos(), angles.sin()
        assert same_bits(rotated(queries, 4), torch.stack((a * c - b * d, a * d + b * c), -1))


def digest_of_all() -> str:
    """Of every function and product here, and their gradients."""
    sha = hashlib.sha256()
    functions: dict[str, Any] = {
        name: lambda a, b, c, f=f: f(torch.cat([a.flatten(), c.flatten() * 3])) for name, (f, _) in FUNCTIONS.items()
    }
    with repdl.reproducible():
        for name, function in (functions | SEVERAL).items():
            for dtype in DTYPES:
                operands = [t.to(dtype).requires_grad_(name not in WITHOUT_GRADIENT) for t in (A, B, C)]
                results = [function(*operands)]
                if results[0].requires_grad:
                    weights = torch.ones_like(results[0])
                    results += torch.autograd.grad(results[0], operands, weights, materialize_grads=True)
                for t in results:
                    sha.update(torch.view_as_real(t.detach().resolve_conj() + 0j).contiguous().numpy().tobytes())
    return sha.hexdigest()


@pytest.mark.filterwarnings("ignore:ComplexHalf support:UserWarning")
def test_polar_of_float16_is_complex32() -> None:
    x = torch.linspace(-3, 3, 31).half()
    with repdl.reproducible():
        got, wide = torch.polar(x, x), torch.polar(x.float(), x.float())
        with pytest.raises(RuntimeError, match="BFloat16"):
            torch.polar(x.bfloat16(), x.bfloat16())
        with pytest.raises(RuntimeError, match="Float"):
            torch.polar(x, x.float())
    assert got.dtype == torch.complex32
    assert torch.equal(torch.view_as_real(got), torch.view_as_real(wide).half())
