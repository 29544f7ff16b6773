# SPDX-License-Identifier: MIT
"""Trigonometric functions and their inverses, of angles in radians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from repdl._op import Tensor, op
from repdl.ops.elementwise._family import binary_samples, takes_numbers, to_shape, unary_samples
from repdl.ops.elementwise.arithmetic import div, rsqrt


@op(aten=["sin"])
def sin(input: Tensor) -> Tensor:
    """Sine of each element, correctly rounded, however large. Any shape."""


@op(aten=["cos"])
def cos(input: Tensor) -> Tensor:
    """Cosine of each element, correctly rounded, however large. Any shape."""


@op(aten=["tan"])
def tan(input: Tensor) -> Tensor:
    """Tangent of each element, correctly rounded, however large. Any shape."""


@op()
def sinpi(input: Tensor) -> Tensor:
    """sin(pi * input), correctly rounded. Any shape."""


@op(aten=["sinc"])
def sinc(input: Tensor) -> Tensor:
    """sin(pi * input) / (pi * input), correctly rounded as one function; 1 at 0. Any shape."""


@op()
def cospi(input: Tensor) -> Tensor:
    """cos(pi * input), correctly rounded. Any shape."""


@op(aten=["asin"])
def asin(input: Tensor) -> Tensor:
    """Inverse sine of each element, in [-pi/2, pi/2], correctly rounded; NaN outside [-1, 1]. Any shape."""


@op(aten=["acos"])
def acos(input: Tensor) -> Tensor:
    """Inverse cosine of each element, in [0, pi], correctly rounded; NaN outside [-1, 1]. Any shape."""


@op(aten=["atan"])
def atan(input: Tensor) -> Tensor:
    """Inverse tangent of each element, in [-pi/2, pi/2], correctly rounded. Any shape."""


@op()
def atan2(input: Tensor, other: Tensor | float) -> Tensor:
    """The angle of the point (other, input), in [-pi, pi], rounded as if exact; the operands are broadcast."""


takes_numbers(atan2)


@sin.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * cos(saved.input)}


@cos.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -grad * sin(saved.input)}


@tan.backward(saves=("output",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * (saved.output * saved.output + 1.0)}


@sinc.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    x = saved.input
    return {"input": lambda: grad * div(cospi(x) - sinc(x), x).masked_fill(x == 0, 0.0)}


@sinpi.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * cospi(saved.input) * math.pi}


@cospi.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * sinpi(saved.input) * -math.pi}


@asin.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: grad * rsqrt((1.0 - saved.input) * (1.0 + saved.input))}


@acos.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: -grad * rsqrt((1.0 - saved.input) * (1.0 + saved.input))}


@atan.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: div(grad, saved.input * saved.input + 1.0)}


@atan2.backward(saves=("input", "other"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    y, x = saved.input, saved.other
    return {
        "input": lambda: to_shape(grad * div(x, x * x + y * y), saved.input_shape),
        "other": lambda: to_shape(grad * div(-y, x * x + y * y), saved.other_shape),
    }


sin.samples(unary_samples("normal", "positive"))
cos.samples(unary_samples("normal", "positive"))
tan.samples(unary_samples("normal", "positive"))
sinc.samples(unary_samples("normal", "positive"))
sinpi.samples(unary_samples("normal", "positive"))
cospi.samples(unary_samples("normal", "positive"))
atan.samples(unary_samples("normal", "positive"))
asin.samples(unary_samples("uniform", "normal"))
acos.samples(unary_samples("uniform", "normal"))
atan2.samples(binary_samples("input", "other"))

sin.oracle(lambda input: np.sin(input))
cos.oracle(lambda input: np.cos(input))
tan.oracle(lambda input: np.tan(input))
sinc.oracle(lambda input: np.sinc(input))
sinpi.oracle(lambda input: np.sin(np.pi * input))
cospi.oracle(lambda input: np.cos(np.pi * input))
asin.oracle(lambda input: np.arcsin(input))
acos.oracle(lambda input: np.arccos(input))
atan.oracle(lambda input: np.arctan(input))
atan2.oracle(lambda input, other: np.arctan2(input, other))
