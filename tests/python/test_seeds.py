# SPDX-License-Identifier: MIT
"""One seed for Python, NumPy, torch and the workers of a DataLoader; seeds derived from one."""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import repdl
from support import run_python

Drawn = tuple[float, float, float]


def drawn() -> Drawn:
    """A number from each generator."""
    return random.random(), np.random.random(), torch.rand((), dtype=torch.float64).item()


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, np.int64(7), np.uint8(255), torch.tensor(3)])
def test_a_seed_of_32_bits_is_what_each_library_makes_of_it(seed: Any) -> None:
    random.seed(int(seed))
    np.random.seed(int(seed))
    torch.manual_seed(int(seed))
    expected = drawn()
    generator = repdl.manual_seed(seed)
    assert generator is torch.default_generator
    assert drawn() == expected


def test_large_and_negative_seeds() -> None:
    seeds = [2**32, 2**32 + 1, 2**33, 2**63 - 1, 2**63, 2**64 - 1, -(2**63) + 1, -2, 1, 2, 0]
    found = []
    for seed in seeds:
        repdl.manual_seed(seed)
        found.append(drawn())
        assert torch.default_generator.initial_seed() == seed % 2**64
    for numbers in list(zip(*found))[:2]:  # torch's own CPU stream goes by the lower 32 bits
        assert len(set(numbers)) == len(seeds), "two seeds are one"
    repdl.manual_seed(-1)
    assert drawn() == found[seeds.index(2**64 - 1)]
    np.random.seed([1, 2])
    expected = np.random.random()
    repdl.manual_seed(1 + (2 << 32))
    assert np.random.random() == expected


@pytest.mark.parametrize(
    ("seed", "error", "text"),
    [
        (1.0, TypeError, r"\[manual_seed\] seed must be an integer, got float"),
        (True, TypeError, "got bool"),
        ("1", TypeError, "got str"),
        (None, TypeError, "got NoneType"),
        (float("nan"), TypeError, "got float"),
        (2**64, ValueError, r"between -2\^63 and 2\^64 - 1, got 18446744073709551616"),
        (-(2**63) - 1, ValueError, "between"),
    ],
)
def test_a_bad_seed_raises_and_seeds_nothing(seed: Any, error: type[Exception], text: str) -> None:
    repdl.manual_seed(5)
    expected = drawn()
    repdl.manual_seed(5)
    with pytest.raises(error, match=text):
        repdl.manual_seed(seed)
    assert drawn() == expected
    with pytest.raises(error, match=text.replace("manual_seed", "Seeder")):
        repdl.Seeder(seed)


def test_without_torch() -> None:
    program = (
        "import sys; sys.modules['torch'] = None;"
        "import random, numpy, repdl; assert repdl.manual_seed(7) is None;"
        "print(random.random(), numpy.random.random(), repdl.Seeder(7).seed('x'))"
    )
    random.seed(7)
    np.random.seed(7)
    assert run_python(program).split() == [
        str(random.random()),
        str(np.random.random()),
        str(repdl.Seeder(7).seed("x")),
    ]


class Draws(Dataset[Drawn]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Drawn:
        return drawn()


def as_it_is(batch: list[Drawn]) -> list[Drawn]:
    return batch


def epochs(generator: torch.Generator | None, start: str) -> list[list[Drawn]]:
    loader = DataLoader(
        Draws(),
        num_workers=2,
        collate_fn=as_it_is,
        worker_init_fn=repdl.seed_worker,
        generator=generator,
        multiprocessing_context=multiprocessing.get_context(start),
    )
    return [[sample for batch in loader for sample in batch] for _ in range(2)]


@pytest.mark.parametrize("own", [False, True])
def test_workers_draw_what_the_seed_says(own: bool) -> None:
    def run(start: str = "fork") -> list[list[Drawn]]:
        repdl.manual_seed(3)
        random.random(), np.random.random()  # what the parent has drawn from these does not show
        return epochs(torch.Generator().manual_seed(9) if own else None, start)

    found = run()
    random.random()
    assert run() == found
    if own:
        assert run("spawn") == found
    for numbers in zip(*itertools.chain(*found)):
        assert len(set(numbers)) == 8, "two workers or epochs draw the same"
    base = torch.empty((), dtype=torch.int64).random_(generator=torch.Generator().manual_seed(9)).item()
    repdl.manual_seed(int(base) + 1)  # of worker 1, which has the samples 1 and 3
    expected = [drawn(), drawn()]
    if own:
        assert found[0][1::2] == expected


def test_seed_worker_is_for_workers() -> None:
    with pytest.raises(RuntimeError, match="is for the workers of a DataLoader"):
        repdl.seed_worker(0)


def first_bits(line: str, bits: int) -> int:
    """What the document says, in other words."""
    digest = hashlib.sha256(line.encode()).hexdigest()
    return int(f"{int(digest, 16):0256b}"[:bits], 2)


def test_a_derived_seed_is_what_the_document_says() -> None:
    seeder = repdl.Seeder(7)
    line = '["repdl.Seeder",7,"crop",{"epoch":3,"rank":1}]'
    for bits in (1, 31, 32, 33, 63, 64):
        assert seeder.seed("crop", rank=1, epoch=3, bits=bits) == first_bits(line, bits)
    assert seeder.seed("crop", rank=np.int32(1), epoch=3) == first_bits(line, 32)
    assert repdl.Seeder(-1).seed("") == first_bits('["repdl.Seeder",-1,"",{}]', 32)
    assert seeder.seed('ä"\ud800,') == first_bits('["repdl.Seeder",7,"\\u00e4\\"\\ud800,",{}]', 32)
    assert seeder.seed("x") == 1371733161  # so the encoding never changes unseen
    assert repr(seeder) == "Seeder(7)"


def test_no_two_places_share_a_seed() -> None:
    places: list[tuple[int, str, dict[str, int]]] = [
        (seed, task, place)
        for seed in (0, 1, 11, -1, 2**64 - 1)
        for task in ("", "a", "1", "a,1", '","', "{}", "aa")
        for place in ({}, {"a": 0}, {"a": 1}, {"a": 11}, {"aa": 1}, {"a": 1, "b": 1}, {"a": -1}, {"epoch": 10**40})
    ]
    seeds = {repdl.Seeder(seed).seed(task, bits=64, **place) for seed, task, place in places}
    assert len(seeds) == len(places)


def test_every_generator_takes_a_derived_seed() -> None:
    for task in map(str, range(200)):
        seed = repdl.Seeder(0).seed(task)
        assert type(seed) is int and 0 <= seed < 2**32
        np.random.seed(seed)
        np.random.default_rng(seed)
        torch.Generator().manual_seed(repdl.Seeder(0).seed(task, bits=64))


@pytest.mark.parametrize(
    ("arguments", "named", "error", "text"),
    [
        ((3,), {}, TypeError, r"\[Seeder.seed\] task must be a text, got int"),
        (("x",), {"epoch": 1.0}, TypeError, "epoch must be an integer, got float"),
        (("x",), {"epoch": True}, TypeError, "epoch must be an integer, got bool"),
        (("x",), {"epoch": None}, TypeError, "epoch must be an integer, got NoneType"),
        (("x",), {"bits": 0}, ValueError, "bits must be between 1 and 64, got 0"),
        (("x",), {"bits": 65}, ValueError, "bits must be between 1 and 64, got 65"),
        (("x",), {"bits": "32"}, TypeError, "bits must be an integer, got str"),
    ],
)
def test_a_bad_place_raises(arguments: Any, named: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        repdl.Seeder(0).seed(*arguments, **named)
