# SPDX-License-Identifier: MIT
"""Functions of one or two numbers, correctly rounded, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from typing import Any

import torch

from repdl import _core
from repdl.interception.aten import random
from repdl.interception.native import native_of
from repdl.interception.override import WIDE, kinds_of, override
from repdl.interception.strict import not_reproducible

_POINTWISE = {"elementwise": True}

# torch's names are those of the ops, which take low precision themselves.
_OF_ONE_NUMBER = """
    acos acosh asin asinh atan atanh cos cosh erf erfc erfinv exp exp2 expm1 log log10 log1p log2 mish rsqrt sigmoid
    silu sin sinh sqrt tan tanh
"""
for _name in _OF_ONE_NUMBER.split():
    override(_name, op=_name, low="compute", integers="float32", **_POINTWISE)(_core.ops[_name])


def _alike(*operands: Any) -> Iterator[torch.Tensor]:
    """The operands in the type that torch gives the result of both; of integers, float32."""
    dtype = torch.result_type(*operands)
    if not dtype.is_floating_point:
        dtype = torch.float32
    for value in operands:
        yield value.to(dtype) if isinstance(value, torch.Tensor) else torch.full((), value, dtype=torch.float32)


def _binary(name: str, op: str) -> None:
    def kernel(self: Any, other: Any) -> torch.Tensor:
        return _core.ops[op](*_alike(self, other))

    override(name, op=op, low="compute", integers="float32", **_POINTWISE)(kernel)


_binary("atan2", "atan2")
_binary("hypot", "hypot")
_binary("logaddexp", "logaddexp")
for _name in ("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other"):
    _binary(_name, "xlogy")


@override("pow.Tensor_Tensor", op="pow", low="compute", **_POINTWISE)
def _(self: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return _core.ops["pow"](*_alike(self, exponent))


_native_power = native_of("pow.Tensor_Scalar")
_LARGEST_PRODUCT = 8
"""Up to here an integral power of float64 or complex numbers is a product from left to right, each step rounded."""


@override("pow.Tensor_Scalar", low="compute", wide="compute", **_POINTWISE)
def _(self: torch.Tensor, exponent: Any) -> torch.Tensor:
    if exponent == 1:
        return self.clone()
    if exponent == 2:
        return self * self
    if exponent == 3:
        return self * self * self
    if exponent == -1:
        return self.reciprocal()
    if kinds_of((self,)) & WIDE:
        if exponent == 0:
            return torch.ones_like(self)
        if exponent in range(_LARGEST_PRODUCT + 1):
            return reduce(torch.mul, [self] * int(exponent))
        if exponent in range(-_LARGEST_PRODUCT, 0):
            return torch.pow(self, -exponent).reciprocal()
        return not_reproducible("pow.Tensor_Scalar", (self, exponent), {}, _native_power, "dtype")
    if exponent == 0.5:
        return _core.ops["sqrt"](self)
    return _core.ops["pow"](*_alike(self, exponent))


@override("pow.Scalar", low="compute")
def _(self: Any, exponent: torch.Tensor) -> torch.Tensor:
    return _core.ops["pow"](*_alike(self, exponent)).to(exponent.dtype)


# Gradients, and functions with further numbers.


@override("gelu", op="gelu", low="compute", **_POINTWISE)
def _(self: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    return _core.ops["gelu_tanh" if approximate == "tanh" else "gelu"](self)


@override("gelu_backward", op="gelu_grad", **_POINTWISE)
def _(grad_output: torch.Tensor, self: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    return _core.ops["gelu_tanh_grad" if approximate == "tanh" else "gelu_grad"](grad_output, self)


for _name in ("mish", "sigmoid", "silu", "tanh"):
    override(_name + "_backward", op=_name + "_grad", **_POINTWISE)(_core.ops[_name + "_grad"])


@override("log_sigmoid_forward")
def _(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return _core.ops["logsigmoid"](self), self.new_empty(0)


@override("log_sigmoid_backward")
def _(grad_output: torch.Tensor, self: torch.Tensor, buffer: torch.Tensor) -> torch.Tensor:
    return _core.ops["logsigmoid_grad"](*torch.broadcast_tensors(grad_output, self))


@override("elu", **_POINTWISE)
def _(self: torch.Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> torch.Tensor:
    """scale * x above zero, (alpha * scale) * expm1(input_scale * x) below."""
    below = _core.ops["expm1"](self if input_scale == 1 else self * input_scale) * (alpha * scale)
    return torch.where(self > 0, self if scale == 1 else self * scale, below)


@override("elu_backward", **_POINTWISE)
def _(
    grad_output: torch.Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: torch.Tensor
) -> torch.Tensor:
    x, factor = self_or_result, alpha * scale
    if is_result:
        below = grad_output * input_scale * (x + factor)
    else:
        below = grad_output * (input_scale * factor) * _core.ops["exp"](x * input_scale)
    return torch.where(x <= 0, below, grad_output * scale)


@override("softplus", **_POINTWISE)
def _(self: torch.Tensor, beta: Any = 1, threshold: Any = 20) -> torch.Tensor:
    scaled = self if beta == 1 else self * beta
    soft = _core.ops["softplus"](scaled)
    return torch.where(scaled > threshold, self, soft if beta == 1 else soft / beta)


@override("softplus_backward", **_POINTWISE)
def _(grad_output: torch.Tensor, self: torch.Tensor, beta: Any, threshold: Any) -> torch.Tensor:
    scaled = self if beta == 1 else self * beta
    return torch.where(scaled > threshold, grad_output, grad_output * _core.ops["sigmoid"](scaled))


@override("glu")
def _(self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    value, gate = self.chunk(2, dim)
    return value * _core.ops["sigmoid"](gate)


@override("glu_backward")
def _(grad_output: torch.Tensor, self: torch.Tensor, dim: int) -> torch.Tensor:
    value, gate = self.chunk(2, dim)
    open_ = _core.ops["sigmoid"](gate)
    return torch.cat((open_ * grad_output, (1 - open_) * open_ * grad_output * value), dim)


@override("logit", **_POINTWISE)
def _(self: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    """log(x / (1 - x)), x held in [eps, 1 - eps]."""
    x = self if eps is None else self.clamp(eps, 1 - eps)
    return _core.ops["log"](x / (1 - x))


@override("logit_backward", **_POINTWISE)
def _(grad_output: torch.Tensor, self: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    inside = grad_output / (self * (1 - self))
    if eps is None:
        return torch.where((self < 0) | (self > 1), torch.full_like(inside, float("nan")), inside)
    return torch.where((self < eps) | (self > 1 - eps), torch.zeros_like(inside), inside)


# Made of other functions.


@override("sinc", integers="float32", **_POINTWISE)
def _(self: torch.Tensor) -> torch.Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    return torch.where(self == 0, torch.ones_like(self), _core.ops["sinpi"](self) / (self * math.pi))


@override("logaddexp2", **_POINTWISE)
def _(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """max + log1p(2^-|x - y|) / log(2)."""
    self, other = _alike(self, other)
    larger = torch.maximum(self, other)
    more = _core.ops["log1p"](_core.ops["exp2"]((self - other).abs().neg())) * (1 / math.log(2))
    return torch.where(self == other, self + 1, larger + more)


@override("special_entr", integers="float32", **_POINTWISE)
def _(self: torch.Tensor) -> torch.Tensor:
    """-x log(x); -inf below 0."""
    inside = _core.ops["xlogy"](self, self).neg()
    return torch.where(self < 0, torch.full_like(inside, -math.inf), inside)


@override(
    "special_xlog1py", "special_xlog1py.other_scalar", "special_xlog1py.self_scalar", integers="float32", **_POINTWISE
)
def _(self: Any, other: Any) -> torch.Tensor:
    """x log1p(y); 0 where x is, unless y is NaN."""
    x, y = _alike(self, other)
    product = x * _core.ops["log1p"](y)
    return torch.where((x == 0) & ~y.isnan(), torch.zeros_like(product), product)


@override("polar")
def _(abs: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    return torch.complex(abs * _core.ops["cos"](angle), abs * _core.ops["sin"](angle))


_native_rrelu = native_of("rrelu_with_noise")


@override("rrelu_with_noise", low="compute")
def _(
    self: torch.Tensor,
    noise: torch.Tensor,
    lower: Any = 1 / 8,
    upper: Any = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> torch.Tensor:
    if training:
        if random.stream == "torch":  # which draws for numbers up to 0 alone, one after another
            args = (self, noise, lower, upper, training, generator)
            return not_reproducible("rrelu_with_noise", args, {}, _native_rrelu, "random")
        slopes = torch.empty_like(self).uniform_(lower, upper, generator=generator)
        noise.copy_(torch.where(self > 0, torch.ones_like(self), slopes))
        return self * noise
    return torch.nn.functional.leaky_relu(self, (lower + upper) / 2).contiguous()


@override("softshrink", **_POINTWISE)
def _(self: torch.Tensor, lambd: Any = 0.5) -> torch.Tensor:
    """Towards 0 by lambd, +0 within it. torch's own gives -0 there in some layouts."""
    outside = torch.where(self > 0, self - lambd, self + lambd)
    return torch.where(self.abs() <= lambd, torch.zeros_like(outside), outside)
