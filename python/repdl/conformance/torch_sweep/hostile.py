# SPDX-License-Identifier: MIT
"""Numbers that find what ordinary ones do not: zeros of both signs, ties, halves, NaN, infinities, subnormals.

They are drawn from a counter by integer arithmetic, so that every process, in every setting, gets the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from repdl.conformance.layouts import is_dense
from repdl.conformance.torch_sweep.samples import Sample

KINDS = ("special", "zeros", "sizes", "ties")
"""zeros: nothing but zeros, of both signs at random.

ties: a few small numbers and halves, zeros of both signs, indices that come twice, scalars that round.

special: NaN, infinities, subnormals, numbers near overflow and halfway between others, in a quarter of all places.
sizes: the numbers that were there, times powers of two of many sizes, and zeros and subnormals; no NaN.
"""


def counted(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Random bits of SplitMix64."""
    with np.errstate(over="ignore"):
        z = (np.arange(count, dtype=np.uint64) + np.uint64(seed * 1_000_003 + 1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


_ZEROS = (0.0, -0.0)
_TIES = (0.0, -0.0, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.0, 0.25, -0.75, 2.0)


def _special(dtype: torch.dtype) -> list[float]:
    info = torch.finfo(dtype)
    least, top, eps = info.smallest_normal, info.max, info.eps
    return [
        float("nan"), float("inf"), float("-inf"), 0.0, -0.0, least, -least, least * eps, -least * eps,
        least * (1 - eps), least / 2, top, -top, top / 2, top * (1 - eps), 1 + eps, 1 - eps / 2, -(1 + eps),
        1 / eps + 1, 0.5, 1.5, 2.5, -0.5, -2.5, 0.3, 1e-3, 88.0, -88.0, 104.0, 700.0, -745.0, 3.1415926535897931, 1e5,
    ]  # fmt: skip


def values(x: torch.Tensor, kind: str, seed: int) -> torch.Tensor:
    """A tensor of the shape and dtype of x, of other numbers."""
    if x.is_complex():
        parts = torch.view_as_real(x.resolve_conj())
        return torch.view_as_complex(values(parts.contiguous(), kind, seed))
    count, bits = x.numel(), counted(x.numel(), seed)
    if kind == "sizes":
        info = torch.finfo(x.dtype)
        span = 6 if info.bits == 16 else 20
        scale = np.ldexp(1.0, (bits % np.uint64(2 * span)).astype(np.int64).astype(np.int32) - span)
        old = x.detach().double().contiguous().numpy().reshape(-1)
        new = np.asarray(old * scale)
        new[bits >> np.uint64(58) == 0] = info.smallest_normal / 4
        new[bits >> np.uint64(58) == 1] = -0.0
        return torch.from_numpy(new).to(x.dtype).reshape(x.shape)
    pool = np.array({"zeros": _ZEROS, "ties": _TIES}.get(kind) or _special(x.dtype))
    chosen = _converted(torch.from_numpy(pool[(bits % np.uint64(len(pool))).astype(np.int64)]), x.dtype)
    if kind == "special":
        keep = torch.from_numpy((bits >> np.uint64(60)).astype(np.int64)) > 3
        chosen = torch.where(keep, x.detach().reshape(-1), chosen)
    return chosen.reshape(x.shape) if count else x


def _converted(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """In another type, every NaN the positive quiet one, as signbit and hash_tensor see its sign.

    Of a NaN torch's vectors make a negative one of bfloat16, and its code for single numbers a positive one.
    """
    return x.to(dtype).masked_fill_(x.isnan(), float("nan"))


def _integers(x: torch.Tensor, kind: str, seed: int) -> torch.Tensor:
    """Small ones with ties, or some near overflow; not the least, which divided by -1 is an error of the CPU."""
    info = torch.iinfo(x.dtype)
    small = [0, 1, 2, 3, 0, 1, 5, 7] + ([-1, -2, -3, -7] if info.min < 0 else [])
    pool = np.array(small if kind == "ties" else [*small, info.max, info.max - 1, -info.max if info.min < 0 else 9])
    bits = counted(x.numel(), seed)
    return torch.from_numpy(pool[(bits % np.uint64(len(pool))).astype(np.int64)]).to(x.dtype).reshape(x.shape)


_SCALES = ("alpha", "beta", "value", "weight", "eps", "lambd", "negative_slope", "scale")


def hostile(sample: Sample, kind: str, dtype: torch.dtype) -> Sample | None:
    """The call with other numbers, or None where it has no tensor to put them in."""
    tensors = sample.tensors()
    floating = dtype.is_floating_point or dtype.is_complex
    if not floating and (kind in ("zeros", "sizes") or dtype == torch.bool):
        return None
    changed, any_changed = [], False
    for i, x in enumerate(tensors):
        new = x
        if is_dense(x) and x.numel() > 1:
            if x.dtype.is_floating_point or x.is_complex():
                new = values(x, kind, i)
            elif not floating and x.dtype == dtype and i == 0:
                new = _integers(x, kind, i)
            elif floating and kind == "ties" and x.dtype in (torch.int64, torch.int32) and bool((x >= 0).all()):
                new = torch.maximum(x - x % 2, x.min())  # indices, within their range
        any_changed |= new is not x
        changed.append(new)
    if not any_changed:
        return None
    result = sample.with_tensors(changed, kind)
    if kind == "ties" and floating:
        args = tuple(x + 0.3 if type(x) is float else x for x in result.args)
        kwargs = {
            name: x + 0.3 if type(x) is float or (name in _SCALES and type(x) is int) else x
            for name, x in result.kwargs.items()
        }
        return Sample(result.label, result.function, args, kwargs, result.reduced, result.in_place, result.out)
    return result
