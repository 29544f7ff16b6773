# SPDX-License-Identifier: MIT
"""Discrete Fourier transforms in steps that round once: decimation in time, by the factors of the length.

With n = l p m, the transforms A[k, t] of length l, of every (p m)-th number from the t-th on, become those of length
l p: B[k + j l, t] = sum over q of w(p)^(jq) (w(l p)^(qk) A[k, t + q m]), where w(n) = exp(-2 pi i / n). All starts t,
and all rows, take such a step together. docs/interception.md has all of it.

Tensors are (2, n, rows): real parts, and imaginary ones. What a row gives depends on that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import torch

from repdl.interception.float64.steps import add, step
from repdl.interception.float64.trigonometry import roots_of_unity

LARGEST = 31
"""Of prime factors up to this the sums are written out; a length with a larger one is a convolution."""

_RUN = 32
"""Where numbers lie together in runs shorter than this, they are put in another order first."""

_sub, _add_out, _sub_out = step("sub.Tensor"), step("add.out"), step("sub.out")
_mul_out = step("mul.out")


def _range(*bounds: int) -> torch.Tensor:
    return torch.arange(*bounds, device="cpu")


def _roots(j: torch.Tensor, n: int, dtype: torch.dtype) -> torch.Tensor:
    return roots_of_unity(j, n).to(dtype)


@lru_cache(maxsize=256)
def _twiddles(l: int, p: int, dtype: torch.dtype) -> torch.Tensor:  # noqa: E741
    """w(l p)^(qk), as (2, p - 1, l) for 0 < q < p and k < l."""
    return _roots(_range(1, p)[:, None] * _range(l), l * p, dtype)


@lru_cache(maxsize=32)
def _inside(p: int, dtype: torch.dtype) -> torch.Tensor:
    """cos and sin of jq / p turns, as (2, q, j, 1, 1, 1) for q and j up to p / 2; the sines of the largest j first."""
    half = _range(1, p // 2 + 1)
    cosines, negated = _roots(half[:, None] * half, p, dtype)
    return torch.stack([cosines, -negated.flip(1)])[..., None, None, None]


def times(x: torch.Tensor, y: torch.Tensor, into: torch.Tensor | None = None) -> torch.Tensor:
    """(a + bi)(c + di) = (ac - bd) + (bc + ad)i; the parts are the first dimension. `into` is room for two results."""
    if into is None:
        into = x.new_empty(2, *x.shape)
    product, other = into.unbind(0)
    _mul_out(x, y[0], out=product)
    _mul_out(x, y[1], out=other)
    (ac, bc), (ad, bd) = product.unbind(0), other.unbind(0)
    _sub_out(ac, bd, out=ac)
    _add_out(bc, ad, out=bc)
    return product


# Transforms of length p, of p tensors of (2, …) into p others.

Tensors = Sequence[torch.Tensor]


def _of_2(x: Tensors, y: Tensors) -> None:
    _add_out(x[0], x[1], out=y[0])
    _sub_out(x[0], x[1], out=y[1])


def _of_4(x: Tensors, y: Tensors) -> None:
    """(x0 + x2) + (x1 + x3), (x0 - x2) - i (x1 - x3), (x0 + x2) - (x1 + x3), (x0 - x2) + i (x1 - x3)."""
    _add_out(x[0], x[2], out=y[0])
    _add_out(x[1], x[3], out=y[1])
    _sub_out(y[0], y[1], out=y[2])
    _add_out(y[0], y[1], out=y[0])
    (a, b), (c, d) = x[1].unbind(0), x[3].unbind(0)
    turned = torch.empty_like(y[3])
    real, imaginary = turned.unbind(0)
    _sub_out(b, d, out=real)
    _sub_out(c, a, out=imaginary)
    _sub_out(x[0], x[2], out=y[3])
    _add_out(y[3], turned, out=y[1])
    _sub_out(y[3], turned, out=y[3])


def _of_odd(x: Tensors, y: torch.Tensor, room: torch.Tensor) -> None:
    """x0 + s1 + s2 + …, and (x0 + c1 s1 + c2 s2 + …) - i (z1 d1 + z2 d2 + …) with s, d = x[q] ± x[p - q] for each j.

    c and z are the cosine and the sine of jq / p turns. The result of p - j has + in the place of the -. The first
    sums grow in the places of the results up to p / 2, the second ones in those above it.
    """
    p = len(x)
    half = p // 2
    cosines, sines = _inside(p, x[0].dtype)
    results = y.unbind(1)
    even, odd = y.narrow(1, 1, half), y.narrow(1, half + 1, half)
    scaled = room.narrow(0, 0, even.numel()).view(even.shape)
    some = torch.empty_like(x[0])
    results[0].copy_(x[0])
    even.copy_(x[0][:, None].expand(even.shape))
    for q in range(1, half + 1):
        _add_out(x[q], x[p - q], out=some)
        _add_out(results[0], some, out=results[0])
        _add_out(even, _mul_out(some[:, None], cosines[q - 1], out=scaled), out=even)
        _sub_out(x[q], x[p - q], out=some)
        if q == 1:
            _mul_out(some[:, None], sines[q - 1], out=odd)
        else:
            _add_out(odd, _mul_out(some[:, None], sines[q - 1], out=scaled), out=odd)
    for j in range(1, half + 1):
        some.copy_(results[p - j])
        (a, b), (c, d) = results[j].unbind(0), some.unbind(0)
        real, imaginary = results[p - j].unbind(0)
        _sub_out(a, d, out=real)
        _add_out(b, c, out=imaginary)
        _add_out(a, d, out=a)
        _sub_out(b, c, out=b)


def _step(x: torch.Tensor, y: torch.Tensor, roots: torch.Tensor | None, room: torch.Tensor) -> None:
    """From (2, p, …) to (2, p, …)."""
    p = x.shape[1]
    terms = x.unbind(1)
    if roots is not None:
        others = x.narrow(1, 1, p - 1)
        into = room.narrow(0, 0, 2 * others.numel()).view(2, *others.shape)
        terms, room = (terms[0], *times(others, roots, into).unbind(1)), room.narrow(0, others.numel(), others.numel())
    if p == 2:
        _of_2(terms, y.unbind(1))
    elif p == 4:
        _of_4(terms, y.unbind(1))
    else:
        _of_odd(terms, y, room)


@cache
def factors(n: int) -> tuple[int, ...]:
    found = []
    for p in (4, 2, *range(3, math.isqrt(n) + 1, 2)):
        while n % p == 0:
            found.append(p)
            n //= p
    return (*found, *([n] if n > 1 else []))


def _by_factors(x: torch.Tensor) -> torch.Tensor:
    """Starts stand behind frequencies, (l, p m, rows), while these make long runs; then before them, (p m, l, rows).

    x is changed. Memory is taken once, not in each step: that of a new page takes longer than what is done with it.
    """
    n, rows = x.shape[1:]
    l, behind = 1, True  # noqa: E741
    y, room = torch.empty_like(x), x.new_empty(2 * x.numel())
    for p in factors(n):
        m = n // (l * p)
        if behind and m * rows < _RUN and m < l:
            x, behind = x.view(2, l, n // l, rows).transpose(1, 2).contiguous(), False
        roots = _twiddles(l, p, x.dtype) if l > 1 else None
        if behind:
            roots = None if roots is None else roots[..., None, None]
            _step(x.view(2, l, p, m * rows, 1).transpose(1, 2), y.view(2, p, l, m * rows, 1), roots, room)
        else:
            roots = None if roots is None else roots[:, :, None, :, None]
            _step(x.view(2, p, m, l, rows), y.view(2, m, p, l, rows).transpose(1, 2), roots, room)
        x, y, l = y, x, l * p  # noqa: E741
    return x.view(2, n, rows)


# Lengths with a large prime factor: X[k] = u[k] sum of (u[j] x[j]) / u[k - j], where u[k] = w(2n)^(k^2).


def _length_for(n: int) -> int:
    """The least 2^k, 3 2^k or 5 2^k that holds the convolution of n numbers with 2n - 1."""
    return min(c << math.ceil(math.log2(max((2 * n - 1) / c, 1))) for c in (1, 3, 5))


@lru_cache(maxsize=32)
def _chirp(n: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """u, and the transform of 1 / u over its length."""
    j, length = _range(n), _length_for(n)
    u = roots_of_unity(j * j, 2 * n)[..., None]
    inverse = u.new_zeros(2, length, 1)
    inverse[0, :n], inverse[1, :n] = u[0], -u[1]
    inverse[:, length - n + 1 :] = inverse[:, 1:n].flip(1)
    return u.to(dtype), (transform(inverse) / length).to(dtype)


def _by_convolution(x: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    u, kernel = _chirp(n, x.dtype)
    padded = x.new_zeros(2, kernel.shape[1], x.shape[2])
    padded[:, :n] = times(x, u)
    product = times(transform(padded), kernel)
    return times(inverse(product)[:, :n], u)


def transform(x: torch.Tensor) -> torch.Tensor:
    """X[k] = sum of x[j] w(n)^(jk). Changes x."""
    return _by_convolution(x) if max(factors(x.shape[1]), default=1) > LARGEST else _by_factors(x)


def inverse(x: torch.Tensor) -> torch.Tensor:
    """Without the factor 1 / n: the transform with the parts exchanged, before and after."""
    return transform(x.flip(0)).flip(0)


# Real numbers: of even length, those of even places are the real parts of half as many, the others the imaginary ones.


@lru_cache(maxsize=64)
def _untangling(n: int, dtype: torch.dtype) -> torch.Tensor:
    """-i w(n)^k, as (2, n / 2 + 1, 1)."""
    return _roots(4 * _range(n // 2 + 1) + n, 4 * n, dtype)[..., None]


def _mirrored(x: torch.Tensor) -> torch.Tensor:
    """The conjugates of x in the opposite order."""
    other = x.flip(1)
    torch.neg(other[1], out=other[1])
    return other


def of_pairs(z: torch.Tensor) -> torch.Tensor:
    """X[0 … n/2] of real numbers in pairs z: ((Z[k] + Z*[-k]) - i w^k (Z[k] - Z*[-k])) / 2."""
    spectrum = transform(z)
    spectrum = torch.cat([spectrum, spectrum[:, :1]], 1)
    other = _mirrored(spectrum)
    turned = times(_sub(spectrum, other), _untangling(2 * z.shape[1], z.dtype))
    return add(add(spectrum, other), turned).mul_(0.5)


def to_pairs(x: torch.Tensor) -> torch.Tensor:
    """The inverse of `of_pairs`, times n: from (X[k] + X*[n/2 - k]) + i w^-k (X[k] - X*[n/2 - k])."""
    other = _mirrored(x)
    n = 2 * (x.shape[1] - 1)
    root = _untangling(n, x.dtype)
    back = torch.stack([root[0], -root[1]])
    both, turned = add(x, other), times(_sub(x, other), back)
    return inverse(add(both, turned)[:, :-1].contiguous())


def of_real(x: torch.Tensor) -> torch.Tensor:
    """X[0 … n/2] of real numbers, as (1, n, rows)."""
    return transform(torch.cat([x, torch.zeros_like(x)]))[:, : x.shape[1] // 2 + 1]


def to_real(x: torch.Tensor) -> torch.Tensor:
    """The inverse of `of_real`, times n, of an odd n."""
    return inverse(torch.cat([x, _mirrored(x[:, 1:])], 1))[:1]
