# SPDX-License-Identifier: MIT
"""Rows made orthogonal to each other by rotations of two at a time: Jacobi's method, from one side, in float64.

A round rotates the pairs of neighbours (0, 1), (2, 3), … or (1, 2), (3, 4), …, and exchanges them, so that after as
many rounds as there are rows, a sweep, every two have met once and all lie in reverse. A pair whose inner product is
small enough only changes places. A matrix is done after a sweep without a rotation, and then left alone: it has the
bits that it has without the rest of the batch.
"""

from __future__ import annotations

import torch

from repdl import _core
from repdl.interception.float64.steps import Steps, add, add_into, mul, step, where, zero

_SWEEPS = 60
"""Matrices take 5 to 12."""

_sub_out, _add_out = step("sub.out"), step("add.out")


def _reciprocal_root(x: Steps) -> Steps:
    """1 / sqrt(x) within some ulp: of float32, then two steps of Newton's."""
    half = x * -0.5
    root = Steps(_core.ops["rsqrt"](x.tensor.to(torch.float32)).to(torch.float64))
    for _ in range(2):
        root = root * (half * root * root + 1.5)
    return root


_PIECE = 2**15
"""So many numbers at a time: their products stay in the cache."""


def _pieces(x: torch.Tensor) -> list[slice]:
    """Of the rows."""
    count = max(1, _PIECE // (x.shape[0] * x.shape[2]))
    return [slice(i, i + count) for i in range(0, x.shape[1], count)]


def _folded(x: torch.Tensor) -> torch.Tensor:
    """The sum along the last dimension, which keeps the size 1: by halves, in the place of the numbers."""
    count = x.shape[2]
    if count == 0:
        return x.new_zeros(*x.shape[:2], 1)
    while count > 1:
        middle = (count + 1) // 2
        add_into(x[:, :, : count - middle], x[:, :, middle:count])
        count = middle
    return add(x[:, :, :1], zero)


def _inner(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Of the rows of two, each with the other's."""
    parts = [_folded(mul(a[:, rows], b[:, rows])) for rows in _pieces(a)]
    return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


def _rotate(a: torch.Tensor, b: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> None:
    """Rotates rows, and exchanges them."""
    for rows in _pieces(a):
        first, second, c, s = (x[:, rows] for x in (a, b, cosine, sine))
        parts = mul(first, c), mul(second, s), mul(first, s), mul(second, c)
        _sub_out(parts[0], parts[1], out=second)
        _add_out(parts[2], parts[3], out=first)


def _tangents(p: Steps, q: Steps, inner: Steps, turned: torch.Tensor) -> Steps:
    """Of the angles, up to 45 degrees, that make pairs of these squares and inner products orthogonal."""
    apart, twice = q - p, inner + inner
    size = where(turned, apart * apart + twice * twice, 1.0)
    tangent = twice / (abs(apart) + size * _reciprocal_root(size))
    return where(turned, where(apart < 0.0, -tangent, tangent), 0.0)


def _sweep(x: torch.Tensor, width: int, tolerance: float) -> torch.Tensor:
    """Changes x; says which matrices had a rotation."""
    count = x.shape[1]
    squares = _inner(x[..., :width], x[..., :width])
    limit = Steps(squares.amax(1, True)) * (tolerance * tolerance)
    changed = torch.zeros(x.shape[0], dtype=torch.bool)
    for start in (i % 2 for i in range(count)):
        end = count - (count - start) % 2
        if end <= start:
            continue
        first, second = x[:, start:end:2], x[:, start + 1 : end : 2]
        p, q = Steps(squares[:, start:end:2]), Steps(squares[:, start + 1 : end : 2])
        inner = Steps(_inner(first[..., :width], second[..., :width]))
        turned = inner * inner > where(p < q, q, p) * limit
        tangent = _tangents(p, q, inner, turned)
        cosine = _reciprocal_root(tangent * tangent + 1.0)
        _rotate(first, second, cosine.tensor, (cosine * tangent).tensor)
        change = tangent * inner
        p_then, q_then = p - change, q + change
        q.tensor.copy_(p_then.tensor)
        p.tensor.copy_(q_then.tensor)
        changed |= turned[:, :, 0].any(1)
    return changed


def orthogonalised(x: torch.Tensor, width: int, tolerance: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotates the rows of each matrix until the first numbers of them, so many, are orthogonal; and which got there.

    That is: the inner product of two rows is at most the tolerance times the size of the longer one times that of the
    longest. The numbers are below 2^400 in size, the largest of a matrix above 2^-400.
    """
    x = x.clone(memory_format=torch.contiguous_format)
    left = torch.arange(x.shape[0] if x.numel() else 0)
    for _ in range(_SWEEPS):
        if not left.numel():
            break
        some = x if left.numel() == x.shape[0] else x[left]
        changed = _sweep(some, width, tolerance)
        x[left] = some.flip(1)
        left = left[changed]
    done = torch.ones(x.shape[0], dtype=torch.bool)
    done[left] = False
    return x, done
