# SPDX-License-Identifier: MIT
"""Random numbers from a counter: the generator itself, its samplers' distributions, and torch's state."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

import repdl
from repdl import _core, ops
from repdl.random import philox, philox_key
from support import TARGETS, run_python, same_bits


def philox_block(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 once more, from the paper."""
    x, (k0, k1) = list(counter), key
    for _ in range(10):
        p, q = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [q >> 32 ^ x[1] ^ k0, q % 2**32, p >> 32 ^ x[3] ^ k1, p % 2**32]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return x


# The known answers that come with Random123.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words_of(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter: str, key: str, answer: str) -> None:
    assert philox_block(words_of(counter), words_of(key)) == words_of(answer)


def signed(low: int, high: int) -> int:
    value = high << 32 | low
    return value - 2**64 if value >= 2**63 else value


def test_the_op_has_the_words_of_the_blocks() -> None:
    zeros = torch.empty(4, dtype=torch.int64)
    ops.philox_bits(zeros, 0, 0)
    assert zeros.tolist() == words_of(KNOWN[0][2])
    random = np.random.default_rng(3)
    for target in TARGETS:
        _core.set_target(target)
        for _ in range(20):
            key, call = random.integers(0, 2**32, 2).tolist(), random.integers(0, 2**32, 2).tolist()
            block = int(random.integers(0, 2**61 - 100))
            tensor = torch.empty(400, dtype=torch.int64)
            ops.philox_bits(tensor, signed(*key), signed(*call), 4 * block)
            for j in (0, 1, 7, 64, 99):
                counter = [(block + j) % 2**32, (block + j) >> 32, *call]
                assert tensor[4 * j : 4 * j + 4].tolist() == philox_block(counter, key)


SAMPLERS: dict[str, Callable[..., torch.Tensor]] = {
    "uniform_": lambda t, **k: philox.uniform_(t, -1.0, 3.0, **k),
    "normal_": lambda t, **k: philox.normal_(t, 1.0, 2.0, **k),
    "bernoulli_": lambda t, **k: philox.bernoulli_(t, 0.3, **k),
    "bernoulli_ of a tensor": lambda t, **k: philox.bernoulli_(t, torch.tensor(0.3, device="cpu"), **k),
    "exponential_": lambda t, **k: philox.exponential_(t, 0.7, **k),
    "geometric_": lambda t, **k: philox.geometric_(t, 0.2, **k),
    "cauchy_": lambda t, **k: philox.cauchy_(t, 1.0, 2.0, **k),
    "log_normal_": lambda t, **k: philox.log_normal_(t, 0.1, 0.5, **k),
    "random_": lambda t, **k: philox.random_(t, 3, 200, **k),
    "native_dropout": lambda t, **k: t.copy_(philox.native_dropout(torch.ones_like(t), 0.4, True, **k)[0]),
}
"""Each fills a tensor and returns it."""

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


@pytest.fixture(params=SAMPLERS)
def sampler(request: Any) -> Callable[..., torch.Tensor]:
    return SAMPLERS[request.param]


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts_threads_and_targets_give_the_same_numbers(sampler: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(11)
    expected = sampler(torch.empty(70, 33, 5, dtype=dtype))

    def layouts() -> Iterator[torch.Tensor]:
        yield torch.empty(5, 70, 33, dtype=dtype).permute(1, 2, 0)
        yield torch.empty(33, 70, 5, dtype=dtype).transpose(0, 1)
        yield torch.empty(140, 33, 7, dtype=dtype)[::2, :, 1:6]
        yield torch.empty(70 * 33 * 5 + 1, dtype=dtype)[1:].view(70, 33, 5)

    for number, target in enumerate(TARGETS):
        _core.set_target(target)
        for threads in (1, 2, 3, 7):
            repdl.set_num_threads(threads)
            for tensor in [*layouts()][number % 2 :: 2]:
                torch.manual_seed(11)
                assert same_bits(sampler(tensor).contiguous(), expected), (target, threads, tensor.stride())


@pytest.mark.parametrize("dtype", DTYPES)
def test_more_dimensions_than_an_op_takes(sampler: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(11)
    expected = sampler(torch.empty(144, dtype=dtype))
    torch.manual_seed(11)
    tensor = torch.empty(3, 2, 1, 2, 1, 2, 1, 3, 2, dtype=dtype).transpose(0, 8)
    assert same_bits(sampler(tensor).reshape(-1), expected)
    assert tensor.stride(0) == 1


@pytest.mark.parametrize(
    ("rng", "dtype"), [("philox", torch.complex64), ("philox", torch.complex128), ("torch", torch.complex64)]
)
def test_complex_numbers_have_drawn_parts(rng: str, dtype: torch.dtype) -> None:
    real = dtype.to_real()
    with repdl.reproducible(rng=rng):
        torch.manual_seed(1)
        parts = [
            torch.empty(50, 2, dtype=real).uniform_(0.1, 0.7),
            torch.empty(50, 2, dtype=real).normal_(0, 1 / 2**0.5),
        ]
        parts.append(torch.rand(50, 2, dtype=real))
        torch.manual_seed(1)
        numbers = [torch.empty(50, dtype=dtype).uniform_(0.1, 0.7), torch.randn(50, dtype=dtype)]
        numbers.append(torch.rand(50, dtype=dtype))
    for drawn, expected in zip(numbers, parts, strict=True):
        assert same_bits(torch.view_as_real(drawn), expected)


@pytest.mark.parametrize("rng", ["philox", "torch"])
def test_torch_fills_more_dimensions(rng: str) -> None:
    calls: list[Callable[..., torch.Tensor]] = [
        torch.rand,
        torch.randn,
        lambda *shape: torch.randint(0, 1000, shape),
        lambda *shape: torch.empty(shape).uniform_(-1, 3),
        lambda *shape: torch.nn.functional.dropout(torch.ones(shape)),
    ]
    with repdl.reproducible(rng=rng):
        for call in calls:
            drawn = []
            for shape in ((96,), (3, 2, 1, 2, 1, 2, 1, 2, 2)):
                torch.manual_seed(1)
                drawn.append(call(*shape).reshape(-1))
            assert same_bits(*drawn)


def test_what_lies_between_the_elements_stays() -> None:
    memory = torch.full((50, 4), 7.0)
    philox.normal_(memory[:, ::2])
    assert (memory[:, 1::2] == 7.0).all() and not (memory[:, ::2] == 7.0).any()


def test_parts_have_the_numbers_of_the_whole() -> None:
    whole, parts = torch.empty(1000), torch.empty(1000)
    for op in (ops.philox_uniform, ops.philox_normal, ops.philox_exponential, ops.philox_bernoulli):
        op(whole, 5, 6)
        for start, stop in ((0, 1), (1, 334), (334, 800), (800, 1000)):
            op(parts[start:stop], 5, 6, offset=start)
        assert same_bits(parts, whole)


def test_the_seed_gives_the_numbers_and_calls_differ(sampler: Any) -> None:
    def draw() -> torch.Tensor:
        return sampler(torch.empty(1000))

    torch.manual_seed(3)
    first, second = draw(), draw()
    torch.manual_seed(3)  # the same seed again
    assert same_bits(draw(), first)
    assert same_bits(draw(), second)
    assert not same_bits(first, second)
    torch.manual_seed(4)
    assert not same_bits(draw(), first)
    torch.manual_seed(3 + 2**32)  # mt19937 takes 32 bits of a seed only
    assert not same_bits(draw(), first)
    assert same_bits(sampler(torch.empty(1000), generator=torch.Generator().manual_seed(3)), first)


def test_torch_saves_and_restores_the_state(sampler: Any) -> None:
    def draw() -> torch.Tensor:
        return sampler(torch.empty(100))

    torch.manual_seed(3)
    draw()
    state = torch.get_rng_state()
    expected = draw()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        draw()
    after = draw()
    torch.manual_seed(50)
    torch.set_rng_state(state)
    assert same_bits(draw(), expected)
    assert same_bits(draw(), after)


def test_the_size_of_a_call_does_not_move_the_next(sampler: Any) -> None:
    after = []
    for shape in ((1000,), (), (0,), (3, 0, 2)):
        torch.manual_seed(3)
        filled = sampler(torch.empty(shape))
        assert filled.shape == shape
        after.append(philox_key())
    assert len(set(after)) == 1


def test_checkpoints_draw_again_what_they_drew() -> None:
    torch.manual_seed(3)
    x = torch.ones(1000, requires_grad=True)
    output = checkpoint(lambda t: philox.native_dropout(t, 0.5)[0] * 3, x, use_reentrant=False)
    assert isinstance(output, torch.Tensor)
    output.sum().backward()
    assert x.grad is not None and same_bits(x.grad, output.detach())


def test_the_state_survives_in_another_process() -> None:
    code = """
import torch, repdl
torch.manual_seed(-5)
for _ in range(400):
    repdl.random.philox_key()
x = repdl.random.philox.normal_(torch.empty(100))
print(repdl.random.philox_key(), repdl.utils.get_hash(x))
"""
    torch.manual_seed(-5)
    for _ in range(400):
        philox_key()
    x = philox.normal_(torch.empty(100))
    assert run_python(code).split("\n")[0] == f"{philox_key()} {repdl.utils.get_hash(x)}"


def test_the_key_is_what_mt19937_draws() -> None:
    """NumPy has that generator too."""
    torch.manual_seed(5)
    words = np.random.RandomState(5).randint(0, 2**32, size=6, dtype=np.uint32).tolist()
    for high, low in zip(words[::2], words[1::2], strict=True):
        assert philox_key() == (5, signed(low, high))
    assert philox_key(torch.Generator().manual_seed(2**64 - 1))[0] == -1


def test_keys_of_threads_are_those_of_their_generators() -> None:
    """However the threads take turns while a generator draws."""
    generators = [torch.Generator().manual_seed(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda g: [philox_key(g) for _ in range(3000)], generators))
    for seed, keys in enumerate(drawn):
        generator = torch.Generator().manual_seed(seed)
        assert keys == [philox_key(generator) for _ in range(3000)]


def test_keys_and_torch_s_own_draws_share_a_generator() -> None:
    """Each 64 bits go to one of them, though torch draws without the GIL."""
    shared, alone = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
    least = -(2**63)

    def draw() -> torch.Tensor:
        parts = [torch.empty(1000, dtype=torch.int64).random_(least, None, generator=shared) for _ in range(300)]
        return torch.cat(parts)

    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(draw)
        keys = [philox_key(shared)[1] for _ in range(20_000)]
    words = torch.cat([drawn.result(), torch.tensor(keys)])
    expected = torch.empty(len(words), dtype=torch.int64).random_(least, None, generator=alone)
    assert same_bits(words.sort().values, expected.sort().values)
    assert same_bits(shared.get_state(), alone.get_state())


def test_a_key_is_what_torch_s_kernel_draws() -> None:
    """Where torch's own function is called instead; and where it is not, as for a generator in use."""
    draw = torch.library.get_kernel("aten::random_.from", "CPU").call_boxed
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    one, other = torch.Generator().manual_seed(8), torch.Generator().manual_seed(8)
    for _ in range(700):  # beyond the words that mt19937 makes at once
        cell = torch.zeros((), dtype=torch.int64)
        draw(cpu, cell, -(2**63), None, generator=other)
        assert philox_key(one) == (8, cell.item())
    assert same_bits(one.get_state(), other.get_state())


def test_a_key_is_that_of_a_generator_where_another_one_was() -> None:
    """In its memory: each of these dies before the next is made."""
    seeds = [philox_key(torch.Generator().manual_seed(seed))[0] for seed in range(100)]
    assert seeds == list(range(100))
    generator = torch.Generator()
    for seed in (3, 4):  # of one that is seeded anew
        assert philox_key(generator.manual_seed(seed)) == philox_key(torch.Generator().manual_seed(seed))


@pytest.mark.skipif(sys.platform != "linux", reason="torch's library has other names there")
def test_a_key_takes_no_call_of_torch_s_kernel() -> None:
    code = """
import torch, repdl
from repdl import _core
expected = repdl.random.philox_key(torch.Generator().manual_seed(5))
def draw(*args, **kwargs):
    raise RuntimeError("called")
cell = lambda: torch.zeros((), dtype=torch.int64)
_core.set_key_source(draw, "keys", cell, torch.default_generator, lambda generator: None, lambda index: None)
print(repdl.random.philox_key(torch.Generator().manual_seed(5)) == expected)
"""
    assert run_python(code).strip() == "True"


def test_replaced_kernels_of_torch_do_not_matter() -> None:
    code = """
import torch, repdl
torch.manual_seed(5)
expected = repdl.random.philox_key()
library = torch.library.Library("aten", "IMPL")
library.impl("random_.from", lambda self, *args, **kwargs: self.zero_(), "CPU")
torch.manual_seed(5)
print(repdl.random.philox_key() == expected, torch.empty(3).random_(1, 5).tolist())
"""
    assert run_python(code).strip() == "True [0.0, 0.0, 0.0]"


N = 400_000


def distance(sample: torch.Tensor, cdf: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """Kolmogorov's and Smirnov's, times sqrt(N): above 2.5 in one of 10^5 samples of the right distribution."""
    x = sample.double().sort().values
    steps = torch.arange(N + 1, dtype=torch.float64) / N
    theory = cdf(x)
    return float(torch.maximum((steps[1:] - theory).max(), (theory - steps[:-1]).max())) * math.sqrt(N)


CONTINUOUS: list[tuple[str, Callable[[torch.Tensor], torch.Tensor], Callable[[torch.Tensor], torch.Tensor]]] = [
    ("uniform", lambda t: philox.uniform_(t, -1.0, 3.0), lambda x: (x + 1) / 4),
    ("normal", lambda t: philox.normal_(t, 1.0, 2.0), lambda x: torch.special.ndtr((x - 1) / 2)),
    ("exponential", lambda t: philox.exponential_(t, 0.5), lambda x: -torch.expm1(-x / 2)),
    ("cauchy", lambda t: philox.cauchy_(t, 1.0, 2.0), lambda x: torch.atan((x - 1) / 2) / math.pi + 0.5),
    ("log normal", lambda t: philox.log_normal_(t, 0.5, 0.7), lambda x: torch.special.ndtr((x.log() - 0.5) / 0.7)),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("name", "fill", "cdf"), CONTINUOUS, ids=[name for name, _, _ in CONTINUOUS])
def test_distributions(name: str, fill: Any, cdf: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    sample = fill(torch.empty(N, dtype=dtype))
    assert distance(sample, cdf) < 2.5
    # Neighbours, which share a pair or a block, are independent: so are halves of them.
    for step in (2, 4):
        for start in range(step):
            part = sample[start::step]
            assert abs(float((cdf(part.double()) - 0.5).mean())) < 5 * math.sqrt(step / N / 12)
    ranks = cdf(sample.double()) - 0.5
    for lag in (1, 2, 3, 4):
        assert abs(float((ranks[lag:] * ranks[:-lag]).mean()) * 12) < 5 / math.sqrt(N)
    # A distance that large is seen.
    assert distance(sample * 1.02, cdf) > 2.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_moments(dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    for fill, mean, variance, slack in (
        (lambda t: philox.uniform_(t), 1 / 2, 1 / 12, 1.0),
        (lambda t: philox.normal_(t), 0.0, 1.0, 1.0),
        (lambda t: philox.exponential_(t), 1.0, 1.0, 4.0),
        (lambda t: philox.bernoulli_(t, 0.3), 0.3, 0.21, 1.0),
        (lambda t: philox.bernoulli_(t, torch.full((N,), 0.3)), 0.3, 0.21, 1.0),
        (lambda t: philox.geometric_(t, 0.25), 4.0, 12.0, 4.0),
        (lambda t: philox.random_(t, -3, 8), 2.0, 10.0, 1.0),
        (lambda t: philox.native_dropout(torch.ones_like(t), 0.5)[0], 1.0, 1.0, 1.0),
    ):
        x = fill(torch.empty(N, dtype=dtype)).double()
        rounding = 2.0 ** -{torch.bfloat16: 9, torch.float16: 12}.get(dtype, 25)
        assert abs(float(x.mean()) - mean) < 5 * math.sqrt(variance / N) + rounding * mean
        assert abs(float(x.var()) - variance) < (5 * slack * math.sqrt(2 / N) + 2 * rounding) * variance


def test_pairs_of_normal_numbers_are_round() -> None:
    torch.manual_seed(2)
    x, y = philox.normal_(torch.empty(N)).double().view(-1, 2).T
    assert abs(float((x * y).mean())) < 5 / math.sqrt(N / 2)
    assert abs(float((x * x * y * y).mean()) - 1) < 5 * math.sqrt(8 / (N / 2))
    assert (x.square() + y.square()).max() > 20 and torch.cat([x, y]).abs().max() < 6.7


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.0, 2.0), (-1.0, 0.0), (100.0, 100.5), (0.3, 0.30000001)])
def test_uniform_numbers_stay_below_high(low: float, high: float, dtype: torch.dtype) -> None:
    torch.manual_seed(2)
    x = philox.uniform_(torch.empty(N, dtype=dtype), low, high)
    nearest = [torch.tensor(bound, dtype=dtype) for bound in (low, high)]
    assert (x >= nearest[0]).all()
    assert (x < nearest[1]).all() or nearest[0] == nearest[1]
    if high in (1.0, 2.0) and dtype in (torch.bfloat16, torch.float16):
        below = torch.nextafter(nearest[1], nearest[0])
        assert (x == below).any(), "the largest number below high was not reached"


def test_open_intervals_are_open() -> None:
    """The golden cases have these words too."""
    for number, word in ((30006714, 0xFFFFFF88), (66896682, 38)):
        words, x, y = torch.empty(2, dtype=torch.int64), torch.empty(2), torch.empty(2)
        ops.philox_bits(words, 1, 2, number)
        assert words[0] == word
        ops.philox_exponential(x, 1, 2, offset=number)
        ops.philox_normal(y, 1, 2, offset=number)
        if word > 2**31:
            assert x[0] == np.log1p(np.float32(2**-24)) == 2**-24 and 0 < y.abs().max() < 4e-4
        else:
            assert 18.5 < x[0] < 18.6 and 6.08 < y.square().sum().sqrt() < 6.09
        ops.philox_uniform(x, 1, 2, 1.0, 2.0, number)
        assert x[0] == (2 - 2**-23 if word > 2**31 else 1)


def test_float64_has_53_bits() -> None:
    torch.manual_seed(2)
    x = philox.uniform_(torch.empty(1000, dtype=torch.float64))
    assert ((x * 2**53).frac() == 0).all() and ((x * 2**52).frac() != 0).sum() > 400


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_events(p: float) -> None:
    for chance in (p, torch.tensor(p)):
        assert (philox.bernoulli_(torch.empty(10_000), chance) == p).all()
    result, mask = philox.native_dropout(torch.full((100,), math.inf), p)
    assert (mask == (p == 0.0)).all() and (result == (math.inf if p == 0.0 else 0.0)).all()


def test_probabilities_as_tensors_and_numbers_agree() -> None:
    for p in (0.1, 0.5, 1e-4, 0.99999, 1.0):
        torch.manual_seed(3)
        expected = philox.bernoulli_(torch.empty(50, 1000), p)
        for tensor in (torch.tensor(p, dtype=torch.float64), torch.full((1000,), p, dtype=torch.float64)):
            torch.manual_seed(3)
            assert same_bits(philox.bernoulli_(torch.empty(50, 1000), tensor), expected)
    torch.manual_seed(3)
    assert philox.bernoulli_(torch.empty(50, dtype=torch.bool), torch.eye(50)[0]).sum() == 1


@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64,
     torch.float16, torch.bfloat16],
)  # fmt: skip
def test_integers_of_every_dtype(dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    x = philox.random_(torch.empty(100_000, dtype=dtype)).double()
    torch.manual_seed(4)
    theirs = torch.empty(100_000, dtype=dtype).random_().double()
    assert x.min() >= 0 and (x == x.floor()).all()
    assert theirs.max() * 0.999 <= x.max() <= theirs.max() * 1.001
    assert abs(float(x.mean() / theirs.mean()) - 1) < 0.02
    if dtype != torch.bool:
        y = philox.random_(torch.empty(10_000, dtype=dtype), 3, 7)
        assert y.unique().tolist() == [3, 4, 5, 6]


def test_integers_are_the_high_bits_of_a_product() -> None:
    words, x = torch.empty(2000, dtype=torch.int64), torch.empty(1000, dtype=torch.int64)
    ops.philox_bits(words, 8, 9)
    for first, last in ((0, 0), (0, 1), (-5, 5), (0, 2**32), (-(2**63), 2**63 - 1), (-(2**63), 5), (7, 2**63 - 1)):
        ops.philox_randint(x, 8, 9, first, last)
        pairs = zip(words[::2].tolist(), words[1::2].tolist(), strict=True)
        expected = [first + ((high << 32 | low) * (last - first + 1) >> 64) for low, high in pairs]
        assert x.tolist() == expected


def test_permutations() -> None:
    torch.manual_seed(3)
    x = philox.randperm(1000)
    assert x.sort().values.tolist() == list(range(1000)) and x.tolist() != list(range(1000))
    assert philox.randperm(0).shape == (0,) and philox.randperm(1).tolist() == [0]
    assert philox.randperm(5, dtype=torch.int32).dtype == torch.int32
    counts = torch.zeros(4, 4)
    for _ in range(4000):
        counts[torch.arange(4), philox.randperm(4)] += 1
    assert (counts - 1000).abs().max() < 5 * math.sqrt(4000 * 3 / 16)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_multinomial(replacement: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(3)
    weights = torch.tensor([0.0, 1.0, 2.0, 0.0, 5.0, 0.0], dtype=dtype)
    rows = 40_000
    one = philox.multinomial(weights.expand(rows, 6), 1, replacement)
    assert one.shape == (rows, 1) and one.dtype == torch.int64
    share = torch.bincount(one[:, 0], minlength=6) / rows
    assert (share - weights.float() / 8).abs().max() < 5 * math.sqrt(0.25 / rows)
    many = philox.multinomial(weights.expand(1000, 6), 3, replacement)
    assert set(many.unique().tolist()) == {1, 2, 4}
    repeats = (many.sort(-1).values.diff(dim=-1) == 0).any()
    assert bool(repeats) == replacement
    alone = philox.multinomial(weights, 3, replacement)
    assert alone.shape == (3,)
    # Sizes of weights that no sum must lose, and none that overflows.
    for factor in (2.0**-10, 2.0**10):
        torch.manual_seed(4)
        scaled = philox.multinomial(weights.expand(100, 6) * factor, 3, replacement)
        torch.manual_seed(4)
        assert torch.equal(scaled, philox.multinomial(weights.expand(100, 6), 3, replacement))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 2.5, 50.0])
def test_standard_gamma(alpha: float) -> None:
    """Mean and variance are alpha, and the mean of the logarithm is digamma.

    A part has the numbers of the whole, and moves the generator as far.
    """
    torch.manual_seed(1)
    state = torch.get_rng_state()
    x = philox.standard_gamma(torch.full((100_000,), alpha))
    assert bool((x > 0).all())
    assert abs(float(x.mean()) - alpha) < 0.02 * alpha**0.5
    assert abs(float(x.var()) / alpha - 1) < 0.1
    assert abs(float(x.log().mean()) - float(torch.digamma(torch.tensor(alpha)))) < 0.02 / min(alpha, 1)
    after = torch.get_rng_state()
    torch.set_rng_state(state)
    assert torch.equal(philox.standard_gamma(torch.full((10,), alpha)), x[:10])
    assert torch.equal(torch.get_rng_state(), after)


def test_gamma_and_dirichlet_distributions() -> None:
    d = torch.distributions
    with repdl.reproducible():
        torch.manual_seed(2)
        beta = d.Beta(torch.tensor([0.2]), torch.tensor([0.6])).sample((20_000,))
        parts = d.Dirichlet(torch.tensor([1.0, 2.0, 5.0])).sample((20_000,))
        assert abs(float(beta.mean()) - 0.25) < 0.01
        assert torch.allclose(parts.mean(0), torch.tensor([1.0, 2.0, 5.0]) / 8, atol=0.01)
        assert torch.allclose(parts.sum(1), torch.ones(20_000))
        assert d.Gamma(torch.ones(3), torch.ones(3)).sample().dtype == torch.float32
        with pytest.raises(RuntimeError, match="alpha must be above 0"):
            torch._standard_gamma(torch.zeros(2))
    with repdl.reproducible(rng="torch"), pytest.raises(repdl.NotReproducibleError):
        torch._standard_gamma(torch.ones(2))


def test_multinomial_with_replacement_follows_its_integers() -> None:
    torch.manual_seed(3)
    weights = philox.exponential_(torch.empty(300)).double()
    torch.manual_seed(4)
    got = philox.multinomial(weights, 500, True).tolist()
    torch.manual_seed(4)
    random = torch.empty(500, dtype=torch.int64)
    ops.philox_randint(random, *philox_key(), 0, 2**62 - 1)
    bits = 62 - 9  # 300 has 9 binary digits
    scaled = (weights / weights.max()).tolist()
    sums = np.cumsum([max(math.floor(w * 2.0**bits), 1) for w in scaled]).tolist()
    expected = [next(j for j, total in enumerate(sums) if r * sums[-1] >> 62 < total) for r in random.tolist()]
    assert got == expected


def test_dropout_has_a_gradient() -> None:
    x = torch.randn(1000, requires_grad=True)
    result, mask = philox.native_dropout(x, 0.3)
    (grad,) = torch.autograd.grad(result.sum(), x)
    scale = np.float32(1 / 0.7)
    assert same_bits(grad, torch.where(mask, torch.tensor(scale), torch.tensor(0.0)))
    assert same_bits(result.detach(), torch.where(mask, x.detach() * float(scale), torch.tensor(0.0)))
    same, all_kept = philox.native_dropout(x, 0.3, train=False)
    assert same_bits(same.detach(), x.detach()) and all_kept.all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_random_slopes_of_rrelu(dtype: torch.dtype) -> None:
    layer = torch.nn.RReLU(0.25, 0.5)
    with repdl.reproducible():
        torch.manual_seed(6)
        x = torch.linspace(-4, 4, 801, dtype=dtype).requires_grad_()
        y = layer(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        torch.manual_seed(6)
        assert same_bits(torch.nn.functional.rrelu_(x.detach().clone(), 0.25, 0.5, training=True), y.detach())
    below = slope[x < 0].float()
    assert same_bits((x * slope).detach(), y.detach()) and (slope[x > 0] == 1).all()
    assert 0.25 <= below.min() < 0.26 and 0.49 < below.max() <= 0.5 and abs(below.mean() - 0.375) < 0.02
    with repdl.reproducible(rng="torch"), pytest.raises(repdl.NotReproducibleError) as raised:
        layer(x)
    assert raised.value.reason == "random"


def test_torch_defaults_do_not_matter() -> None:
    torch.manual_seed(3)
    x, weights = torch.empty(100, dtype=torch.float64), torch.ones(100)
    expected = [f(x).clone() for f in SAMPLERS.values()] + [philox.multinomial(weights, 50), philox.randperm(50)]
    torch.manual_seed(3)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            got = [f(x).clone() for f in SAMPLERS.values()]
            got += [philox.multinomial(weights, 50), philox.randperm(50)]
    finally:
        torch.set_default_dtype(torch.float32)
    for name, a, b in zip([*SAMPLERS, "multinomial", "randperm"], got, expected, strict=True):
        assert same_bits(a, b), name


def test_parameters_and_inference_tensors_are_filled() -> None:
    weight = torch.nn.Parameter(torch.empty(10))
    version = weight._version
    assert philox.normal_(weight) is weight and weight._version > version and weight.grad_fn is None
    with torch.inference_mode():
        assert philox.uniform_(torch.empty(10)).max() > 0
    with torch.no_grad():
        assert philox.exponential_(weight[::2]).min() > 0


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: philox.uniform_(torch.empty(3), 2.0, 1.0), ValueError, r"low 2 must not be above high"),
    (lambda: philox.uniform_(torch.empty(3), 0.0, math.inf), ValueError, r"within the range of float32"),
    (lambda: philox.uniform_(torch.empty(3, dtype=torch.float64), 0.0, math.nan), ValueError, r"\[philox_uniform\]"),
    (lambda: philox.uniform_(torch.empty(3, dtype=torch.int64)), TypeError, r"\[uniform_\] tensor must be float32"),
    (lambda: philox.uniform_(torch.empty(1).expand(3)), ValueError, r"tensor has elements that share memory"),
    (lambda: philox.normal_(torch.empty(9).as_strided((3, 3), (1, 2))), ValueError, r"elements that share memory"),
    (lambda: philox.normal_(torch.empty(3), std=-1.0), ValueError, r"std must not be negative"),
    (lambda: philox.exponential_(torch.empty(3), 0.0), ValueError, r"lambd must be above 0"),
    (lambda: philox.bernoulli_(torch.empty(3), 1.5), ValueError, r"p must be between 0 and 1, got 1.5"),
    (lambda: philox.bernoulli_(torch.empty(3), torch.tensor(math.nan)), ValueError, r"\[bernoulli_\] p must be"),
    (lambda: philox.geometric_(torch.empty(3), 1.0), ValueError, r"\[philox_geometric\] p must be between"),
    (lambda: philox.cauchy_(torch.empty(3), 0.0, 0.0), ValueError, r"\[philox_cauchy\] sigma must be above 0"),
    (lambda: philox.random_(torch.empty(3), 5, 5), ValueError, r"\[random_\] low 5 and high 5"),
    (lambda: philox.random_(torch.empty(3, dtype=torch.uint8), 0, 257), ValueError, r"from 0 to 255"),
    (lambda: philox.random_(torch.empty(3, dtype=torch.complex64)), TypeError, r"\[random_\] dtype must be"),
    (lambda: philox.randperm(-1), ValueError, r"\[randperm\] n must be"),
    (lambda: philox.randperm(300, dtype=torch.uint8), ValueError, r"\[randperm\] n must be"),
    (lambda: philox.multinomial(torch.zeros(3), 1), ValueError, r"at least 1 weights above 0"),
    (lambda: philox.multinomial(torch.tensor([1.0, 0.0]), 2), ValueError, r"at least 2 weights above 0"),
    (lambda: philox.multinomial(torch.tensor([1.0, -1.0]), 1), ValueError, r"negative, infinite or NaN"),
    (lambda: philox.multinomial(torch.ones(2, 2, 2), 1), ValueError, r"must have the shape \(n,\) or \(m, n\)"),
    (lambda: philox.multinomial(torch.ones(2), 0), ValueError, r"num_samples must be at least 1"),
    (lambda: philox.native_dropout(torch.ones(2), 2.0), ValueError, r"\[native_dropout\] p must be"),
    (lambda: philox.normal_(torch.empty(3, device="meta")), NotImplementedError, r"\[normal_\] tensor must be on"),
    (lambda: ops.philox_bits(torch.empty(3, dtype=torch.int64), 0, 0, -1), ValueError, r"\[philox_bits\] offset"),
    (lambda: ops.philox_randint(torch.empty(3, dtype=torch.int64), 0, 0, 2, 1), ValueError, r"first 2 must not be"),
    (lambda: ops.philox_bits(torch.empty(3), 0, 0), TypeError, r"\[philox_bits\] tensor must be int64"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_calls_say_what_is_wrong(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


CALLS = [
    ("uniform_", ()), ("uniform_", (-1, 2.5)), ("normal_", ()), ("normal_", (3.0, 2.0)), ("exponential_", ()),
    ("exponential_", (2.0,)), ("bernoulli_", ()), ("bernoulli_", (0.3,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=str)
def test_torchs_methods_are_the_samplers(name: str, arguments: tuple[float, ...], dtype: torch.dtype) -> None:
    """The same numbers, and the generator stands where it stood; in any layout."""
    for base in (torch.empty(37, 5, dtype=dtype), torch.empty(5, 37, dtype=dtype).t(), torch.empty(0, 3, dtype=dtype)):
        for generator in (torch.default_generator, torch.Generator()):
            given = {} if generator is torch.default_generator else {"generator": generator}
            generator.manual_seed(3)
            expected = getattr(philox, name)(base.clone(), *arguments, **given)
            state = generator.get_state()
            generator.manual_seed(3)
            with repdl.reproducible():
                filled = getattr(base, name)(*arguments, **given)
            assert filled is base
            assert torch.equal(filled, expected)
            assert torch.equal(generator.get_state(), state)
