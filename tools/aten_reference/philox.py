# SPDX-License-Identifier: MIT
"""Random numbers from a counter, docs/arithmetic.md, "Random numbers", with the keys that torch's generator gives."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .functions import cospi, log, sinpi
from .numbers import below, div, float32, fma, mul, sqrt, sub
from .tensors import rounded

Key = tuple[int, int]
"""The seed, and what of the generator the call took."""


class Mersenne:
    """mt19937 (Matsumoto and Nishimura, 1998), as torch's CPU generator has it."""

    def __init__(self, seed: int) -> None:
        self.state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            last = self.state[-1]
            self.state.append((1812433253 * (last ^ last >> 30) + i) & 0xFFFFFFFF)
        self.next = 624

    def word(self) -> int:
        if self.next == 624:
            for i in range(624):
                y = self.state[i] & 0x80000000 | self.state[(i + 1) % 624] & 0x7FFFFFFF
                self.state[i] = self.state[(i + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
            self.next = 0
        y = self.state[self.next]
        self.next += 1
        y ^= y >> 11
        y ^= y << 7 & 0x9D2C5680
        y ^= y << 15 & 0xEFC60000
        return y ^ y >> 18


def keys(seed: int) -> Iterator[Key]:
    """Those of the calls after `manual_seed`: each takes a number of 64 bits, whose high word comes first."""
    generator = Mersenne(seed)
    while True:
        high, low = generator.word(), generator.word()
        yield seed, high << 32 | low


def block(key: Key, number: int) -> list[int]:
    """The four words of a block."""
    low = 0xFFFFFFFF
    seed, call = (number % 2**64 for number in key)
    x = [number & low, number >> 32, call & low, call >> 32]
    k = [seed & low, seed >> 32]
    for _ in range(10):
        p, q = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [q >> 32 ^ x[1] ^ k[0], q & low, p >> 32 ^ x[3] ^ k[1], p & low]
        k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
    return x


def words(key: Key, count: int) -> list[int]:
    return [word for number in range((count + 3) // 4) for word in block(key, number)][:count]


def unit(word: int) -> float:
    return (word >> 8) * 2.0**-24


def open_unit(word: int) -> float:
    return min(float32((word + 1) / 2**32), 1 - 2.0**-24)


def uniform(key: Key, count: int, low: float, high: float, dtype: str = "float32") -> list[float]:
    first, last = float32(low), float32(high)
    numbers = [rounded(fma(unit(word), sub(last, first), first), dtype) for word in words(key, count)]
    return [x if x < last or low == high else below(last, dtype) for x in numbers]


def normal(key: Key, count: int, mean: float = 0.0, std: float = 1.0) -> list[float]:
    pairs = words(key, count + count % 2)
    mean, std = float32(mean), float32(std)
    found = []
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        radius, turns = sqrt(mul(-2.0, log(open_unit(first)))), 2 * unit(second)
        found += [fma(std, mul(radius, of_turns(turns)), mean) for of_turns in (cospi, sinpi)]
    return found[:count]


def exponential(key: Key, count: int, lambd: float = 1.0) -> list[float]:
    rate = float32(lambd)
    return [div(-log(open_unit(word)), rate) for word in words(key, count)]


def integers(key: Key, count: int, first: int, last: int) -> list[int]:
    of_two = words(key, 2 * count)
    span = last - first + 1
    return [first + ((low + (high << 32)) * span >> 64) for low, high in zip(of_two[::2], of_two[1::2], strict=True)]


def bernoulli(key: Key, probabilities: list[float]) -> list[float]:
    drawn = words(key, len(probabilities))
    return [float(word < math.floor(p * 2.0**32)) for word, p in zip(drawn, probabilities, strict=True)]
