# SPDX-License-Identifier: MIT
"""torch.fft: which dimensions are transformed in what order, and how the results lie in memory.

A dimension after the other: from the last named to the first, and of a transform to real numbers the last one last.
The sums are divided by n, or by sqrt(n), in the last step, n being the product of the lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from repdl.interception.aten import fourier_steps as steps
from repdl.interception.override import ANY_DTYPE, fill, override

Transform = Callable[..., torch.Tensor]

_PIECE = 2**16
"""So many numbers at a time, for each thread: their steps stay in the cache."""


def _checked(self: torch.Tensor, dims: list[int], *dtypes: torch.dtype) -> list[int]:
    if self.dtype not in dtypes:
        allowed = ", ".join(map(str, dtypes))
        raise NotImplementedError(f"[fft] dtype {self.dtype} is not one of {allowed}. Convert it first.")
    dims = [d % self.dim() for d in dims]
    if any(self.shape[d] < 1 for d in dims):
        raise RuntimeError(f"[fft] a dimension to transform has no numbers: the shape is {list(self.shape)}")
    return dims


def _by_stride(self: torch.Tensor, dims: list[int]) -> list[int]:
    return sorted(dims, key=self.stride().__getitem__, reverse=True)


def _batch(self: torch.Tensor, dims: list[int]) -> list[int]:
    return _by_stride(self, [d for d in range(self.dim()) if d not in dims])


def _in_place(x: torch.Tensor, order: list[int]) -> torch.Tensor:
    """A view of a tensor whose dimensions are these ones, with each in its place."""
    return x.permute([order.index(d) for d in range(len(order))])


def _lying(x: torch.Tensor, order: list[int]) -> torch.Tensor:
    """With the dimensions in this order in memory."""
    return _in_place(x.permute(order).contiguous(), order)


def _planes(x: torch.Tensor) -> torch.Tensor:
    """A copy: the parts of complex numbers one after the other; of real numbers themselves alone."""
    planes = torch.view_as_real(x).permute(2, 0, 1) if x.is_complex() else x[None]
    return planes.clone(memory_format=torch.contiguous_format)


def _numbers(planes: torch.Tensor) -> torch.Tensor:
    return torch.complex(*planes) if len(planes) == 2 else planes[0]


def _along(source: torch.Tensor, dim: int, order: list[int], transform: Transform) -> torch.Tensor:
    """Transforms one dimension, some rows at a time. The others are best taken in this order."""
    order = [dim, *(d for d in order if d != dim)]
    turned = source.permute(order)
    rows = turned.shape[1:].numel()
    flat = turned.reshape(turned.shape[0], rows)
    size = max(_PIECE * torch.get_num_threads() // flat.shape[0], 1)
    starts = range(0, max(rows, 1), size)
    pieces = [_numbers(transform(_planes(flat[:, at : at + size].contiguous()))) for at in starts]
    result = pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)
    return _in_place(result.reshape(result.shape[0], *turned.shape[1:]), order)


def _divided(transform: Transform, sizes: list[int], normalization: int) -> Transform:
    """The sums of so many terms, with 1 over the root of their number, with 2 over the number."""
    if normalization == 0:
        return transform
    n = math.prod(sizes)
    return lambda x: transform(x).div_(n if normalization == 2 else math.sqrt(n))


@override("_fft_c2c", **ANY_DTYPE)
def _(self: torch.Tensor, dim: list[int], normalization: int, forward: bool) -> torch.Tensor:
    if not dim:
        return self.clone()
    dims = _checked(self, dim, torch.complex64, torch.complex128)
    order = _batch(self, dims) + _by_stride(self, dims)
    result, transform = self.resolve_conj(), steps.transform if forward else steps.inverse
    for d in dims[:0:-1]:
        result = _along(result, d, order, transform)
    sizes = [self.shape[d] for d in dims]
    return _lying(_along(result, dims[0], order, _divided(transform, sizes, normalization)), order)


def _paired(x: torch.Tensor, last: int) -> torch.Tensor:
    """Numbers of even places as real parts, the others as imaginary ones."""
    return torch.complex(*x.unflatten(last, (-1, 2)).unbind(last + 1))


def _unpaired(z: torch.Tensor, order: list[int]) -> torch.Tensor:
    """The numbers of pairs along the last dimension of this order, which is that in memory."""
    return _in_place(torch.view_as_real(z.permute(order).contiguous()).flatten(-2), order)


def _whole(half: torch.Tensor, n: int, dims: list[int]) -> torch.Tensor:
    """With the other half of the last dimension: the conjugates at the negated places."""
    last = dims[-1]
    other = half.narrow(last, 1, (n - 1) // 2).flip(dims)
    others = [d for d in dims if d != last]
    return torch.cat([half, (other.roll([1] * len(others), others) if others else other).conj()], last)


@override("_fft_r2c", **ANY_DTYPE)
def _(self: torch.Tensor, dim: list[int], normalization: int, onesided: bool) -> torch.Tensor:
    dims = _checked(self, dim, torch.float32, torch.float64)
    last, n = dims[-1], self.shape[dims[-1]]
    order = [*_batch(self, dims), *_by_stride(self, dims[:-1]), last]
    transforms: list[Transform] = [steps.of_real if n % 2 else steps.of_pairs, *[steps.transform] * (len(dims) - 1)]
    transforms[-1] = _divided(transforms[-1], [self.shape[d] for d in dims], normalization)
    result = self if n % 2 else _paired(self, last)
    for d, transform in zip(reversed(dims), transforms, strict=True):
        result = _along(result, d, order, transform)
    return _lying(result if onesided else _whole(result, n, dims), order)


def _of_halves(n: int) -> Transform:
    """To real numbers. Of the first number, and of an even length the last one, only the real part is read."""

    def transform(x: torch.Tensor) -> torch.Tensor:
        x[1, 0] = 0
        if n % 2:
            return steps.to_real(x)
        x[1, -1] = 0
        return steps.to_pairs(x)

    return transform


@override("_fft_c2r", **ANY_DTYPE)
def _(self: torch.Tensor, dim: list[int], normalization: int, last_dim_size: int) -> torch.Tensor:
    dims = _checked(self, dim, torch.complex64, torch.complex128)
    last, n = dims[-1], last_dim_size
    if n < 1 or self.shape[last] != n // 2 + 1:
        raise RuntimeError(f"[fft] {n} real numbers come of {n // 2 + 1} complex ones, not of {self.shape[last]}")
    others = dims[:-1]
    source = torch.ops.aten._fft_c2c(self, others, normalization, False) if others else self.resolve_conj()
    order = [*_batch(source, [last]), last]
    result = _along(source, last, order, _divided(_of_halves(n), [n], normalization))
    return _lying(result, order) if n % 2 else _unpaired(result, order)


def _into(transform: Transform) -> Transform:
    """A transform into `out`, which torch's own leaves as it was where a single dimension is transformed."""

    def transformed_into(self: torch.Tensor, *args: Any, out: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        return fill(out, transform(self, *args, **kwargs))

    return transformed_into


override("fft_ihfft2.out", **ANY_DTYPE)(_into(torch.fft.ihfft2))
override("fft_ihfftn.out", **ANY_DTYPE)(_into(torch.fft.ihfftn))
