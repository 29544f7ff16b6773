# SPDX-License-Identifier: MIT
"""Random numbers: those of the core's ops, and the distributions that python/repdl/random makes of them."""

from __future__ import annotations

import math
from typing import Any

from ..functions import cospi, exp, log, log1p, power, sinpi
from ..numbers import add, below, div, float32, mul, sqrt, sub
from ..philox import Key, bernoulli, block, exponential, integers, keys, normal, open_unit, uniform, unit, words
from ..registry import reference
from ..sums import sum_of
from ..tensors import Tensor, broadcast_shape, each, expand, rounded, size_of
from .choices import up

_LOW = ("", ".bfloat16", ".float16")


def filled(self: Tensor, numbers: list[float]) -> Tensor:
    return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in numbers])


# The core's.

_ANY = [
    f"self={tensor}, seed={seed}"
    for tensor in (
        "bits[1003]#1",
        "normal[7, 5]#1",
        "normal[0]#1",
        "normal.bfloat16[33]#1",
        "normal.float16[33]#1",
        "normal[70003]#1",
    )
    for seed in (0, 7)
]


@reference("uniform_", cases=[*_ANY, "self=normal[33]#1, from=-0.2, to=0.2, seed=3"])
def uniform_numbers(self: Tensor, seed: int, to: float = 1.0, **low: float) -> Tensor:
    return filled(self, uniform(next(keys(seed)), len(self.data), low.get("from", 0.0), to, self.dtype))


@reference("normal_", cases=[*_ANY, "self=normal[33]#1, mean=0.3, std=2.5, seed=3"])
def normal_numbers(self: Tensor, seed: int, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return filled(self, normal(next(keys(seed)), len(self.data), mean, std))


@reference("exponential_", cases=[*_ANY, "self=normal[33]#1, lambd=0.3, seed=3"])
def exponential_numbers(self: Tensor, seed: int, lambd: float = 1.0) -> Tensor:
    return filled(self, exponential(next(keys(seed)), len(self.data), lambd))


@reference("bernoulli_.float", cases=[*(f"{c}, p=0.3" for c in _ANY), "self=normal[33]#1, p=1.0, seed=3"])
def bernoulli_numbers(self: Tensor, seed: int, p: float) -> Tensor:
    return filled(self, bernoulli(next(keys(seed)), [p] * len(self.data)))


@reference(
    "random_.from",
    cases=[
        f"self=classes9[1003]#1, from={low}, to={high}, seed={seed}"
        for low, high in ((0, 10), (-7, 1 << 40))
        for seed in (0, 7)
    ],
)
def random_integers(self: Tensor, seed: int, to: int, **low: int) -> Tensor:
    return Tensor(self.dtype, self.shape, integers(next(keys(seed)), len(self.data), low["from"], to - 1))


# Made of them.

_FILLED = [
    *(f"self=bits{t}[{shape}]#1, seed={seed}" for t in _LOW for shape, seed in (("203", 0), ("7, 5", 7))),
    "self=normal[0]#1, seed=0",
    "self=normal[]#1, seed=-3",
]
_LARGE = "self=normal[20011]#1, seed=9"


@reference(
    "log_normal_",
    cases=[*_FILLED, _LARGE, "self=normal[203]#1, mean=0.3, std=0.1, seed=3", "self=normal[99]#1, std=1e30, seed=3"],
)
def log_normal(self: Tensor, seed: int, mean: float = 1.0, std: float = 2.0) -> Tensor:
    return filled(self, [exp(x) for x in normal(next(keys(seed)), len(self.data), mean, std)])


@reference(
    "cauchy_",
    cases=[
        *_FILLED,
        _LARGE,
        "self=normal[203]#1, median=0.3, sigma=1e-42, seed=3",
        "self=normal[99]#1, sigma=1e38, seed=4",
    ],
)
def cauchy(self: Tensor, seed: int, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    middle, width = float32(median), float32(sigma)

    def one(word: int) -> float:
        turns = (2 * (word >> 9) + 1) * 2.0**-24 - 0.5
        return add(middle, mul(width, div(sinpi(turns), cospi(turns))))

    return filled(self, [one(word) for word in words(next(keys(seed)), len(self.data))])


@reference(
    "geometric_",
    cases=[
        *(f"{c}, p=0.3" for c in (*_FILLED, _LARGE)),
        *(f"self=bits[203]#1, p={p}, seed=5" for p in (0.999, 1e-9, 1e-40, 0.9999999999)),
        *(
            f"self=ties.{t}[203]#1, p={p}, seed=5"
            for t in ("int64", "int32", "int16", "int8", "uint8")
            for p in (0.01, 1e-30)
        ),
    ],
)
def geometric(self: Tensor, p: float, seed: int) -> Tensor:
    """max(ceil(e / -log1p(-p)), 1); of integers at most the largest float32 that they hold."""
    rate = -log1p(float32(-p))
    numbers = [max(up(e), 1.0) for e in exponential(next(keys(seed)), len(self.data), rate)]
    if self.is_float:
        return filled(self, numbers)
    bits = int(self.dtype.removeprefix("u").removeprefix("int")) - (not self.dtype.startswith("u"))
    return Tensor(self.dtype, self.shape, [int(min(x, below(2.0**bits, "float32"), 2.0**bits - 1)) for x in numbers])


@reference(
    "bernoulli_.Tensor",
    cases=[
        *(f"self=bits{t}[7, 40]#1, p=unit{t}[40]#2, seed=3" for t in _LOW),
        "self=ties.int64[203]#1, p=unit[203]#2, seed=3",
        "self=classes2.bool[203]#1, p=classes2.float32[203]#2, seed=3",
        "self=bits[10007]#1, p=unit[]#5, seed=3",
    ],
)
def bernoulli_of_tensor(self: Tensor, p: Tensor, seed: int) -> Tensor:
    drawn = bernoulli(next(keys(seed)), expand(p, self.shape))
    return Tensor(self.dtype, self.shape, drawn if self.is_float else [int(x) for x in drawn])


def _moved(like: Tensor, std: Any, mean: Any, seed: int) -> Tensor:
    """Numbers of mean 0 and deviation 1, rounded to the type, times one operand, plus the other, each rounded."""
    shape = broadcast_shape(*(t.shape for t in (std, mean) if isinstance(t, Tensor)))
    numbers = [rounded(x, like.dtype) for x in normal(next(keys(seed)), size_of(shape))]
    return each(add, each(mul, Tensor(like.dtype, shape, numbers), std), mean)


@reference(
    "normal.Tensor_Tensor",
    cases=[
        *(f"mean=normal{t}[203]#1, std=positive{t}[203]#2, seed=3" for t in _LOW),
        *(f"mean=wide{t}[7, 1]#1, std=unit{t}[9]#2, seed=0" for t in _LOW),
        "mean=special[99]#1, std=zeros[1]#2, seed=1",
        "mean=normal[20011]#1, std=positive[20011]#2, seed=3",
    ],
)
def normal_of_tensors(mean: Tensor, std: Tensor, seed: int) -> Tensor:
    return _moved(mean, std, mean, seed)


@reference(
    "normal.Tensor_float", cases=[f"mean=wide{t}[7, 29]#1{std}, seed=3" for t in _LOW for std in ("", ", std=0.3")]
)
def normal_of_means(mean: Tensor, seed: int, std: float = 1.0) -> Tensor:
    return _moved(mean, std, mean, seed)


@reference("normal.float_Tensor", cases=[f"mean=0.3, std=positive{t}[7, 29]#1, seed=3" for t in _LOW])
def normal_of_deviations(mean: float, std: Tensor, seed: int) -> Tensor:
    return _moved(std, std, mean, seed)


@reference(
    "normal.float_float",
    cases=[f"mean=0.3, std=2.5, size=[7, 29], dtype={t}, seed=3" for t in ("float32", "bfloat16", "float16")],
)
def normal_of_size(mean: float, std: float, size: list[int], dtype: str, seed: int) -> Tensor:
    numbers = normal(next(keys(seed)), math.prod(size), mean, std)
    return Tensor(dtype, tuple(size), [rounded(x, dtype) for x in numbers])


@reference(
    "rrelu_with_noise",
    cases=[
        f"self={x}{t}[7, 29]#1, noise=zeros{t}[7, 29]#2, lower={low}, upper={high}, training={training}, seed=3"
        for t in _LOW
        for x in ("special", "zeros", "normal")
        for low, high, training in ((0.125, 1 / 3, True), (0.3, 0.3, True), (0.1, 0.3, False))
    ]
    + ["self=normal[20011]#1, noise=zeros[20011]#2, training=True, seed=3"],
)
def rrelu_with_noise(
    self: Tensor, noise: Tensor, training: bool, seed: int, lower: float = 0.125, upper: float = 1 / 3
) -> list[Tensor]:
    """x above 0; else x times a slope of [lower, upper), or times their mean unless training."""
    if not training:
        middle = float32((lower + upper) / 2)
        return [noise, each(lambda x: x if x > 0 else mul(x, middle), self)]
    slopes = uniform(next(keys(seed)), len(self.data), lower, upper, self.dtype)
    used = [1.0 if x > 0 else slope for x, slope in zip(self.data, slopes, strict=True)]
    written = Tensor(self.dtype, self.shape, used)
    return [written, each(mul, self, written)]


@reference(
    "randperm",
    cases=[
        f"n={n}, dtype={t}, seed={seed}"
        for t in ("int64", "int32", "float32")
        for n, seed in ((0, 0), (1, 1), (301, 2))
    ]
    + ["n=127, dtype=int8, seed=3", "n=20011, dtype=int64, seed=4", "n=257, dtype=bfloat16, seed=5"],
)
def randperm(n: int, dtype: str, seed: int) -> Tensor:
    drawn = integers(next(keys(seed)), n, -(2**63), 2**63 - 1)
    order = sorted(range(n), key=drawn.__getitem__)
    return Tensor(dtype, (n,), [rounded(float(i), dtype) for i in order] if "float" in dtype else order)


_WEIGHTS = (
    *(f"positive{t}[5, 37]#1" for t in _LOW),
    "unit[301]#1",
    "classes2.float32[3, 99]#1",
    "rising[64]#1",
)


@reference(
    "multinomial",
    cases=[
        f"self={weights}, num_samples={count}, replacement={again}, seed={seed}"
        for weights in _WEIGHTS
        for count, again, seed in ((7, False, 0), (20, False, 1), (1, True, 2), (203, True, 3))
    ]
    + ["self=positive[2, 10007]#1, num_samples=100, replacement=False, seed=4"],
)
def multinomial(self: Tensor, num_samples: int, replacement: bool, seed: int) -> Tensor:
    key = next(keys(seed))
    n = self.shape[-1]
    rows = [self.data[i : i + n] for i in range(0, len(self.data), n)]
    scaled = [[w / max(row) for w in row] for row in rows]
    chosen = _with_replacement if replacement else _without_replacement
    found = [i for row in chosen(scaled, num_samples, key) for i in row]
    return Tensor("int64", (*self.shape[:-1], num_samples), found)


Rows = list[list[float]]


def _without_replacement(rows: Rows, count: int, key: Key) -> list[list[int]]:
    """The largest of weight / e, e exponential; weights of 0 come last."""
    times = iter(exponential(key, sum(map(len, rows))))
    scores = [[div(float32(w), time) if w > 0 else -1.0 for w, time in zip(row, times, strict=False)] for row in rows]
    return [sorted(range(len(row)), key=lambda i: -row[i])[:count] for row in scores]


def _with_replacement(rows: Rows, count: int, key: Key) -> list[list[int]]:
    """In integers: the first place at which the sum is above floor(r * all / 2^62)."""
    drawn = iter(integers(key, count * len(rows), 0, 2**62 - 1))
    found = []
    for row in rows:
        bits = 62 - len(row).bit_length()
        weights = [max(math.floor(w * 2.0**bits), 1) if w > 0 else 0 for w in row]
        sums = [sum(weights[: i + 1]) for i in range(len(row))]
        places = [next(drawn) * sums[-1] >> 62 for _ in range(count)]
        found.append([next(i for i, total in enumerate(sums) if total > place) for place in places])
    return found


_SMALLEST = 2.0**-126


def _gamma(alpha: list[float], seed: int) -> list[float]:
    """By Marsaglia and Tsang, as op philox_gamma: attempt t of element k has the words of block k + 2^58 t."""
    key = next(keys(seed))
    found = []
    for k, a in enumerate(alpha):
        d = sub(add(a, 1.0) if a < 1 else a, float32(1 / 3))
        number = d
        for t in range(16):
            w0, w1, w2, _ = block(key, k + (t << 58))
            radius = sqrt(mul(-2.0, log(open_unit(w0))))
            x = mul(radius, cospi(2 * unit(w1)))
            root = add(1.0, div(x, sqrt(mul(d, 9.0))))
            v = mul(mul(root, root), root)
            square = add(mul(mul(x, x), 0.5), d)
            bound = add(sub(square, mul(d, v)), mul(d, log(max(v, _SMALLEST))))
            if v > 0 and log(open_unit(w2)) < bound:
                number = mul(d, v)
                break
        if a < 1:
            number = mul(number, power(open_unit(block(key, k)[3]), div(1.0, a)))
        found.append(max(number, _SMALLEST))
    return found


@reference(
    "_standard_gamma",
    cases=[
        *(f"self=positive{t}[7, 9]#1, seed=3" for t in _LOW),
        *(f"self=unit{t}[63]#1, seed=4" for t in (".bfloat16", ".float16")),
        "self=classes500.float32[49]#1, seed=5",
        "self=normal[0]#1, seed=6",
        "self=positive[1009]#1, seed=6",
    ],
)
def standard_gamma(self: Tensor, seed: int) -> Tensor:
    return filled(self, _gamma(self.data, seed))


@reference(
    "_sample_dirichlet", cases=[f"self=positive{t}[7, 9]#1, seed=3" for t in _LOW] + ["self=unit[3, 2, 70]#1, seed=3"]
)
def sample_dirichlet(self: Tensor, seed: int) -> Tensor:
    """Samples of gamma distributions in float32 over their sum, rounded to the type."""
    parts, n = _gamma(self.data, seed), self.shape[-1]
    found = []
    for i in range(0, len(parts), n):
        total = sum_of(parts[i : i + n])
        found += [div(x, total) for x in parts[i : i + n]]
    return filled(self, found)
