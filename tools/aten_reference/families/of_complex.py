# SPDX-License-Identifier: MIT
"""Complex numbers, and Fourier transforms: the lines of the core's ops, of pairs."""

from __future__ import annotations

from repdl.conformance.torch_case import TensorText

from ..registry import Arguments, from_core
from ..words import in_words


def _renamed(op: str, overload: str, more: str = "", **names: str) -> None:
    @from_core(f"complex_{op}", overload, wide=True)
    def translate(arguments: Arguments) -> str:
        return ", ".join(f"{names.get(name, name)}={in_words(value, True)}" for name, value in arguments.items()) + more


_OF_ONE = """
    abs acos acosh angle asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 neg reciprocal rsqrt sgn
    sigmoid silu sin sinc sinh sqrt tan tanh
"""

for _name in _OF_ONE.split():
    _renamed(_name, _name, input="self")
for _name in ("add", "sub", "mul", "div"):
    _renamed(_name, f"{_name}.Tensor", input="self")
_renamed("pow", "pow.Tensor_Tensor", input="self")
_renamed("logaddexp", "logaddexp", input="self")
_renamed("sigmoid_grad", "sigmoid_backward")
_renamed("tanh_grad", "tanh_backward")
_renamed("silu_grad", "silu_backward", input="self")
for _name in ("cumsum", "cumprod"):
    _renamed(_name, _name, input="self")
_renamed("logcumsumexp", "_logcumsumexp", input="self")


def _reduction(op: str, overload: str, more: str = "") -> None:
    @from_core(f"complex_{op}", overload, wide=True)
    def translate(arguments: Arguments) -> str:
        arguments.setdefault("dim", None)
        names = {"input": "self"}
        return ", ".join(f"{names.get(name, name)}={in_words(value, True)}" for name, value in arguments.items()) + more


_reduction("sum", "sum.dim_IntList")
_reduction("mean", "mean.dim")
_reduction("norm", "linalg_vector_norm", ", ord=2")
_reduction("var", "var.correction")
_reduction("std", "std.correction")


@from_core("complex_mm", "mm", wide=True)
def mm(arguments: Arguments) -> str | None:
    a, b = arguments["input"], arguments["mat2"]
    if arguments.get("conjA") or arguments.get("conjB") or len(a.shape) != 3 or len(b.shape) != 3:
        return None
    return f"self={in_words(a, True)}, mat2={in_words(b, True)}, order={arguments['order']!r}"


def _transform(op: str, overload: str, of_pairs: bool, **defaults: int) -> None:
    @from_core(op, overload, wide=True)
    def translate(arguments: Arguments) -> str:
        x = arguments["input"]
        assert isinstance(x, TensorText)
        rank = len(x.shape) - of_pairs
        given = {"normalization": 0, **defaults} | arguments
        dims = [d % rank for d in given.pop("dim")]
        del given["input"]
        return f"self={in_words(x, of_pairs)}, dim={dims}, " + ", ".join(f"{n}={v}" for n, v in given.items())


_transform("fft_c2c", "_fft_c2c", True, forward=True)
_transform("fft_r2c", "_fft_r2c", False, onesided=True)
_transform("fft_c2r", "_fft_c2r", True)
