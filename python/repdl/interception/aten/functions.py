# SPDX-License-Identifier: MIT
"""Functions of one or two numbers that are ops of the core, and their gradients."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import torch

from repdl.interception import core as _core
from repdl.interception.aten import random
from repdl.interception.native import LOW_DTYPES, native_of
from repdl.interception.operands import alike
from repdl.interception.ops_by_dtype import Ops, complex_ops, ops_of
from repdl.interception.override import override
from repdl.interception.strict import not_reproducible
from repdl.interception.strides import orders_of

_POINTWISE = {"elementwise": True}

_POLYNOMIALS = (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)


def _binary(name: str, op: str, integers: str = "float32") -> None:
    def kernel(self: Any, other: Any, ops: Ops = _core.ops) -> torch.Tensor:
        return ops[op](*alike(self, other))

    pairs = f"complex_{op}"
    of_complex = {"pairs": pairs, "complex": True} if pairs in _core.ops else {}
    override(name, op=op, low="compute", wide="float64", integers=integers, **of_complex, **_POINTWISE)(kernel)


_binary("atan2", "atan2")
_binary("igamma", "igamma")
_binary("igammac", "igammac")
for _name in ("hypot", "logaddexp", "logaddexp2"):
    _binary(_name, _name, integers="native")  # which refuses them
for _name in ("special_xlog1py", "special_xlog1py.other_scalar", "special_xlog1py.self_scalar"):
    _binary(_name, "xlog1py")
for _name in ("special_zeta", "special_zeta.self_scalar", "special_zeta.other_scalar"):
    _binary(_name, "zeta")
for _name in ("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other"):
    _binary(_name, "xlogy")

for _kind in ("", ".x_scalar", ".n_scalar"):
    for _name in _POLYNOMIALS:
        _binary(f"special_{_name}{_kind}", _name)


_native_power, _native_powers = native_of("pow.Tensor_Scalar"), native_of("pow.Tensor_Tensor")


@override(
    "pow.Tensor_Tensor",
    op="pow",
    pairs="complex_pow",
    low="compute",
    wide="float64",
    complex=True,
    integers="compute",
    **_POINTWISE,
)
def pow_tensor_tensor(self: Any, exponent: Any) -> torch.Tensor:
    """Of integers and a number that is none, too: it comes as a number."""
    dtype = torch.result_type(self, exponent)
    if not (dtype.is_floating_point or dtype.is_complex):
        return _native_powers(self, exponent)
    base, power = alike(self, exponent)
    return ops_of(base)["pow"](base, power)


_LARGEST_PRODUCT = 8
"""Up to here an integral power of complex numbers is a product from left to right, each step rounded."""


_POWERS = {"square": {1: 2}, "cube": {1: 3}}


@override("pow.Tensor_Scalar", low="compute", wide="compute", integers="compute", of_constants=_POWERS, **_POINTWISE)
def pow_tensor_scalar(self: torch.Tensor, exponent: Any) -> torch.Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        dtype = torch.result_type(self, exponent)
        if not (dtype.is_floating_point or dtype.is_complex):
            return _native_power(self, exponent)
        self = self.to(dtype)
    if exponent == 1:
        return self.clone()
    if exponent == 2:
        return self * self
    if exponent == 3:
        return (self * self).mul_(self) if self.dtype not in LOW_DTYPES else _core.ops["cube"](self)
    if exponent == -1:
        return self.reciprocal()
    if self.is_complex():
        if exponent == 0:
            return torch.ones_like(self)
        if exponent in range(_LARGEST_PRODUCT + 1):
            return reduce(torch.mul, [self] * int(exponent))
        if exponent in range(-_LARGEST_PRODUCT, 0):
            return torch.pow(self, -exponent).reciprocal()
        if self.dtype == torch.complex32:
            return not_reproducible("pow.Tensor_Scalar", (self, exponent), {}, _native_power, "dtype")
        if exponent == 0.5:
            return complex_ops["sqrt"](self)
    if self.is_complex() or isinstance(exponent, complex):
        return complex_ops["pow"](*alike(self, exponent))
    if exponent == 0.5:
        return ops_of(self)["sqrt"](self)
    return ops_of(self)["pow"](*alike(self, exponent))


@override("pow.Scalar", low="compute", wide="float64", complex=True)
def pow_scalar(self: Any, exponent: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    if exponent.is_complex() or isinstance(self, complex):
        return complex_ops["pow"](*alike(self, exponent))
    return ops["pow"](*alike(self, exponent)).to(exponent.dtype)


# Gradients, and functions with further numbers.


_GELU = {"none": "gelu", "tanh": "gelu_tanh"}


def _checked(approximate: str) -> str:
    if approximate not in _GELU:
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return approximate


@override("gelu", op="gelu", low="compute", wide="float64", converts=False, **_POINTWISE)
def gelu(self: torch.Tensor, *, approximate: str = "none", ops: Ops = _core.ops) -> torch.Tensor:
    return ops[_GELU[_checked(approximate)]](self)


@override("gelu_backward", op="gelu_grad", wide="float64", **_POINTWISE)
def gelu_backward(
    grad_output: torch.Tensor, self: torch.Tensor, *, approximate: str = "none", ops: Ops = _core.ops
) -> torch.Tensor:
    return ops[f"{_GELU[_checked(approximate)]}_grad"](grad_output, self)


@override("log_sigmoid_forward", low="compute", wide="float64")
def log_sigmoid_forward(self: torch.Tensor, *, ops: Ops = _core.ops) -> tuple[torch.Tensor, torch.Tensor]:
    """The second result is for torch's own gradient, where the program asks for it after `disable()`."""
    return ops["logsigmoid"](self), ops["exp"](self.copysign(-1)) if self.requires_grad else self.new_zeros(0)


@override("log_sigmoid_backward", wide="float64")
def log_sigmoid_backward(
    grad_output: torch.Tensor, self: torch.Tensor, buffer: torch.Tensor, *, ops: Ops = _core.ops
) -> torch.Tensor:
    return ops["logsigmoid_grad"](*torch.broadcast_tensors(grad_output, self))


@override(
    "softplus", op="softplus", low="compute", wide="float64", constants={1: 1, 2: 20}, converts=False, **_POINTWISE
)
def softplus(self: torch.Tensor, beta: Any = 1, threshold: Any = 20, *, ops: Ops = _core.ops) -> torch.Tensor:
    if beta == 1 and threshold == 20:
        return ops["softplus"](self)
    return ops["scaled_softplus"](self, beta, threshold)


@override("softplus_backward", op="softplus_grad", wide="float64", constants={2: 1, 3: 20}, **_POINTWISE)
def softplus_backward(
    grad_output: torch.Tensor, self: torch.Tensor, beta: Any, threshold: Any, *, ops: Ops = _core.ops
) -> torch.Tensor:
    if beta == 1 and threshold == 20:
        return ops["softplus_grad"](grad_output, self)
    return ops["scaled_softplus_grad"](grad_output, self, beta, threshold)


@override("glu", op="glu", low="compute", wide="float64", contiguous=True)
def glu(self: torch.Tensor, dim: int = -1, *, ops: Ops = _core.ops) -> torch.Tensor:
    """The strides of the result are those of the halves, in order."""
    rank = self.dim()
    if self.is_contiguous() or not -rank <= dim < rank:
        return ops["glu"](self, dim)
    order, back = orders_of(self.narrow(dim, 0, self.shape[dim] // 2))
    return ops["glu"](self.permute(order), back[dim]).permute(back)


@override("glu_backward", op="glu_grad", low="compute", wide="float64")
def glu_backward(grad_output: torch.Tensor, self: torch.Tensor, dim: int, *, ops: Ops = _core.ops) -> torch.Tensor:
    return ops["glu_grad"](grad_output, self, dim)


@override("glu_jvp", low="compute", wide="float64")
def glu_jvp(glu: torch.Tensor, x: torch.Tensor, dx: torch.Tensor, dim: int, *, ops: Ops = _core.ops) -> torch.Tensor:
    """Each half of the tangent, times the derivative by that half."""
    by_first, by_second = (ops["glu_grad"](half, x, dim).chunk(2, dim)[i] for i, half in enumerate(dx.chunk(2, dim)))
    return by_first + by_second


@override("logit", op="logit", low="compute", integers="float32", wide="float64", constants={1: None}, **_POINTWISE)
def logit(self: torch.Tensor, eps: float | None = None, *, ops: Ops = _core.ops) -> torch.Tensor:
    """Of numbers that are first held in [eps, 1 - eps], if it is given: as torch has it, those below eps become eps,
    of the others those above 1 - eps become that; NaN holds none."""
    if eps is None or math.isnan(eps):
        return ops["logit"](self)
    if eps <= 0.5:
        return ops["logit"](ops["clamp"](self, eps, 1 - eps))
    return ops["logit"](torch.where(self < eps, eps, torch.where(self > 1 - eps, 1 - eps, self)))


def _are_of_two_types(abs: torch.Tensor, angle: torch.Tensor) -> bool:
    return abs.dtype != angle.dtype


@override("polar", wide="float64", low="compute", refused=_are_of_two_types, converts=False, **_POINTWISE)
def polar(abs: torch.Tensor, angle: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    """abs * cos(angle) + abs * sin(angle) i. Each part of float16 is rounded once, to complex32."""
    dtype = abs.dtype
    if dtype == torch.bfloat16:
        return torch.complex(abs, angle)  # which says what is wrong
    abs, angle = (t.to(torch.float32) if dtype == torch.float16 else t for t in (abs, angle))
    parts = (ops["mul"](abs, ops[name](angle)).to(dtype) for name in ("cos", "sin"))
    return torch.complex(*parts)


_native_rrelu = native_of("rrelu_with_noise")


@override("rrelu_with_noise", low="compute", wide="float64")
def rrelu_with_noise(
    self: torch.Tensor,
    noise: torch.Tensor,
    lower: Any = 1 / 8,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> torch.Tensor:
    """x above 0, else x times a slope: the noise, drawn by `uniform_`; or, unless training, the mean slope."""
    if training:
        if random.stream == "torch":  # which draws for numbers up to 0 alone, one after another
            args = (self, noise, lower, upper, training, generator)
            return not_reproducible("rrelu_with_noise", args, {}, _native_rrelu, "random")
        slopes = torch.empty_like(self).uniform_(lower, upper, generator=generator)
        noise.copy_(torch.where(self > 0, torch.ones_like(self), slopes))
        return _core.ops["mul"](self, noise)
    return torch.nn.functional.leaky_relu(self, (lower + upper) / 2).contiguous()
