# SPDX-License-Identifier: MIT
"""Samplers named as torch's methods, on numbers from a counter (Philox4x32-10, docs/arithmetic.md).

Element i of a call is a function of (seed, call, i), i in row-major order whatever the strides. The state is torch's
own: each call, for an empty tensor too, takes one number of 64 bits from the torch generator, and nothing else does.
So the number of elements never moves later calls, and `torch.manual_seed`, `torch.get_rng_state`,
`torch.random.fork_rng`, checkpoints and the workers of a DataLoader work as with torch's samplers.

Each sampler works on tensors of the CPU and of CUDA devices, of any strides whose elements do not overlap. Those that
fill a tensor record no gradient. A float64 tensor gets the numbers of float32, except from `uniform_` and `random_`.
What is built on the ops is written in steps that round once, on any machine.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from repdl import _core, ops
from repdl._op import Op
from repdl._order import get_order
from repdl._symbols import addresses
from repdl._torch import empty_strided
from repdl.random import of_devices

_INT64_MAX = 2**63 - 1

_FLOATING = (torch.float32, torch.bfloat16, torch.float16)
"""What the ops fill themselves."""

_RANKS = 8
"""So many dimensions the ops take. What has more is filled in a row, which gives the same numbers."""

# torch's own kernel, though somebody may replace it: it counts the state of the generator on.
_core.set_key_source(
    torch.library.get_kernel("aten::random_.from", "CPU").call_boxed,
    torch._C.DispatchKeySet(torch._C.DispatchKey.CPU),
    lambda: empty_strided((), (), torch.int64),
    torch.default_generator,
    of_devices.key_of,
    of_devices.default_on,
)


def _set_word_source() -> None:
    """Where the library of torch names the functions of a generator by which that kernel draws, and by which it says
    its seed, they are called instead."""
    functions = addresses(
        "torch_cpu", "_ZN2at16CPUGeneratorImpl8random64Ev", "_ZNK2at16CPUGeneratorImpl12current_seedEv"
    )
    if functions:
        draw, seed = functions
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).raw_repr()
        _core.set_word_source(draw, seed, keys, torch.Generator())


_set_word_source()


def philox_key(generator: torch.Generator | None = None, device: torch.device | None = None) -> tuple[int, int]:
    """Takes the key (seed, call) of the next call from a torch generator; from the default one of a device if None.

    `seed` is the generator's initial seed, all 64 bits of it; `call` is the next number of 64 bits that it draws (two
    words of mt19937, the same on every machine), or that a generator on the CPU with its seed and as many calls behind
    it draws. Both are given as signed integers.

    The default generators of CUDA devices are that of the CPU as long as they have its seed, which
    `torch.manual_seed` gives all of them: then a program draws the same numbers wherever it computes.

    Raises:
        NotImplementedError: for a generator of a device that is neither.
    """
    return _core.draw_key(generator, None if device is None or device.type != "cuda" else device.index)


def uniform_(
    tensor: torch.Tensor, low: float = 0.0, high: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with numbers of [low, high): op `philox_uniform`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for bounds that are no interval of finite numbers.
    """
    return _fill("uniform_", tensor, generator, ops.philox_uniform, low, high, float64=True)


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
    """Fills a tensor with numbers whose logarithms are normally distributed: op `philox_log_normal`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a negative std.
    """
    return _fill("log_normal_", tensor, generator, ops.philox_log_normal, mean, std)


def exponential_(tensor: torch.Tensor, lambd: float = 1.0, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fills a tensor with exponentially distributed numbers of mean 1 / lambd, none of them 0: op `philox_exponential`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: unless lambd is above 0.
    """
    return _fill("exponential_", tensor, generator, ops.philox_exponential, lambd)


def geometric_(tensor: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fills a tensor with the number of the first success in trials of probability p: op `philox_geometric`.

    A tensor of integers gets the largest float32 that it holds where that is more.

    Raises:
        TypeError: for a tensor of complex numbers or of bool.
        ValueError: unless 0 < p < 1.
    """
    if not (isinstance(tensor, torch.Tensor) and _is_integer(tensor.dtype)):
        return _fill("geometric_", tensor, generator, ops.philox_geometric, p)
    _check_device("geometric_", tensor)
    bits = torch.iinfo(tensor.dtype).bits - tensor.dtype.is_signed
    highest = float(2**bits - 2 ** max(bits - 24, 0))
    return _copy(tensor, _floats(tensor, generator, ops.philox_geometric, p, highest))


def cauchy_(
    tensor: torch.Tensor, median: float = 0.0, sigma: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fills a tensor with numbers of Cauchy's distribution: op `philox_cauchy`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: unless sigma is above 0.
    """
    return _fill("cauchy_", tensor, generator, ops.philox_cauchy, median, sigma)


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
    _check_device("bernoulli_", tensor)
    if isinstance(p, torch.Tensor):
        _check_device("bernoulli_", p)
        if p.is_cpu and not bool(((p >= 0) & (p <= 1)).all()):  # a device would have to be waited for
            raise ValueError("[bernoulli_] p must be between 0 and 1, all of it")
        words = _words(tensor, philox_key(generator, tensor.device))
        return _copy(tensor, words < p.detach().double().mul(2.0**32).floor_())
    if tensor.dtype in _FLOATING:
        return _fill("bernoulli_", tensor, generator, ops.philox_bernoulli, p)
    if tensor.is_complex():
        raise TypeError(f"[bernoulli_] tensor must hold real numbers, got {tensor.dtype}")
    return _copy(tensor, _floats(tensor, generator, ops.philox_bernoulli, p))


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
    _check_device("random_", tensor)
    least, largest = _integers_of("random_", tensor.dtype)
    last = largest if high is None else high - 1
    if not (least <= low <= last <= largest):
        raise ValueError(
            f"[random_] low {low} and high {high} must be bounds of {tensor.dtype}, "
            f"which has integers from {least} to {largest}, and low below high"
        )
    key = philox_key(generator, tensor.device)
    if tensor.dtype != torch.int64 or tensor.dim() > _RANKS:
        return _copy(tensor, _integers(tensor, key, low, last))
    ops.philox_randint.kernel(tensor, *key, low, last)
    torch.autograd.graph.increment_version(tensor)
    return tensor


def randperm(n: int, dtype: torch.dtype = torch.int64, generator: torch.Generator | None = None) -> torch.Tensor:
    """The integers below n in random order: op `philox_randperm`.

    Raises:
        ValueError: for a negative n, or one that the dtype does not hold.
    """
    if n < 0 or n - 1 > _integers_of("randperm", dtype)[1]:
        raise ValueError(f"[randperm] n must be a number of integers that {dtype} holds, got {n}")
    order = torch.empty(n, dtype=torch.int64, device="cpu")
    ops.philox_randperm.kernel(order, *philox_key(generator))
    return order.to(dtype)


def multinomial(
    input: torch.Tensor, num_samples: int, replacement: bool = False, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Draws indices, each row's with probabilities in proportion to its weights: op `philox_multinomial`.

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
    indices: torch.Tensor = ops.philox_multinomial.kernel(
        input.detach(), num_samples, replacement, *philox_key(generator, input.device)
    )
    return indices


def standard_gamma(alpha: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Numbers of the gamma distribution with rate 1, as `torch._standard_gamma`: op `philox_gamma`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for an alpha that is not above 0.
    """
    _check_floating("standard_gamma", alpha)
    if not bool((alpha > 0).all()):
        raise ValueError("[standard_gamma] alpha must be above 0")
    return _drawn(ops.philox_gamma, generator, alpha)


def dirichlet(alpha: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Numbers of Dirichlet distributions, as `torch._sample_dirichlet`.

    Those of `standard_gamma` in float32, divided by their sum over the last dimension.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for an alpha that is not above 0.
    """
    _check_floating("dirichlet", alpha)
    parts = standard_gamma(alpha.detach().to(torch.float32), generator)
    total = ops.sum.kernel(parts, [-1], True, order=get_order())
    shares: torch.Tensor = ops.div.kernel(parts, total)
    return shares.to(alpha.dtype)


def poisson(rate: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Numbers of Poisson's distribution, of the dtype of the rates, as `torch.poisson`: op `philox_poisson`.

    Raises:
        TypeError: for a tensor that is not floating.
        ValueError: for a rate that is negative or not finite.
    """
    _check_floating("poisson", rate)
    if not bool(((rate >= 0) & (rate < math.inf)).all()):
        raise ValueError("[poisson] rate must be finite and not negative, all of it")
    return _drawn(ops.philox_poisson, generator, rate)


def binomial(count: torch.Tensor, prob: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """How many of `count` trials of probability `prob` succeed, as `torch.binomial`: op `philox_binomial`.

    Raises:
        TypeError: for tensors that are not floating.
        ValueError: for a count that is negative or not finite, or a probability outside of [0, 1].
    """
    _check_floating("binomial", count)
    _check_floating("binomial", prob)
    if not bool(((count >= 0) & (count < math.inf)).all()):
        raise ValueError("[binomial] count must be finite and not negative, all of it")
    if not bool(((prob >= 0) & (prob <= 1)).all()):
        raise ValueError("[binomial] prob must be between 0 and 1, all of it")
    common = torch.promote_types(count.dtype, prob.dtype)
    return _drawn(ops.philox_binomial, generator, count.to(common), prob.to(common)).to(count.dtype)


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


def _check_device(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"[{name}] tensor must be a torch tensor, got {type(tensor).__name__}")
    if not (tensor.is_cpu or tensor.is_cuda):
        raise NotImplementedError(
            f"[{name}] tensor must be on the CPU or a CUDA device, got {tensor.device}; fill it there and move it"
        )


def _check_floating(name: str, tensor: Any) -> None:
    _check_device(name, tensor)
    if tensor.dtype not in _FLOATING and tensor.dtype != torch.float64:
        raise TypeError(f"[{name}] tensor must be float32, float64, bfloat16 or float16, got {tensor.dtype}")


def _words(like: torch.Tensor, key: tuple[int, int]) -> torch.Tensor:
    words = torch.empty(like.numel(), dtype=torch.int64, device=like.device)
    ops.philox_bits.kernel(words, *key)
    return words.view(like.shape)


def _integers(like: torch.Tensor, key: tuple[int, int], first: int, last: int) -> torch.Tensor:
    integers = torch.empty(like.numel(), dtype=torch.int64, device=like.device)
    ops.philox_randint.kernel(integers, *key, first, last)
    return integers.view(like.shape)


def _floats(like: torch.Tensor, generator: torch.Generator | None, fill: Op[..., None], *args: float) -> torch.Tensor:
    floats = torch.empty(like.numel(), dtype=torch.float32, device=like.device)
    fill.kernel(floats, *philox_key(generator, like.device), *args)
    return floats.view(like.shape)


def _copy(tensor: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        tensor.copy_(numbers.view(tensor.shape))
    return tensor


def _drawn(draw: Op[..., Any], generator: torch.Generator | None, *parameters: torch.Tensor) -> torch.Tensor:
    """One number for each of the parameters. What has more dimensions than the ops take is drawn in a row."""
    broadcast = torch.broadcast_tensors(*(p.detach() for p in parameters))
    shape = broadcast[0].shape
    if len(shape) > _RANKS:
        broadcast = tuple(p.reshape(-1) for p in broadcast)
    numbers: torch.Tensor = draw.kernel(*broadcast, *philox_key(generator, broadcast[0].device))
    return numbers.reshape(shape)


def _fill(
    name: str,
    tensor: torch.Tensor,
    generator: torch.Generator | None,
    fill: Op[..., None],
    *args: float,
    float64: bool = False,
) -> torch.Tensor:
    _check_floating(name, tensor)
    if tensor.dtype == torch.float64 and not float64:
        return _copy(tensor, _floats(tensor, generator, fill, *args))
    if tensor.dim() > _RANKS:
        flat = torch.empty(tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        return _copy(tensor, _fill(name, flat, generator, fill, *args, float64=float64))
    fill.kernel(tensor, *philox_key(generator, tensor.device), *args)
    torch.autograd.graph.increment_version(tensor)
    return tensor
