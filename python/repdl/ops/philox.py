# SPDX-License-Identifier: MIT
"""Random numbers from a counter: element i of a tensor is a function of (seed, call, i). `repdl.random` uses them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from repdl._op import Op, Sample, TakeRows, Tensor, op, sample


@op(outputs=())
def philox_bits(tensor: Tensor, seed: int, call: int, offset: int = 0) -> None:
    """Fills a tensor with random integers of [0, 2^32), the words of Philox4x32-10.

    Args:
        tensor: int64, any strides without overlaps; changed.
        seed: 64 bits.
        call: 64 bits; another for each call.
        offset: the number, in the stream, of the tensor's first element; so a part of a tensor can be filled alone.
    """


@op(outputs=())
def philox_randint(tensor: Tensor, seed: int, call: int, first: int, last: int, offset: int = 0) -> None:
    """Fills a tensor with random integers from `first` to `last`, both included.

    Args:
        tensor: int64, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        first, last: 64 bits, first <= last.
    """


@op(outputs=())
def philox_uniform(tensor: Tensor, seed: int, call: int, low: float = 0.0, high: float = 1.0, offset: int = 0) -> None:
    """Fills a tensor with random numbers of [low, high).

    Args:
        tensor: float32, bfloat16, float16 or float64, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        low, high: the interval, low <= high; rounded to float32 unless the tensor is float64.
    """


@op(outputs=())
def philox_normal(tensor: Tensor, seed: int, call: int, mean: float = 0.0, std: float = 1.0, offset: int = 0) -> None:
    """Fills a tensor with normally distributed numbers.

    Args:
        tensor: float32, bfloat16 or float16, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        mean, std: std >= 0; rounded to float32.
    """


@op(outputs=())
def philox_bernoulli(tensor: Tensor, seed: int, call: int, p: float = 0.5, offset: int = 0) -> None:
    """Fills a tensor with ones, each with probability p, and zeros.

    Args:
        tensor: float32, bfloat16 or float16, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        p: in [0, 1]; multiples of 2^-32 count.
    """


@op(outputs=())
def philox_exponential(tensor: Tensor, seed: int, call: int, lambd: float = 1.0, offset: int = 0) -> None:
    """Fills a tensor with exponentially distributed numbers, of mean 1 / lambd.

    Args:
        tensor: float32, bfloat16 or float16, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        lambd: above 0; rounded to float32.
    """


@op(outputs=())
def philox_log_normal(
    tensor: Tensor, seed: int, call: int, mean: float = 1.0, std: float = 2.0, offset: int = 0
) -> None:
    """Fills a tensor with numbers whose logarithms are normally distributed.

    Args:
        tensor: float32, bfloat16 or float16, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        mean, std: of the logarithms, std >= 0; rounded to float32.
    """


@op(outputs=())
def philox_cauchy(
    tensor: Tensor, seed: int, call: int, median: float = 0.0, sigma: float = 1.0, offset: int = 0
) -> None:
    """Fills a tensor with numbers of Cauchy's distribution.

    Args:
        tensor: float32, bfloat16 or float16, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        median, sigma: sigma above 0; rounded to float32.
    """


@op(outputs=())
def philox_geometric(
    tensor: Tensor, seed: int, call: int, p: float = 0.5, highest: float | None = None, offset: int = 0
) -> None:
    """Fills a tensor with the numbers of the first success in trials of probability p.

    Args:
        tensor: float32, bfloat16 or float16, any strides without overlaps; changed.
        seed, call, offset: as in `philox_bits`.
        p: above 0 and below 1; rounded to float32.
        highest: what larger numbers become, at least 1; rounded to float32.
    """


def rows_of_stream(*names: str) -> TakeRows:
    """For `Op.rows`: rows keep their numbers in the stream. What is broadcast stays."""

    def take(arguments: Mapping[str, Any], rows: slice) -> dict[str, Any] | None:
        shape = np.broadcast_shapes(*(arguments[name].shape for name in names))
        if not shape:
            return None
        start, _, _ = rows.indices(shape[0])
        taken = {
            name: arguments[name][rows]
            for name in names
            if arguments[name].ndim == len(shape) and arguments[name].shape[0] == shape[0]
        }
        return {**arguments, **taken, "offset": arguments["offset"] + start * math.prod(shape[1:])}

    return take


_rows = rows_of_stream("tensor")

_INTEGERS: dict[Op[..., Any], list[dict[str, int]]] = {
    philox_bits: [{}, {}],
    philox_randint: [{"first": -3, "last": 7}, {"first": -(2**63), "last": 2**63 - 1}, {"first": 0, "last": 2**63 - 2}],
}

_FLOATS: dict[Op[..., Any], list[dict[str, float]]] = {
    philox_bernoulli: [{"p": 0.3}, {"p": 0.0}, {"p": 1.0}, {"p": 1e-3}, {"p": 0.9999999}],
    philox_exponential: [{}, {"lambd": 0.25}, {"lambd": 1e-30}, {"lambd": 3.0}],
    philox_normal: [{}, {"mean": 10.0, "std": 0.1}, {"mean": -1e-3, "std": 1e30}, {"std": 0.0}],
    philox_uniform: [
        {}, {"low": -0.2, "high": 0.2}, {"low": 1.0, "high": 2.0}, {"low": -1e-40, "high": 0.0},
        {"low": 3.0, "high": 3.0}, {"low": -3e4, "high": 1e30}, {"low": 2.0, "high": 2.0000003},
    ],
}  # fmt: skip


def _declare(declared: Op[..., Any], kinds: tuple[str, ...], options: Sequence[Mapping[str, Any]]) -> None:
    @declared.samples
    def _() -> Iterator[Sample]:
        # What the tensor holds does not matter: NaN least of all.
        for i, option in enumerate(options):
            for kind in kinds:
                yield sample(tensor=f"{kind}[{1000 + i}]#1", seed=i - 1, call=7 - i, **option)
        # Words next to 2^32 and to 0: the ends of every interval.
        for option in options[:3]:
            for kind in kinds:
                yield sample(tensor=f"{kind}[32]#1", seed=1, call=2, offset=30006700, **option)
                yield sample(tensor=f"{kind}[32]#1", seed=1, call=2, offset=66896680, **option)
        first, kind = options[0], kinds[0]
        yield sample(tensor=f"{kind}[]#1", seed=5, call=1, **first)
        yield sample(tensor=f"{kind}[3, 0]#1", seed=5, call=1, **first)
        yield sample(tensor=f"{kind}[30000]#1", seed=123456789012345, call=987654321098765, **first)
        # Around a change of the counter's second word, and as far as it goes.
        yield sample(tensor=f"{kind}[101]#1", seed=3, call=4, offset=2**34 - 51, **first)
        yield sample(tensor=f"{kind}[4, 5]#1", seed=3, call=4, offset=2**63 - 21, **first)
        yield sample(tensor=f"{kind}[5, 7, 3]#1", seed=2**63 - 1, call=-(2**63), **first)

    declared.rows(_rows)


_MADE_OF_THEM: dict[Op[..., Any], list[dict[str, float]]] = {
    philox_cauchy: [{"median": 0.3, "sigma": 1e-42}, {"sigma": 1e38}],
    philox_geometric: [{"p": 0.3}, {"p": 1e-9, "highest": 127.0}, {"p": 0.9999999999}, {"p": 1e-40}],
    philox_log_normal: [{"mean": 0.3, "std": 0.1}, {"std": 1e30}],
}


def _declare_made(declared: Op[..., Any], options: Sequence[Mapping[str, Any]]) -> None:
    @declared.samples
    def _() -> Iterator[Sample]:
        for i, option in enumerate(options):
            yield sample(tensor=f"bits[{203 + i}]#1", seed=i - 1, call=7 - i, **option)
        yield sample(tensor="normal.bfloat16[99]#1", seed=1, call=2, offset=30006690, **options[0])
        yield sample(tensor="normal.float16[7, 5]#1", seed=1, call=2, offset=66896670, **options[0])
        yield sample(tensor="bits[]#1", seed=5, call=1)
        yield sample(tensor="bits[0, 3]#1", seed=5, call=1)
        yield sample(tensor="bits[2101]#1", seed=123456789012345, call=987654321098765)

    declared.rows(_rows)


for _op in _MADE_OF_THEM:
    _declare_made(_op, _MADE_OF_THEM[_op])
for _op in _INTEGERS:
    _declare(_op, ("classes9",), _INTEGERS[_op])
for _op in _FLOATS:
    _declare(_op, ("bits", "normal.bfloat16", "normal.float16"), _FLOATS[_op])
