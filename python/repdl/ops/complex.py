# SPDX-License-Identifier: MIT
"""Functions of complex numbers, which are pairs in a last dimension: as torch.view_as_real makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Op, Sample, Tensor, op, sample
from repdl.ops.elementwise._family import to_shape


@op()
def complex_mul(input: Tensor, other: Tensor) -> Tensor:
    """The product (ac - bd) + (ad + bc)i, each step rounded; the operands are broadcast.

    Args:
        input: float32 or float64, (…, 2): pairs of a real and an imaginary part.
        other: of its type, and of a shape that broadcasts, with a last dimension of size 2.
    """


@op()
def complex_add(input: Tensor, other: Tensor) -> Tensor:
    """The sum; the operands are broadcast. Operands as for `complex_mul`."""


@op()
def complex_sub(input: Tensor, other: Tensor) -> Tensor:
    """The difference; the operands are broadcast. Operands as for `complex_mul`."""


@op(outputs=("grad_input",))
def complex_sigmoid_grad(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of `complex_sigmoid`, from its result. The operands are broadcast, as those of `complex_mul`."""


@op(outputs=("grad_input",))
def complex_silu_grad(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of `complex_silu` by its input. The operands are broadcast, as those of `complex_mul`."""


@op(outputs=("grad_input",))
def complex_tanh_grad(grad_output: Tensor, output: Tensor) -> Tensor:
    """The gradient of `complex_tanh`, from its result. The operands are broadcast, as those of `complex_mul`."""


@op()
def complex_div(input: Tensor, other: Tensor) -> Tensor:
    """The quotient by Smith's method, each step rounded; the operands are broadcast. Operands as for `complex_mul`."""


@op()
def complex_pow(input: Tensor, exponent: Tensor) -> Tensor:
    """exp(exponent * log(input)), each step rounded; the operands are broadcast. Operands as for `complex_mul`."""


@op()
def complex_logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)), computed in float64; the operands are broadcast. Operands as for `complex_mul`."""


@op()
def complex_reciprocal(input: Tensor) -> Tensor:
    """1 over each number, by Smith's method. float32 or float64, (…, 2): pairs of a real and an imaginary part."""


@op()
def complex_abs(input: Tensor) -> Tensor:
    """The absolute values.

    Args:
        input: float32 or float64, (…, 2): pairs of a real and an imaginary part.

    Returns:
        Of its type, (…).
    """


@op()
def complex_angle(input: Tensor) -> Tensor:
    """The angles, in [-pi, pi]. The argument and the result as for `complex_abs`."""


@op()
def complex_neg(input: Tensor) -> Tensor:
    """The numbers with the other sign. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_silu(input: Tensor) -> Tensor:
    """The number times its `complex_sigmoid`. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_sgn(input: Tensor) -> Tensor:
    """Each number over its absolute value, 0 of 0. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_exp(input: Tensor) -> Tensor:
    """e to the power of each number. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_exp2(input: Tensor) -> Tensor:
    """2 to the power of each number. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_expm1(input: Tensor) -> Tensor:
    """exp(input) - 1. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)). float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_log(input: Tensor) -> Tensor:
    """Natural logarithm, of the size and the angle. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_log1p(input: Tensor) -> Tensor:
    """log(1 + input). float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_log2(input: Tensor) -> Tensor:
    """Logarithm to base 2. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_log10(input: Tensor) -> Tensor:
    """Logarithm to base 10. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_sqrt(input: Tensor) -> Tensor:
    """Square root, right of 0. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_rsqrt(input: Tensor) -> Tensor:
    """1 / sqrt(input). float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_sin(input: Tensor) -> Tensor:
    """Sine. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_sinc(input: Tensor) -> Tensor:
    """sin(pi input) / (pi input), 1 at 0, computed in float64. float32 or float64, as for `complex_reciprocal`."""


@op()
def complex_cos(input: Tensor) -> Tensor:
    """Cosine. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_tan(input: Tensor) -> Tensor:
    """Tangent. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_acos(input: Tensor) -> Tensor:
    """Inverse cosine, computed in float64. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_asin(input: Tensor) -> Tensor:
    """Inverse sine, computed in float64. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_atan(input: Tensor) -> Tensor:
    """Inverse tangent, computed in float64. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_acosh(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine, computed in float64. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_asinh(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine, computed in float64. float32 or float64, (…, 2), as for `complex_reciprocal`."""


@op()
def complex_atanh(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent, computed in float64. float32 or float64, (…, 2), as for `complex_reciprocal`."""


# Gradients: of a function f, the gradient times the conjugate of f'.


def conj(z: Any) -> Any:
    import torch

    return torch.stack((z[..., 0], -z[..., 1]), -1)


def _plus(z: Any, number: float) -> Any:
    import torch

    return torch.stack((z[..., 0] + number, z[..., 1]), -1)


def _by_slope(function: Op[..., Any], slope: Callable[[Any], Any], saves: str = "input") -> None:
    """Declares the gradient of a function, whose derivative is `slope` of what is saved."""

    @function.backward(saves=(saves,))
    def _(saved: Any, grad: Any) -> dict[str, Any]:
        return {"input": lambda: complex_mul(grad, conj(slope(getattr(saved, saves))))}


_by_slope(complex_exp, lambda y: y, "output")
_by_slope(complex_exp2, lambda y: y * float(np.log(2)), "output")
_by_slope(complex_expm1, lambda y: _plus(y, 1.0), "output")
_by_slope(complex_log, lambda z: complex_reciprocal(z))
_by_slope(complex_log1p, lambda z: complex_reciprocal(_plus(z, 1.0)))
_by_slope(complex_log2, lambda z: complex_reciprocal(z) * float(1 / np.log(2)))
_by_slope(complex_log10, lambda z: complex_reciprocal(z) * float(1 / np.log(10)))
_by_slope(complex_sqrt, lambda y: complex_reciprocal(y * 2.0), "output")
_by_slope(complex_rsqrt, lambda y: complex_mul(complex_mul(y, y), y) * -0.5, "output")
_by_slope(complex_reciprocal, lambda y: -complex_mul(y, y), "output")
_by_slope(complex_sin, lambda z: complex_cos(z))
_by_slope(complex_cos, lambda z: -complex_sin(z))
_by_slope(complex_tan, lambda y: _plus(complex_mul(y, y), 1.0), "output")
_by_slope(complex_sinh, lambda z: complex_cosh(z))
_by_slope(complex_cosh, lambda z: complex_sinh(z))

_by_slope(complex_asin, lambda z: complex_rsqrt(_plus(-complex_mul(z, z), 1.0)))
_by_slope(complex_acos, lambda z: -complex_rsqrt(_plus(-complex_mul(z, z), 1.0)))
_by_slope(complex_atan, lambda z: complex_reciprocal(_plus(complex_mul(z, z), 1.0)))
_by_slope(complex_asinh, lambda z: complex_rsqrt(_plus(complex_mul(z, z), 1.0)))
_by_slope(complex_acosh, lambda z: complex_mul(complex_rsqrt(_plus(z, -1.0)), complex_rsqrt(_plus(z, 1.0))))
_by_slope(complex_atanh, lambda z: complex_reciprocal(_plus(-complex_mul(z, z), 1.0)))


def _sinc_slope(z: Any) -> Any:
    """(cos(pi z) - sinc(z)) / z, and 0 at 0."""
    slope = complex_div(complex_cos(z * float(np.pi)) - complex_sinc(z), z)
    return slope.masked_fill((z == 0).all(-1, keepdim=True), 0.0)


_by_slope(complex_sinc, _sinc_slope)


@complex_sigmoid.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: complex_sigmoid_grad(grad, saved.output)}


@complex_tanh.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: complex_tanh_grad(grad, saved.output)}


@complex_silu.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: complex_silu_grad(grad, saved.input)}


@complex_neg.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: complex_neg(grad)}


@complex_abs.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: complex_sgn(saved.input) * grad[..., None]}


@complex_angle.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        """g i / conj(z), and 0 at 0."""
        import torch

        z = saved.input
        turned = torch.stack((torch.zeros_like(grad), grad), -1)
        return complex_div(turned, conj(z)).masked_fill((z == 0).all(-1, keepdim=True), 0.0)

    return {"input": grad_input}


@complex_add.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(grad, saved.input_shape),
        "other": lambda: to_shape(grad, saved.other_shape),
    }


@complex_sub.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(grad, saved.input_shape),
        "other": lambda: to_shape(complex_neg(grad), saved.other_shape),
    }


def _by_slopes(function: Op[..., Any], of: str, slope: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
    """Declares the gradient of grad_output times the conjugate of `slope` of an operand; `second` is its derivative."""

    @function.backward(saves=("grad_output", of))
    def _(saved: Any, grad: Any) -> dict[str, Any]:
        x = getattr(saved, of)

        def by_operand() -> Any:
            return complex_mul(complex_mul(conj(grad), saved.grad_output), conj(second(x)))

        return {
            "grad_output": lambda: to_shape(complex_mul(grad, slope(x)), saved.grad_output.shape),
            of: lambda: to_shape(by_operand(), x.shape),
        }


def _silu_slopes(z: Any) -> tuple[Any, Any]:
    """s (1 + z (1 - s)), with s the sigmoid, and its derivative s (1 - s) (2 + z (1 - 2 s))."""
    s = complex_sigmoid(z)
    rest = _plus(-s, 1.0)
    first = complex_mul(s, _plus(complex_mul(z, rest), 1.0))
    return first, complex_mul(complex_mul(s, rest), _plus(complex_mul(z, _plus(s * -2.0, 1.0)), 2.0))


_by_slopes(complex_sigmoid_grad, "output", lambda y: complex_mul(_plus(-y, 1.0), y), lambda y: _plus(y * -2.0, 1.0))
_by_slopes(complex_tanh_grad, "output", lambda y: _plus(-complex_mul(y, y), 1.0), lambda y: y * -2.0)
_by_slopes(complex_silu_grad, "input", lambda z: _silu_slopes(z)[0], lambda z: _silu_slopes(z)[1])


@complex_sgn.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        """(g - y Re(g conj y)) / |z|, and 0 at 0."""
        from repdl.ops.elementwise.arithmetic import hypot

        y, size = saved.output, hypot(saved.input[..., :1], saved.input[..., 1:])
        along = complex_mul(grad, conj(y))[..., :1]
        return ((grad - y * along) / size).masked_fill(size == 0, 0.0)

    return {"input": grad_input}


@complex_mul.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {
        "input": lambda: to_shape(complex_mul(grad, conj(saved.other)), saved.input_shape),
        "other": lambda: to_shape(complex_mul(grad, conj(saved.input)), saved.other_shape),
    }


@complex_div.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_other() -> Any:
        quotient = complex_div(complex_div(saved.input, saved.other), saved.other)
        return to_shape(-complex_mul(grad, conj(quotient)), saved.other_shape)

    return {
        "input": lambda: to_shape(complex_div(grad, conj(saved.other)), saved.input_shape),
        "other": grad_other,
    }


@complex_logaddexp.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def share(x: Any, y: Any) -> Any:
        return to_shape(complex_mul(grad, conj(complex_sigmoid(x - y))), x.shape)

    return {
        "input": lambda: share(saved.input, saved.other),
        "other": lambda: share(saved.other, saved.input),
    }


@complex_pow.backward(saves=("input", "exponent", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    base, exponent, output = saved.input, saved.exponent, saved.output

    def by_base() -> Any:
        slope = complex_mul(exponent, complex_pow(base, _plus(exponent, -1.0)))
        is_zero = (exponent == 0).all(-1, keepdim=True)
        return to_shape(complex_mul(grad, conj(slope)).masked_fill(is_zero, 0.0), saved.input_shape)

    def by_exponent() -> Any:
        slope = complex_mul(output, complex_log(base))
        is_zero = (base == 0).all(-1, keepdim=True) & (exponent[..., :1] >= 0)
        return to_shape(complex_mul(grad, conj(slope)).masked_fill(is_zero, 0.0), saved.exponent_shape)

    return {"input": by_base, "exponent": by_exponent}


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    """Along the first dimension of the result; a single pair has none."""
    shape = np.broadcast_shapes(*(pairs.shape for pairs in arguments.values()))
    if len(shape) == 1:
        return None
    return {name: np.broadcast_to(pairs, shape)[rows] for name, pairs in arguments.items()}


def _samples_of_one() -> Iterator[Sample]:
    for kind in ("normal", "wide", "bits", "tiny"):
        yield sample(input=f"{kind}[150, 2]#1")
    yield sample(input="special[700, 2]#1")  # nearly every pair of the special numbers
    for shape in ("3, 5, 2", "0, 2", "2", "2100, 2"):  # the last one is worth a fork
        yield sample(input=f"normal[{shape}]#3")


def _samples_of_sizes() -> Iterator[Sample]:
    yield from _samples_of_one()
    yield sample(input="normal[8200, 2]#4")  # worth a fork to hypot and atan2, whose kernels these are


def _samples_of_two(first: str, second: str) -> Callable[[], Iterator[Sample]]:
    def make() -> Iterator[Sample]:
        for kind, size in (("normal", 150), ("wide", 150), ("special", 700), ("bits", 150), ("tiny", 150)):
            yield sample(**{first: f"{kind}[{size}, 2]#1", second: f"{kind}[{size}, 2]#2"})
        yield sample(**{first: "normal[2100, 2]#3", second: "normal[2100, 2]#4"})  # worth a fork
        for a, b in (("5, 7, 9, 2", "7, 1, 2"), ("9, 2", "4, 1, 2"), ("20, 2", "2"), ("2", "3, 0, 2"), ("2", "2")):
            yield sample(**{first: f"normal[{a}]#1", second: f"normal[{b}]#2"})

    return make


def _to_numpy(pairs: Any) -> Any:
    return pairs[..., 0] + 1j * pairs[..., 1]


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def oracle(**operands: Any) -> Any:
        result = function(*map(_to_numpy, operands.values()))
        if not np.iscomplexobj(result):
            return result
        return np.stack([result.real, result.imag], -1)

    return oracle


_ONE: Mapping[Op[..., Any], Callable[[Any], Any]] = {
    complex_abs: np.abs,
    complex_acos: np.arccos,
    complex_acosh: np.arccosh,
    complex_angle: np.angle,
    complex_asin: np.arcsin,
    complex_asinh: np.arcsinh,
    complex_atan: np.arctan,
    complex_atanh: np.arctanh,
    complex_cos: np.cos,
    complex_cosh: np.cosh,
    complex_exp: np.exp,
    complex_exp2: np.exp2,
    complex_expm1: np.expm1,
    complex_log: np.log,
    complex_log10: np.log10,
    complex_log1p: np.log1p,
    complex_log2: np.log2,
    complex_neg: lambda z: -z,
    complex_reciprocal: lambda z: 1 / z,
    complex_rsqrt: lambda z: 1 / np.sqrt(z),
    complex_sgn: lambda z: z / np.abs(z),
    complex_sigmoid: lambda z: 1 / (1 + np.exp(-z)),
    complex_silu: lambda z: z / (1 + np.exp(-z)),
    complex_sin: np.sin,
    complex_sinc: np.sinc,
    complex_sinh: np.sinh,
    complex_sqrt: np.sqrt,
    complex_tan: np.tan,
    complex_tanh: np.tanh,
}

for _function, _exact in _ONE.items():
    _function.samples(_samples_of_one)
    _function.oracle(_of_numpy(_exact))
    _function.rows(_rows)
for _function in (complex_abs, complex_angle):
    _function.samples(_samples_of_sizes)


def logaddexp(x: Any, y: Any) -> Any:
    larger, smaller = np.where(x.real < y.real, y, x), np.where(x.real < y.real, x, y)
    return np.log1p(np.exp(smaller - larger)) + larger


_TWO: Mapping[Op[..., Any], Callable[[Any, Any], Any]] = {
    complex_add: lambda x, y: x + y,
    complex_div: lambda x, y: x / y,
    complex_logaddexp: lambda x, y: logaddexp(x, y),
    complex_mul: lambda x, y: x * y,
    complex_sub: lambda x, y: x - y,
}
_OF_OUTPUT: Mapping[Op[..., Any], Callable[[Any, Any], Any]] = {
    complex_sigmoid_grad: lambda grad, y: grad * np.conj((1 - y) * y),
    complex_tanh_grad: lambda grad, y: grad * np.conj(1 - y * y),
}
_OF_INPUT: Mapping[Op[..., Any], Callable[[Any, Any], Any]] = {
    complex_silu_grad: lambda grad, z: grad * np.conj((1 + z - z / (1 + np.exp(-z))) / (1 + np.exp(-z))),
}
for _names, _functions in (
    (("input", "other"), _TWO),
    (("grad_output", "output"), _OF_OUTPUT),
    (("grad_output", "input"), _OF_INPUT),
):
    for _function, _of_two in _functions.items():
        _function.samples(_samples_of_two(*_names))
        _function.oracle(_of_numpy(_of_two))
        _function.rows(_rows)


@complex_pow.samples
def _() -> Iterator[Sample]:
    yield from _samples_of_two("input", "exponent")()
    yield sample(input="zeros[20, 2]#1", exponent="normal[20, 2]#2")


complex_pow.rows(_rows)
complex_pow.oracle(_of_numpy(lambda x, y: x**y))
