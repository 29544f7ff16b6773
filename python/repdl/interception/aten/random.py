# SPDX-License-Identifier: MIT
"""Random numbers: from a counter (repdl.random.philox), or what torch's CPU generator draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from repdl import _core
from repdl.interception import seeding
from repdl.interception.native import native_of, overload
from repdl.interception.operands import alike
from repdl.interception.ops_by_dtype import ops_of
from repdl.interception.override import ANY_DTYPE, override
from repdl.interception.strict import not_reproducible
from repdl.interception.variants import check_out_type, fill
from repdl.random import philox

stream = "philox"
"""Where the numbers come from: set by `repdl.enable(rng=…)`."""


def use_stream(name: str) -> None:
    global stream
    stream = name
    _core.set_has_keys(name == "philox")


def _sampler(name: str, counted: Callable[..., Any], drawn: Callable[..., Any] | None = None, op: str = "") -> None:
    """Overrides a sampler. Without `drawn`, torch's own kernel does what the stream "torch" defines: it draws integers
    and turns them into numbers by operations that round once, or in float64, and rounds that. `op` is what `counted`
    calls."""
    native = native_of(name)
    drawn = drawn or native

    @override(name, op=op, **ANY_DTYPE)
    def sampled(*args: Any, **kwargs: Any) -> Any:
        try:
            if stream == "philox":
                return counted(*args, **kwargs)
            seeding.draws(kwargs.get("generator"))
            return drawn(*args, **kwargs)
        except TypeError:
            if args[0].is_floating_point() or args[0].is_complex():
                raise
        return native(*args, **kwargs)  # of integers: which says that it does not take them


def _by_parts(fill: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """From a sampler of real numbers one that fills complex ones, with real and imaginary parts in turn."""

    def filled(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if not self.is_complex():
            return fill(self, *args, **kwargs)
        fill(torch.view_as_real(self), *args, **kwargs)
        return self

    return filled


def _normal(fill: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Parts of complex numbers have half the variance."""

    def filled(self: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> torch.Tensor:
        return _by_parts(fill)(self, mean, std / math.sqrt(2) if self.is_complex() else std, generator=generator)

    return filled


_native_uniform, _native_normal = native_of("uniform_"), native_of("normal_")


@_by_parts
def draw_uniform(self: torch.Tensor, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> torch.Tensor:
    """What torch draws, moved to the interval with one rounding on every machine.

    A bfloat16 or float16 is a float32 rounded once more, or low where that would be high.
    """
    if not self.is_floating_point():
        return _native_uniform(self, low, high, generator=generator)  # which says that it does not take them
    if self.dtype not in (torch.float32, torch.float64):
        rounded = draw_uniform(torch.empty_like(self, dtype=torch.float32), low, high, generator=generator).to(
            self.dtype
        )
        least, bound = torch.tensor([low, high], dtype=self.dtype)
        return self.copy_(torch.where(rounded < bound, rounded, least))
    # In place at unit scale, where torch rounds nothing; then moved by our own op.
    draws = _native_uniform(torch.empty_like(self), 0.0, 1.0, generator=generator)
    return self.copy_(_core.ops["uniform"](draws.reshape(-1), low, high).reshape(self.shape))


@_normal
def draw_normal(self: torch.Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> torch.Tensor:
    """What torch draws, with functions that do not depend on the machine.

    Of 16 numbers and more, torch turns uniform ones into normal ones in blocks of 16 (Box and Muller), and the last 16
    anew if they do not fill a block. Fewer numbers and those of strided tensors it computes in float64, and rounds.
    """
    count = self.numel()
    if self.dtype == torch.float64 or count < 16 or not self.is_contiguous():
        return _in_float64("normal_", _native_normal)(self, mean, std, generator=generator)
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    whole = count // 16 * 16
    # Of float32 torch draws also what the last 16 take the place of.
    numbers = torch.empty(count if self.dtype == torch.float32 else whole, dtype=torch.float32)
    _native_uniform(numbers, 0.0, 1.0, generator=generator)
    result = torch.empty(count, dtype=torch.float32)
    box_muller = _core.ops["box_muller"]
    result[:whole] = box_muller(numbers[:whole], mean, std)
    if whole < count:
        last = _native_uniform(torch.empty(16, dtype=torch.float32), 0.0, 1.0, generator=generator)
        result[-16:] = box_muller(last, mean, std)
    return self.copy_(result.reshape(self.shape))


def _in_float64(name: str, native: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """torch's kernel. It computes in float64 with functions of the C library: only what is rounded to less is alike."""

    def filled(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if self.dtype == torch.float64:
            return not_reproducible(name, (self, *args), kwargs, native, "random")
        return native(self, *args, **kwargs)

    return filled


_RANKS = 8
_philox_randint, _philox_randperm = _core.ops["philox_randint"], _core.ops["philox_randperm"]


def _random_between(self: torch.Tensor, low: int, high: int | None, *, generator: Any = None) -> torch.Tensor:
    """philox.random_, of which a tensor of int64 needs few checks."""
    if high is None or low >= high or self.dtype != torch.int64 or self.dim() > _RANKS:
        return philox.random_(self, low, high, generator)
    _philox_randint(self, *philox.philox_key(generator, self.device), low, high - 1)
    return self


_sampler("uniform_", _by_parts(philox.uniform_), draw_uniform, op="philox_uniform")
_sampler("normal_", _normal(philox.normal_), draw_normal, op="philox_normal")
_sampler("log_normal_", philox.log_normal_, _in_float64("log_normal_", native_of("log_normal_")))
_sampler(
    "exponential_", philox.exponential_, _in_float64("exponential_", native_of("exponential_")), op="philox_exponential"
)
_sampler("geometric_", philox.geometric_)
_sampler("cauchy_", philox.cauchy_, _in_float64("cauchy_", native_of("cauchy_")))
_sampler("bernoulli_.float", philox.bernoulli_, op="philox_bernoulli")
_sampler("bernoulli_.Tensor", philox.bernoulli_)
_sampler("random_.from", _random_between)
_sampler("random_", philox.random_)
_sampler("random_.to", lambda self, to, generator=None: _random_between(self, 0, to, generator=generator))
_sampler("multinomial", philox.multinomial)


@override("bernoulli", **ANY_DTYPE)
def bernoulli(self: torch.Tensor, *, generator: Any = None) -> torch.Tensor:
    return torch.empty_like(self, memory_format=torch.contiguous_format).bernoulli_(self, generator=generator)


def _into(name: str, converts: bool) -> None:
    """The form with `out`, which torch resizes without a word."""
    draw = overload(name)

    @override(f"{name}.out", **ANY_DTYPE)
    def drawn(*args: Any, generator: Any = None, out: torch.Tensor) -> torch.Tensor:
        result = draw(*args, generator=generator)
        if not converts:
            check_out_type(result.dtype, out.dtype)
        return out.resize_(result.shape).copy_(result)


_into("bernoulli", converts=True)
_into("multinomial", converts=False)


@override("normal.Tensor_Tensor", **ANY_DTYPE)
def normal_tensor_tensor(mean: torch.Tensor, std: torch.Tensor, *, generator: Any = None) -> torch.Tensor:
    _check_deviation(std)
    shape = torch.broadcast_shapes(mean.shape, std.shape)
    drawn = torch.empty(shape, dtype=mean.dtype).normal_(0.0, 1.0, generator=generator)
    return _spread(drawn, mean, std)


@override("normal.Tensor_float", "normal.float_Tensor", **ANY_DTYPE)
def normal_tensor_float(mean: Any, std: Any = 1.0, *, generator: Any = None) -> torch.Tensor:
    _check_deviation(std)
    like = mean if isinstance(mean, torch.Tensor) else std
    drawn = torch.empty_like(like, memory_format=torch.contiguous_format).normal_(0.0, 1.0, generator=generator)
    return _spread(drawn, mean, std)


@override("normal.Tensor_float_out", **ANY_DTYPE)
def normal_tensor_float_out(
    mean: torch.Tensor, std: float = 1.0, *, generator: Any = None, out: torch.Tensor
) -> torch.Tensor:
    """torch draws a number for each place of `out`, which it does not resize."""
    return fill(out, normal_tensor_float(mean.expand(out.shape), std, generator=generator))


def _check_deviation(std: Any) -> None:
    if not isinstance(std, torch.Tensor):
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    elif std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif std.numel() > 0 and not std.is_meta and not std.min() >= 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _spread(drawn: torch.Tensor, mean: Any, std: Any) -> torch.Tensor:
    """drawn * std + mean, each step rounded to the type of what meets."""
    drawn, std = alike(drawn, std)
    scaled, mean = alike(ops_of(drawn)["mul"](drawn, std), mean)
    return ops_of(scaled)["add"](scaled, mean)


def _counted_only(name: str, counted: Callable[..., torch.Tensor]) -> None:
    native = native_of(name)

    @override(name, **ANY_DTYPE)
    def draw(*args: Any, generator: Any = None) -> torch.Tensor:
        if stream == "torch":  # which draws until it accepts, and computes with functions that depend on the machine
            return not_reproducible(name, args, {"generator": generator}, native, "random")
        *tensors, generator = args if not isinstance(args[-1], torch.Tensor) else (*args, generator)
        return counted(*tensors, generator)


_counted_only("_standard_gamma", philox.standard_gamma)
_counted_only("_sample_dirichlet", philox.dirichlet)
_counted_only("poisson", philox.poisson)
_counted_only("binomial", philox.binomial)


@override("normal.float_float", **ANY_DTYPE)
def normal_float_float(mean: float, std: float, size: Any, *, generator: Any = None, **options: Any) -> torch.Tensor:
    return torch.empty(size, **options).normal_(mean, std, generator=generator)


@override("normal.float_float_out", **ANY_DTYPE)
def normal_float_float_out(
    mean: float, std: float, size: Any, *, generator: Any = None, out: torch.Tensor
) -> torch.Tensor:
    return out.resize_(size).normal_(mean, std, generator=generator)


_native_permutation = native_of("randperm.generator_out")


@override("randperm.generator_out", **ANY_DTYPE)
def randperm_generator_out(n: int, *, generator: Any = None, out: torch.Tensor) -> torch.Tensor:
    if stream == "torch":
        return _native_permutation(n, generator=generator, out=out)
    if out.shape != (n,):  # not that of what torch.randperm asks for, as a call takes time
        out.resize_(n)
    if out.dtype != torch.int64 or not out.is_contiguous():
        return out.copy_(philox.randperm(n, out.dtype, generator))
    _philox_randperm(out, *philox.philox_key(generator, out.device))
    return out
