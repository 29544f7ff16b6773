# SPDX-License-Identifier: MIT
"""Samplers named as torch's methods, on numbers from a counter (Philox4x32-10, docs/arithmetic.md).

Element i of a call is a function of (seed, call, i), i in row-major order whatever the strides. The state is torch's
own: each call, for an empty tensor too, takes one number of 64 bits from the torch generator, and nothing else does.
So the number of elements never moves later calls, and `torch.manual_seed`, `torch.get_rng_state`,
`torch.random.fork_rng`, checkpoints and the workers of a DataLoader work as with torch's samplers.

Each sampler works on CPU tensors of any strides whose elements do not overlap. Those that fill a tensor record no
gradient. A float64 tensor gets the numbers of float32, except from `uniform_` and `random_`. What is built on the ops
is written in steps that round once, on any machine.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl import _core, ops
from repdl._op import Op
from repdl._torch import empty_strided

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1

_FLOATING = (torch.float32, torch.bfloat16, torch.float16)
"""What the ops fill themselves."""

_CPU = torch.device("cpu")

_RANKS = 8
"""So many dimensions the ops take. What has more is filled in a row, which gives the same numbers."""

# torch's own kernel, though somebody may replace it: it counts the state of the generator on.
_core.set_key_source(
    torch.library.get_kernel("aten::random_.from", "CPU").call_boxed,
    torch._C.DispatchKeySet(torch._C.DispatchKey.CPU),
    lambda: empty_strided((), (), torch.int64),
    torch.default_generator,
)


def philox_key(generator: torch.Generator | None = None) -> tuple[int, int]:
    """Takes the key (seed, call) of the next call from a torch generator, the default one if None.

    `seed` is the generator's initial seed, all 64 bits of it; `call` is the next number of 64 bits that it draws (two
    words of mt19937, the same on every machine). Both are given as signed integers.

    Raises:
        NotImplementedError: for a generator of another device.
    """
    if generator is not None and generator.device != _CPU:
        raise NotImplementedError(
            f"[philox_key] generator must be on the CPU, got one on {generator.device}; use torch.Generator()"
        )
    return _core.draw_key(generator)


def uniform_(
    tensor: torch.Tensor, low: float = 0.0, high: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with numbers of [low, high): op `philox_uniform`.

    Of float64 it is `low + (high - low) * n / 2^53` with n from `philox_randint`, at most the number below high.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for bounds that are no interval of finite numbers.
    """
    if tensor.dtype != torch.float64:
        return _fill("uniform_", tensor, generator, ops.philox_uniform, low, high)
    _check_cpu("uniform_", tensor)
    if not (low <= high and math.isfinite(high - low)):
        raise ValueError(f"[uniform_] low {low} and high {high} must be finite numbers, low not above high")
    draws = _integers(tensor.shape, philox_key(generator), 0, 2**53 - 1).double()
    highest = math.nextafter(high, -math.inf) if low < high else high
    return _copy(tensor, draws.mul_(2.0**-53).mul_(high - low).add_(low).clamp_(max=highest))


def normal_(
    tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with normally distributed numbers: op `philox_normal`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a negative std.
    """
    return _fill("normal_", tensor, generator, ops.philox_normal, mean, std)


def log_normal_(
    tensor: torch.Tensor, mean: float = 1.0, std: float = 2.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with `exp(normal_(mean, std))`, both of float32, exp correctly rounded.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a negative std.
    """
    _check_floating("log_normal_", tensor)
    return _copy(tensor, ops.exp.kernel(_floats((tensor.numel(),), generator, ops.philox_normal, mean, std)))


def exponential_(tensor: torch.Tensor, lambd: float = 1.0, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fills a tensor with exponentially distributed numbers of mean 1 / lambd, none of them 0: op `philox_exponential`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: unless lambd is above 0.
    """
    return _fill("exponential_", tensor, generator, ops.philox_exponential, lambd)


def geometric_(tensor: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fills a tensor with the number of the first success in trials of probability p.

    It is `max(ceil(e / -log1p(-p)), 1)`, with e from `philox_exponential`, every step in float32 and log1p correctly
    rounded. A tensor of integers gets the largest float32 that it holds where that is more.

    Raises:
        TypeError: for a tensor of complex numbers or of bool.
        ValueError: unless 0 < p < 1.
    """
    highest = math.inf
    if isinstance(tensor, torch.Tensor) and _is_integer(tensor.dtype):
        _check_cpu("geometric_", tensor)
        bits = torch.iinfo(tensor.dtype).bits - tensor.dtype.is_signed
        highest = float(2**bits - 2 ** max(bits - 24, 0))
    else:
        _check_floating("geometric_", tensor)
    minus_p = torch.tensor(-p, dtype=torch.float32, device="cpu")
    if not 0.0 < p < 1.0 or minus_p == 0.0:
        raise ValueError(f"[geometric_] p must be between 0 and 1, got {p}")
    rate = -ops.log1p.kernel(minus_p).item()
    numbers = _floats(tensor.shape, generator, ops.philox_exponential, rate).ceil_().clamp_(1.0, highest)
    return _copy(tensor, numbers)


def cauchy_(
    tensor: torch.Tensor, median: float = 0.0, sigma: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with numbers of Cauchy's distribution.

    It is `median + sigma * (sinpi(a) / cospi(a))`, every step in float32, sinpi and cospi correctly rounded, with
    `a = (2 floor(word / 2^9) + 1) / 2^24 - 1/2` of `philox_bits`, exact, in (-1/2, 1/2).

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: unless sigma is above 0.
    """
    _check_floating("cauchy_", tensor)
    if not sigma > 0.0:
        raise ValueError(f"[cauchy_] sigma must be above 0, got {sigma}")
    words = _words((tensor.numel(),), philox_key(generator))
    turns = words.bitwise_right_shift_(9).mul_(2).add_(1 - 2**23).float().mul_(2.0**-24)
    ratio = ops.div.kernel(ops.sinpi.kernel(turns), ops.cospi.kernel(turns))
    return _copy(tensor, ratio.mul_(sigma).add_(median))


def bernoulli_(
    tensor: torch.Tensor, p: float | torch.Tensor = 0.5, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor of any dtype with ones, each with probability p, and zeros: op `philox_bernoulli`.

    Args:
        tensor: changed.
        p: in [0, 1]; a tensor, which is broadcast, has a probability for each element, and gives the numbers that the
            same probability as a number does.
        generator: of torch.

    Raises:
        TypeError: for a complex tensor.
        ValueError: for a p outside of [0, 1].
    """
    _check_cpu("bernoulli_", tensor)
    if isinstance(p, torch.Tensor):
        _check_cpu("bernoulli_", p)
        if not bool(((p >= 0) & (p <= 1)).all()):
            raise ValueError("[bernoulli_] p must be between 0 and 1, all of it")
        words = _words(tensor.shape, philox_key(generator))
        return _copy(tensor, words < p.detach().double().mul(2.0**32).floor_())
    if tensor.dtype in _FLOATING:
        return _fill("bernoulli_", tensor, generator, ops.philox_bernoulli, p)
    if tensor.is_complex():
        raise TypeError(f"[bernoulli_] tensor must hold real numbers, got {tensor.dtype}")
    return _copy(tensor, _floats(tensor.shape, generator, ops.philox_bernoulli, p))


def random_(
    tensor: torch.Tensor, low: int = 0, high: int | None = None, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with integers of [low, high): op `philox_randint`.

    Without `high` they go up to the largest that the dtype holds; for a floating one, up to 2^24 (float32), 2^53
    (float64), 2^11 (float16) or 2^8 (bfloat16), the last with all integers before it.

    Raises:
        TypeError: for a complex tensor.
        ValueError: for bounds that the dtype does not hold, or low >= high.
    """
    _check_cpu("random_", tensor)
    least, largest = _integers_of("random_", tensor.dtype)
    last = largest if high is None else high - 1
    if not (least <= low <= last <= largest):
        raise ValueError(
            f"[random_] low {low} and high {high} must be bounds of {tensor.dtype}, "
            f"which has integers from {least} to {largest}, and low below high"
        )
    key = philox_key(generator)
    if tensor.dtype != torch.int64 or tensor.dim() > _RANKS:
        return _copy(tensor, _integers(tensor.shape, key, low, last))
    ops.philox_randint.kernel(tensor, *key, low, last)
    torch.autograd.graph.increment_version(tensor)
    return tensor


def randperm(n: int, dtype: torch.dtype = torch.int64, generator: torch.Generator | None = None) -> torch.Tensor:
    """The integers below n in random order.

    It is the order of n random integers of 64 bits, equal ones in the order of their places.

    Raises:
        ValueError: for a negative n, or one that the dtype does not hold.
    """
    if n < 0 or n - 1 > _integers_of("randperm", dtype)[1]:
        raise ValueError(f"[randperm] n must be a number of integers that {dtype} holds, got {n}")
    return _integers((n,), philox_key(generator), _INT64_MIN, _INT64_MAX).sort(stable=True).indices.to(dtype)


def multinomial(
    input: torch.Tensor, num_samples: int, replacement: bool = False, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Draws indices, each row's with probabilities in proportion to its weights.

    Weights are divided by the largest of their row, in float64. Without replacement, the weights, rounded to float32,
    are divided by numbers from `philox_exponential`, and the indices are those of the largest quotients, equal ones in
    the order of their places. With it, weights above 0 become integers, `max(floor(weight * 2^s), 1)` with s = 62 less
    the number of binary digits of n, so that sums stay below 2^62. Index j is the first for which
    `floor(r * sum / 2^62)`, r of 62 bits from `philox_randint`, lies below the sum of weights 0 to j.

    Args:
        input: (n,) or (m, n), floating, finite and not negative, with something above 0 in each row.
        num_samples: at least 1; without replacement at most the number of weights above 0 in a row.
        replacement: whether an index may come again.
        generator: of torch.

    Returns:
        int64, (num_samples,) or (m, num_samples).

    Raises:
        TypeError: for weights that are not floating.
        ValueError: for other weights or numbers than said.
    """
    _check_floating("multinomial", input)
    if input.dim() not in (1, 2):
        raise ValueError(f"[multinomial] input must have the shape (n,) or (m, n), got {tuple(input.shape)}")
    weights = input.detach().double()
    if not bool(((weights >= 0) & (weights < math.inf)).all()):
        raise ValueError("[multinomial] input holds a weight that is negative, infinite or NaN")
    if num_samples < 1:
        raise ValueError(f"[multinomial] num_samples must be at least 1, got {num_samples}")
    present = (weights > 0).sum(-1)
    needed = 1 if replacement else num_samples
    if input.shape[-1] == 0 or bool((present < needed).any()):
        raise ValueError(f"[multinomial] input must have at least {needed} weights above 0 in each row")
    key = philox_key(generator)
    scaled = weights / weights.amax(-1, keepdim=True)
    draw = _draw_with_replacement if replacement else _draw_without_replacement
    return draw(scaled, weights > 0, num_samples, key)


_ATTEMPTS = 12  # of which one in twenty fails


def standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Numbers of the gamma distribution with rate 1, as `torch._standard_gamma`: by Marsaglia and Tsang, in float32.

    With a = alpha, or alpha + 1 if that is below 1, d = a - 1/3 and v = (1 + x / sqrt(9 d))^3 they are d v for the
    first of 12 normal numbers x with log(u) < x^2 / 2 + d - d v + d log(v), or d; and times u^(1 / alpha) if alpha is
    below 1. Numbers below the smallest normal float32 become that.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for an alpha that is not above 0.
    """
    _check_floating("standard_gamma", alpha)
    if not bool((alpha > 0).all()):
        raise ValueError("[standard_gamma] alpha must be above 0")
    wide = alpha.detach().to(torch.float32).contiguous()
    shape = (*wide.shape, _ATTEMPTS)
    x = _floats(shape, generator, ops.philox_normal, 0.0, 1.0)
    u = 1 - _floats(shape, generator, ops.philox_uniform, 0.0, 1.0)
    more = 1 - _floats(tuple(wide.shape), generator, ops.philox_uniform, 0.0, 1.0)
    d = torch.where(wide < 1, wide + 1, wide)[..., None] - 1 / 3
    root = 1 + x / ops.sqrt.kernel(d * 9)
    v = root * root * root
    bound = x * x * 0.5 + d - d * v + d * ops.log.kernel(v.clamp_min(torch.finfo(torch.float32).tiny))
    accepted = (v > 0) & (ops.log.kernel(u) < bound)
    first = accepted.to(torch.uint8).argmax(-1, keepdim=True)
    drawn = torch.where(accepted.any(-1, keepdim=True), d * v.gather(-1, first), d)[..., 0]
    less = drawn * ops.pow.kernel(more, wide.reciprocal())
    result = torch.where(wide < 1, less, drawn).clamp_min(torch.finfo(torch.float32).tiny)
    return result.to(alpha.dtype)


def native_dropout(
    input: torch.Tensor, p: float, train: bool | None = True, generator: torch.Generator | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Zeros each element with probability p, and multiplies the others by 1 / (1 - p), rounded to float32.

    torch can differentiate through it, with the same mask.

    Returns:
        The result, and the mask: bool, True for elements that stay. All stay, and nothing is drawn, unless `train`.

    Raises:
        TypeError: for an input that is not floating.
        ValueError: for a p outside of [0, 1].
    """
    _check_floating("native_dropout", input)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"[native_dropout] p must be between 0 and 1, got {p}")
    if train is False:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    mask = bernoulli_(torch.empty_like(input, dtype=torch.bool), 1.0 - p, generator)
    scale = torch.tensor(0.0 if p == 1.0 else 1.0 / (1.0 - p), dtype=torch.float32, device="cpu").item()
    return torch.where(mask, input * scale, 0.0), mask


def _draw_without_replacement(
    weights: torch.Tensor, present: torch.Tensor, num_samples: int, key: tuple[int, int]
) -> torch.Tensor:
    times = torch.empty_like(weights, dtype=torch.float32)
    ops.philox_exponential.kernel(times, *key)
    # A weight that became 0 only now still goes before those that are.
    scores: torch.Tensor = torch.where(present, ops.div.kernel(weights.float(), times), -1.0)
    return scores.sort(dim=-1, descending=True, stable=True).indices[..., :num_samples].contiguous()


def _draw_with_replacement(
    weights: torch.Tensor, present: torch.Tensor, num_samples: int, key: tuple[int, int]
) -> torch.Tensor:
    bits = 62 - weights.shape[-1].bit_length()
    integers = weights.mul(2.0**bits).floor_().long().clamp_(min=1).mul_(present)
    sums = integers.cumsum(-1)
    random = _integers((*weights.shape[:-1], num_samples), key, 0, 2**62 - 1)
    return torch.searchsorted(sums, _multiply_high(random, sums[..., -1:]), right=True)


def _multiply_high(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """floor(a * b / 2^62) of integers of 62 bits, by halves of 31."""
    half = 2**31 - 1
    a_low, a_high, b_low, b_high = a & half, a >> 31, b & half, b >> 31
    return a_high * b_high + ((a_high * b_low + a_low * b_high + (a_low * b_low >> 31)) >> 31)


def _integers_of(name: str, dtype: torch.dtype) -> tuple[int, int]:
    """The range of integers that a dtype holds, all of them."""
    if dtype == torch.bool:
        return 0, 1
    if dtype.is_floating_point:
        digits = {torch.float32: 24, torch.float64: 53, torch.float16: 11, torch.bfloat16: 8}.get(dtype)
        if digits is not None:
            return -(2**digits), 2**digits
    elif not dtype.is_complex:
        return torch.iinfo(dtype).min, min(torch.iinfo(dtype).max, _INT64_MAX)
    raise TypeError(f"[{name}] dtype must be bool, an integer, float32, float64, bfloat16 or float16, got {dtype}")


def _is_integer(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _check_cpu(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"[{name}] tensor must be a torch tensor, got {type(tensor).__name__}")
    if not tensor.is_cpu:
        raise NotImplementedError(f"[{name}] tensor must be on the CPU, got {tensor.device}; fill it there and move it")


def _check_floating(name: str, tensor: Any) -> None:
    _check_cpu(name, tensor)
    if tensor.dtype not in _FLOATING and tensor.dtype != torch.float64:
        raise TypeError(f"[{name}] tensor must be float32, float64, bfloat16 or float16, got {tensor.dtype}")


def _words(shape: tuple[int, ...], key: tuple[int, int]) -> torch.Tensor:
    words = torch.empty(math.prod(shape), dtype=torch.int64, device="cpu")
    ops.philox_bits.kernel(words, *key)
    return words.view(shape)


def _integers(shape: tuple[int, ...], key: tuple[int, int], first: int, last: int) -> torch.Tensor:
    integers = torch.empty(math.prod(shape), dtype=torch.int64, device="cpu")
    ops.philox_randint.kernel(integers, *key, first, last)
    return integers.view(shape)


def _floats(
    shape: tuple[int, ...], generator: torch.Generator | None, fill: Op[..., None], *args: float
) -> torch.Tensor:
    floats = torch.empty(math.prod(shape), dtype=torch.float32, device="cpu")
    fill.kernel(floats, *philox_key(generator), *args)
    return floats.view(shape)


def _copy(tensor: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        tensor.copy_(numbers.view(tensor.shape))
    return tensor


def _fill(
    name: str, tensor: torch.Tensor, generator: torch.Generator | None, fill: Op[..., None], *args: float
) -> torch.Tensor:
    _check_floating(name, tensor)
    if tensor.dtype == torch.float64:
        return _copy(tensor, _floats(tensor.shape, generator, fill, *args))
    if tensor.dim() > _RANKS:
        flat = torch.empty(tensor.numel(), dtype=tensor.dtype, device="cpu")
        return _copy(tensor, _fill(name, flat, generator, fill, *args))
    fill.kernel(tensor, *philox_key(generator), *args)
    torch.autograd.graph.increment_version(tensor)
    return tensor
