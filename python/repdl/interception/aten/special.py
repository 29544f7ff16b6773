# SPDX-License-Identifier: MIT
"""Special functions: ops of the core, and others that are computed in float64, in steps, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from repdl.interception import core
from repdl.interception.native import native_of
from repdl.interception.override import ANY_DTYPE, COMPLEX, float64_ops, kinds_of, override
from repdl.interception.strict import not_reproducible


def in_float64(name: str, compute: Callable[..., torch.Tensor], elementwise: bool = True) -> None:
    """Declares a function of tensors of float64, and of numbers beside them, for tensors of all real types."""
    override(name, elementwise=elementwise, **ANY_DTYPE)(widening(name, compute))


def widening(name: str, compute: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The kernel for tensors of all real types, given a function of float64.

    Beside tensors that are not of float64, numbers are rounded to float32 first.
    """
    native = native_of(name)

    def kernel(*args: Any) -> torch.Tensor:
        if kinds_of(args) & COMPLEX:
            return not_reproducible(name, args, {}, native, "dtype")
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        dtype = tensors[0].dtype if len(tensors) == 1 else torch.result_type(*args)
        if not dtype.is_floating_point:
            dtype = torch.float32
        return compute(*(_widened(a, dtype) for a in args)).to(dtype)

    return kernel


def _widened(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64)
    is_narrow = isinstance(value, float) and dtype != torch.float64
    return torch.full((), value, dtype=torch.float32).item() if is_narrow else value


_OF_CORE = {
    "digamma": "digamma",
    "i0": "i0",
    "lgamma": "lgamma",
    "special_bessel_j0": "bessel_j0",
    "special_bessel_j1": "bessel_j1",
    "special_bessel_y0": "bessel_y0",
    "special_bessel_y1": "bessel_y1",
    "special_erfcx": "erfcx",
    "special_i0e": "i0e",
    "special_i1": "i1",
    "special_i1e": "i1e",
    "special_log_ndtr": "log_ndtr",
    "special_modified_bessel_i0": "i0",
    "special_modified_bessel_i1": "i1",
    "special_modified_bessel_k0": "modified_bessel_k0",
    "special_modified_bessel_k1": "modified_bessel_k1",
    "special_ndtri": "ndtri",
    "special_scaled_modified_bessel_k0": "scaled_modified_bessel_k0",
    "special_scaled_modified_bessel_k1": "scaled_modified_bessel_k1",
    "special_spherical_bessel_j0": "spherical_bessel_j0",
}
for _name, _op in _OF_CORE.items():
    override(_name, op=_op, low="compute", wide="float64", integers="float32", elementwise=True)(core.ops[_op])

for _name in ("igamma", "igammac", "special_zeta"):
    in_float64(_name, float64_ops[_name.removeprefix("special_")])
for _name in ("special_zeta.other_scalar", "special_zeta.self_scalar"):
    in_float64(_name, float64_ops["zeta"])


@override("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta", **ANY_DTYPE)
def _(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: torch.dtype | None = None, **_kwargs: Any
) -> torch.Tensor:
    """I_0(beta sqrt(1 - x^2)) / I_0(beta), x from -1 to 1."""
    dtype = dtype or torch.get_default_dtype()
    if window_length < 0 or not dtype.is_floating_point:
        raise RuntimeError(
            f"kaiser_window requires a length of 0 or more and a real type, got {window_length}, {dtype}"
        )
    if window_length < 2:
        return torch.ones(window_length, dtype=dtype)
    steps = window_length - 1 + periodic
    x = torch.arange(window_length, dtype=torch.float64) * 2 / steps - 1
    window = float64_ops["i0"](float64_ops["sqrt"](1 - x * x) * beta)
    return (window / float64_ops["i0"](torch.full((), beta, dtype=torch.float64))).to(dtype)
