# SPDX-License-Identifier: MIT
"""torch.fft: which dimensions are transformed, and how the results lie in memory. The ops of the core do the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl import _core
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.variants import fill

_RANKS = 8
"""Dimensions of a tensor of the core, which has one for the parts of complex numbers."""


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


def _transformed(name: str, self: torch.Tensor, order: list[int], dims: list[int], *args: Any) -> torch.Tensor:
    """The result of the op of the core, whose dimensions lie in this order in memory."""
    x, places, turned = self.resolve_conj().resolve_neg(), dims, order != sorted(order)
    if turned:
        x, places = x.permute(order), [order.index(d) for d in dims]
    first = min(places)
    batch = x.shape[:first]
    if x.dim() >= _RANKS and first > 1:
        x, places = x.flatten(0, first - 1), [at - first + 1 for at in places]
    result = _core.ops[name](torch.view_as_real(x) if x.is_complex() else x, places, *args)
    if name != "fft_c2r":
        result = torch.view_as_complex(result)
    if result.dim() < len(order):
        result = result.unflatten(0, batch)
    return result.permute([order.index(d) for d in range(len(order))]) if turned else result


_ORDINARY: dict[str, Any] = {**ANY_DTYPE, "contiguous": True, "last_dims": "dim"}
"""Calls whose results lie as the core makes them, of which the last dimensions are transformed."""


@override("_fft_c2c", pairs="fft_c2c", **_ORDINARY)
def _fft_c2c(self: torch.Tensor, dim: list[int], normalization: int, forward: bool) -> torch.Tensor:
    if not dim:
        return self.clone()
    dims = _checked(self, dim, torch.complex64, torch.complex128)
    order = _batch(self, dims) + _by_stride(self, dims)
    return _transformed("fft_c2c", self, order, dims, normalization, forward)


@override("_fft_r2c", pairs="fft_r2c", from_real=True, **_ORDINARY)
def _fft_r2c(self: torch.Tensor, dim: list[int], normalization: int, onesided: bool) -> torch.Tensor:
    dims = _checked(self, dim, torch.float32, torch.float64)
    order = [*_batch(self, dims), *_by_stride(self, dims[:-1]), dims[-1]]
    return _transformed("fft_r2c", self, order, dims, normalization, onesided)


@override("_fft_c2r", pairs="fft_c2r", to_real=True, **_ORDINARY)
def _fft_c2r(self: torch.Tensor, dim: list[int], normalization: int, last_dim_size: int) -> torch.Tensor:
    dims = _checked(self, dim, torch.complex64, torch.complex128)
    *others, last = dims
    before = _batch(self, others) + _by_stride(self, others)  # the last dimension is of the batch of the others
    order = [*(d for d in before if d != last), last]
    return _transformed("fft_c2r", self, order, dims, normalization, last_dim_size)


Transform = Callable[..., torch.Tensor]


def _into(transform: Transform) -> Transform:
    """A transform into `out`, which torch's own leaves as it was where a single dimension is transformed."""

    def transformed_into(self: torch.Tensor, *args: Any, out: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        return fill(out, transform(self, *args, **kwargs))

    return transformed_into


override("fft_ihfft2.out", **ANY_DTYPE)(_into(torch.fft.ihfft2))
override("fft_ihfftn.out", **ANY_DTYPE)(_into(torch.fft.ihfftn))
