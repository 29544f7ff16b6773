# SPDX-License-Identifier: MIT
"""Random numbers: those of the core's ops, with the key that torch's generator gives after `manual_seed`."""

from __future__ import annotations

from ..registry import by_core


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


def key_of(seed: int) -> tuple[int, int]:
    """The seed, and the first number of 64 bits that is drawn after it: its high word comes first."""
    generator = Mersenne(seed)
    high, low = generator.word(), generator.word()
    call = high << 32 | low
    return seed, call - (1 << 64) if call >> 63 else call


def _key(seed: int) -> str:
    first, call = key_of(seed)
    return f"seed={first}, call={call}"


_TENSORS = (
    "bits[1003]#1",
    "normal[7, 5]#1",
    "normal[0]#1",
    "normal.bfloat16[33]#1",
    "normal.float16[33]#1",
    "normal[70003]#1",
)
_FILLED = [f"self={tensor}, seed={seed}" for tensor in _TENSORS for seed in (0, 7)]


@by_core("uniform_", cases=[*_FILLED, "self=normal[33]#1, from=-0.2, to=0.2, seed=3"])
def uniform(self: str, seed: int, to: float = 1.0, **low: float) -> str:
    return f"philox_uniform(tensor={self}, {_key(seed)}, low={low.get('from', 0.0)}, high={to})"


@by_core("normal_", cases=[*_FILLED, "self=normal[33]#1, mean=0.3, std=2.5, seed=3"])
def normal(self: str, seed: int, mean: float = 0.0, std: float = 1.0) -> str:
    return f"philox_normal(tensor={self}, {_key(seed)}, mean={mean}, std={std})"


@by_core("exponential_", cases=[*_FILLED, "self=normal[33]#1, lambd=0.3, seed=3"])
def exponential(self: str, seed: int, lambd: float = 1.0) -> str:
    return f"philox_exponential(tensor={self}, {_key(seed)}, lambd={lambd})"


@by_core("bernoulli_.float", cases=[*(f"{c}, p=0.3" for c in _FILLED), "self=normal[33]#1, p=1.0, seed=3"])
def bernoulli(self: str, seed: int, p: float = 0.5) -> str:
    return f"philox_bernoulli(tensor={self}, {_key(seed)}, p={p})"


@by_core(
    "random_.from",
    cases=[
        f"self=classes9[1003]#1, from={low}, to={high}, seed={seed}"
        for low, high in ((0, 10), (-7, 1 << 40))
        for seed in (0, 7)
    ],
)
def integers(self: str, seed: int, to: int, **low: int) -> str:
    return f"philox_randint(tensor={self}, {_key(seed)}, first={low['from']}, last={to - 1})"
