# SPDX-License-Identifier: MIT
"""Fourier transforms under `repdl.enable()`: accuracy, layouts, rows, what is read, gradients, other machines."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repdl

COMPLEX = ("fft", "ifft", "irfft", "hfft")
REAL = ("fft", "ifft", "rfft", "ihfft")
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 31, 32, 37, 60, 74, 97, 128, 400, 509, 512)
EPSILON = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}


def drawn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 1) -> torch.Tensor:
    draw = np.random.default_rng(seed)
    real = torch.from_numpy(draw.standard_normal(shape))
    if not dtype.is_complex:
        return real.to(dtype)
    return torch.complex(real, torch.from_numpy(draw.standard_normal(shape))).to(dtype)


def wide(x: torch.Tensor) -> np.ndarray[Any, Any]:
    return x.numpy().astype(np.clongdouble)


def off(result: torch.Tensor, expected: np.ndarray[Any, Any]) -> float:
    """The size of the error, relative to that of the result."""
    return float(np.linalg.norm((wide(result) - expected).ravel()) / np.linalg.norm(expected.ravel()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n: int, dtype: torch.dtype) -> None:
    """The error is a few roundings, which add up as the root of the number of steps."""
    x, z = drawn(3, n, dtype=dtype), drawn(3, n, dtype=dtype.to_complex())
    half = drawn(3, n // 2 + 1, dtype=dtype.to_complex())
    bound = EPSILON[dtype] * 1.5 * (1 + np.sqrt(np.log2(n)))
    with repdl.reproducible():
        assert off(torch.fft.fft(z), np.fft.fft(wide(z))) < bound
        assert off(torch.fft.ifft(z), np.fft.ifft(wide(z))) < bound
        assert off(torch.fft.fft(x), np.fft.fft(wide(x))) < bound
        assert off(torch.fft.rfft(x), np.fft.fft(wide(x))[:, : n // 2 + 1]) < bound
        assert off(torch.fft.irfft(half, n), np.fft.irfft(wide(half), n)) < bound


@pytest.mark.parametrize("n", [16, 400, 512, 997, 4096])
def test_no_less_accurate_than_torch(n: int) -> None:
    z = drawn(8, n, dtype=torch.complex64)
    exact, native = np.fft.fft(wide(z)), torch.fft.fft(z)
    with repdl.reproducible():
        assert off(torch.fft.fft(z), exact) < 1.1 * off(native, exact)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "plain": lambda x: x,
    "turned": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "spread": lambda x: x.new_zeros(*x.shape, 2)[..., 0].copy_(x),
    "expanded": lambda x: x[:1].expand(3, *x.shape[1:]),
    "offset": lambda x: x.new_zeros(x.numel() + 1)[1:].reshape(x.shape).copy_(x),
}
CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    **{
        f"{f} of complex {d}": lambda x, z, f=f, d=d: getattr(torch.fft, f)(z, dim=d) for f in COMPLEX for d in range(3)
    },
    **{f"{f} of real {d}": lambda x, z, f=f, d=d: getattr(torch.fft, f)(x, dim=d) for f in REAL for d in range(3)},
    **{
        f"{f} {dims} {norm}": lambda x, z, f=f, dims=dims, norm=norm: getattr(torch.fft, f)(
            x if f in ("rfftn", "ihfftn") else z, dim=dims, norm=norm
        )
        for f in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
        for dims in ((0, 1), (2, 0), (-1, -2), (0, 1, 2), (2, 0, 1))
        for norm in ("ortho", "forward", "backward")
    },
    "fft2 of real": lambda x, z: torch.fft.fft2(x),
    "fftn of real": lambda x, z: torch.fft.fftn(x),
    "both sides": lambda x, z: torch.ops.aten._fft_r2c(x, [0, 1, 2], 0, False),
    "both sides of odd lengths": lambda x, z: torch.ops.aten._fft_r2c(x, [1, 2, 0], 0, False),
    "longer": lambda x, z: torch.fft.fft(z, 9, norm="ortho"),
    "shorter": lambda x, z: torch.fft.rfft(x, 3),
    "odd": lambda x, z: torch.fft.irfft(z, 7, norm="forward"),
    "one": lambda x, z: torch.fft.irfft(z, 1),
    "of no dimension": lambda x, z: torch.ops.aten._fft_c2c(z, [], 0, True),
    "of conjugates": lambda x, z: torch.fft.ifft(z.conj()),
    "of negatives": lambda x, z: torch.fft.rfft(z.conj().imag),
    "of integers": lambda x, z: torch.fft.rfft((x * 9).int()),
    "of a number": lambda x, z: torch.fft.fft(x[0, 0, :1]),
    "stft": lambda x, z: torch.stft(x.flatten(), 8, 3, window=x[0, 0, :1].expand(8), return_complex=True),
    "istft": lambda x, z: torch.istft(z.new_ones(5, 4) * z.flatten()[:4], 8, 3, window=x.new_ones(8)),
}


@pytest.fixture(scope="module")
def native() -> dict[tuple[str, str], torch.Tensor]:
    torch.set_num_threads(1)
    return {(call, layout): _called(call, layout) for call in CALLS for layout in LAYOUTS}


def _called(call: str, layout: str) -> torch.Tensor:
    change = LAYOUTS[layout]
    return CALLS[call](change(drawn(3, 4, 6)), change(drawn(3, 4, 6, dtype=torch.complex64)))


def _strides(x: torch.Tensor) -> list[int]:
    return [stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1]


@pytest.mark.parametrize("call", CALLS)
def test_as_torch(call: str, native: Any) -> None:
    """Values, shape, dtype and strides; and the bits are those of every other layout."""
    with repdl.reproducible():
        results = {layout: _called(call, layout) for layout in LAYOUTS}
    for layout, ours in results.items():
        stock = native[call, layout]
        assert ours.dtype == stock.dtype and ours.shape == stock.shape
        if layout != "expanded":  # torch takes dimensions of one stride in any order
            assert _strides(ours) == _strides(stock), layout
        assert torch.allclose(ours, stock, rtol=1e-4, atol=3e-6 * float(stock.abs().max())), layout
        if layout != "expanded":
            assert torch.equal(ours, results["plain"])


def test_operands_are_not_changed() -> None:
    x, z = drawn(1, 6), drawn(1, 4, dtype=torch.complex64)
    x_before, z_before = x.clone(), z.clone()
    with repdl.reproducible():
        for n in (1, 2, 5, 6):
            torch.fft.rfft(x[:, :n], norm="ortho"), torch.fft.fft(z[:, :n], norm="ortho")
            torch.fft.irfft(z, n), torch.fft.ifft(z[:, :n]), torch.fft.irfft(z[0, :1], 1)
    assert torch.equal(x, x_before) and torch.equal(z, z_before)


@pytest.mark.parametrize("n", [8, 9, 37, 60, 1024, 4093, 6000])
def test_a_row_does_not_see_its_batch(n: int) -> None:
    z, x = drawn(70, n, dtype=torch.complex64), drawn(70, n)
    with repdl.reproducible():
        together = torch.fft.fft(z), torch.fft.rfft(x), torch.fft.irfft(z, n)
        for rows in (slice(0, 1), slice(5, 38), slice(69, 70)):
            alone = torch.fft.fft(z[rows]), torch.fft.rfft(x[rows]), torch.fft.irfft(z[rows], n)
            assert all(torch.equal(a, b[rows]) for a, b in zip(alone, together, strict=True))
        for threads in (1, 2, 3, 7):
            repdl.set_num_threads(threads)
            again = torch.fft.fft(z), torch.fft.rfft(x), torch.fft.irfft(z, n)
            assert all(torch.equal(a, b) for a, b in zip(again, together, strict=True))
        assert torch.equal(torch.fft.fft(z.T, dim=0), together[0].T)


def test_two_dimensions_are_one_after_the_other() -> None:
    z, x = drawn(6, 10, dtype=torch.complex64), drawn(6, 10)
    with repdl.reproducible():
        assert torch.equal(torch.fft.fft2(z), torch.fft.fft(torch.fft.fft(z, dim=1), dim=0))
        assert torch.equal(torch.fft.rfft2(x), torch.fft.fft(torch.fft.rfft(x, dim=1), dim=0))
        assert torch.equal(torch.fft.irfft2(z), torch.fft.irfft(torch.fft.ifft(z, dim=0), dim=1))
        assert torch.equal(torch.fft.fft(x)[:, :6], torch.fft.rfft(x))
        assert torch.equal(torch.fft.fft(z, norm="ortho"), torch.fft.fft(z) / torch.tensor(10.0).sqrt())
        assert torch.equal(torch.fft.ifft(z), torch.fft.ifft(z, norm="forward") / 10)


@pytest.mark.parametrize("n", [6, 7])
def test_imaginary_parts_that_are_not_read(n: int) -> None:
    z = drawn(2, n // 2 + 1, dtype=torch.complex64)
    other = z.clone()
    other.imag[:, 0] = torch.nan
    if n % 2 == 0:
        other.imag[:, -1] = torch.inf
    with repdl.reproducible():
        assert torch.equal(torch.fft.irfft(z, n), torch.fft.irfft(other, n))


def test_no_rows() -> None:
    """torch's own raises an error of MKL's."""
    with repdl.reproducible():
        assert torch.fft.fft(torch.zeros(0, 4, dtype=torch.complex64)).shape == (0, 4)
        assert torch.fft.rfft(torch.zeros(2, 0, 5)).shape == (2, 0, 3)
        assert torch.fft.irfft(torch.zeros(0, 3, dtype=torch.complex64)).shape == (0, 4)


ERRORS: dict[str, Callable[[], Any]] = {
    "no numbers": lambda: torch.fft.fft(torch.zeros(3, 0)),
    "no numbers below": lambda: torch.ops.aten._fft_r2c(torch.zeros(3, 0), [1], 0, True),
    "no such dimension": lambda: torch.fft.fft(torch.zeros(3), dim=1),
    "a dimension twice": lambda: torch.fft.fft2(torch.zeros(3, 3), dim=(0, 0)),
    "half": lambda: torch.fft.fft(torch.zeros(4, dtype=torch.float16)),
    "half below": lambda: torch.ops.aten._fft_r2c(torch.zeros(4, dtype=torch.bfloat16), [0], 0, True),
    "complex numbers for real ones": lambda: torch.fft.rfft(torch.zeros(4, dtype=torch.complex64)),
    "no length": lambda: torch.fft.irfft(torch.zeros(1, dtype=torch.complex64)),
    "too short": lambda: torch.ops.aten._fft_c2r(torch.zeros(3, dtype=torch.complex64), [0], 0, 9),
    "out of another type": lambda: torch.fft.fft(torch.zeros(4), out=torch.zeros(3)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError)) as stock:
        ERRORS[name]()
    with repdl.reproducible(), pytest.raises(type(stock.value)) as ours:
        ERRORS[name]()
    assert not isinstance(ours.value, repdl.NotReproducibleError)


def test_out() -> None:
    z = drawn(3, 6, dtype=torch.complex64)
    with repdl.reproducible():
        out = torch.empty(6, 3, dtype=torch.complex64).T
        assert torch.fft.fft(z, out=out) is out
        assert torch.equal(out, torch.fft.fft(z)) and out.stride() == (1, 3)
        real = torch.empty(0)
        torch.fft.irfft(z, out=real)
        assert torch.equal(real, torch.fft.irfft(z))
        for transform in (torch.fft.ihfft2, torch.fft.ihfftn):
            for options in ({}, {"dim": (0,)}, {"dim": (0, 1), "norm": "ortho"}, {"s": (2, 5)}):
                expected = transform(z.real, **options)
                spread = torch.zeros(*expected.shape, 2, dtype=expected.dtype)[..., 0]
                assert transform(z.real, **options, out=spread) is spread and torch.equal(spread, expected)


GRADIENTS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "fft": lambda x, z: torch.fft.fft(z, norm="ortho"),
    "ifft2": lambda x, z: torch.fft.ifft2(z),
    "rfft": lambda x, z: torch.fft.rfft(x),
    "rfft2": lambda x, z: torch.fft.rfft2(x, norm="forward"),
    "fft of real": lambda x, z: torch.fft.fft(x),
    "irfft": lambda x, z: torch.fft.irfft(z, 6),
    "irfft odd": lambda x, z: torch.fft.irfft(z, 5, dim=0),
    "irfftn": lambda x, z: torch.fft.irfftn(z, norm="ortho"),
    "stft": lambda x, z: torch.stft(x.flatten(), 4, 2, window=torch.ones(4).double(), return_complex=True),
    "istft": lambda x, z: torch.istft(z[:3], 4, 2, window=torch.ones(4).double()),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    x, z = drawn(3, 4, dtype=torch.float64).requires_grad_(), drawn(3, 4, dtype=torch.complex128).requires_grad_()
    operand = z if name[0] == "i" or name == "fft" else x
    with repdl.reproducible():
        call = (lambda t: GRADIENTS[name](x, t)) if operand is z else (lambda t: GRADIENTS[name](t, z))
        assert torch.autograd.gradcheck(call, operand)
        assert torch.autograd.gradgradcheck(call, operand)


def test_batches_of_vmap() -> None:
    z = drawn(3, 5, dtype=torch.complex64)
    with repdl.reproducible():
        assert torch.equal(torch.vmap(torch.fft.fft)(z), torch.fft.fft(z))


def _bytes(x: torch.Tensor) -> bytes:
    x = x.detach()
    return (torch.view_as_real(x.resolve_conj()) if x.is_complex() else x).contiguous().numpy().tobytes()


def digest() -> str:
    """Of transforms of many lengths, alone and in batches, with their gradients; and of a spectrogram and back."""
    sha = hashlib.sha256()
    warnings.simplefilter("ignore")
    with repdl.reproducible():
        for dtype in (torch.float32, torch.float64):
            for n in (1, 12, 31, 37, 250, 1024, 3001):
                for rows in (1, 50):
                    x = drawn(rows, n, dtype=dtype).requires_grad_()
                    spectrum = torch.fft.rfft(x, norm="ortho")
                    back = torch.fft.irfft(torch.fft.fft(spectrum) * (1 + 2j), n)
                    (back * back.detach()).sum().backward()
                    assert x.grad is not None
                    for t in (spectrum, back, x.grad):
                        sha.update(_bytes(t))
        window = torch.hann_window(64)
        spectrogram = torch.stft(drawn(3, 4000), 64, 16, window=window, return_complex=True)
        sha.update(_bytes(spectrogram) + _bytes(torch.istft(spectrogram, 64, 16, window=window)))
        sha.update(
            _bytes(torch.fft.fft2(drawn(2, 40, 56))) + _bytes(torch.fft.irfftn(drawn(3, 7, 5, dtype=torch.complex64)))
        )
    return sha.hexdigest()
