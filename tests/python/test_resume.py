# SPDX-License-Identifier: MIT
"""Training that is killed goes on from its checkpoint with the bits of training that was not."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import repdl
from repdl.checkpoint import ResumableBatchSampler
from resumed_training import RUNS
from support import ROOT, run_python


@pytest.mark.parametrize("mode", ["stock", "enabled"])
def test_killed_training_ends_as_training_that_was_not(mode: str, tmp_path: Path) -> None:
    program = (ROOT / "tests/python/resumed_training.py").read_text()
    lines = [line.split(maxsplit=3) for line in run_python(program, str(tmp_path), mode).splitlines()]
    assert [(int(workers), kills) for workers, _, _, kills in lines] == RUNS
    for _, same_workers in itertools.groupby(lines, key=lambda line: line[0]):
        (_, dead, expected, _), *others = same_workers
        assert dead == "0"
        for _, dead, digest, kills in others:
            assert int(dead) > 0 and digest == expected, kills
    assert len({digest for _, _, digest, _ in lines}) == 2  # workers draw other numbers


def loader_of(sampler: ResumableBatchSampler, **named: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.arange(23)), batch_sampler=sampler, **named)


def batches(sampler: ResumableBatchSampler, loader: DataLoader[Any], epochs: int) -> list[list[int]]:
    found = []
    while sampler.epoch < epochs:
        found += [batch.tolist() for (batch,) in sampler.batches(loader)]
    return found


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_the_place_in_the_data(shuffle: bool, drop_last: bool) -> None:
    def make() -> ResumableBatchSampler:
        return ResumableBatchSampler(23, 4, 5, shuffle=shuffle, drop_last=drop_last)

    sampler = make()
    whole = batches(sampler, loader_of(sampler), 3)
    count = 5 if drop_last else 6
    assert len(sampler) == count and len(whole) == 3 * count
    for epoch in range(3):
        samples = [i for batch in whole[epoch * count : (epoch + 1) * count] for i in batch]
        assert len(samples) == len({*samples}) == (20 if drop_last else 23)
        assert shuffle or samples == list(range(len(samples)))
    assert (whole[0] == whole[count]) is not shuffle
    for done in range(3 * count + 1):
        first = make()
        loader = loader_of(first)
        given: list[list[int]] = []
        while len(given) < done:
            for (batch,) in first.batches(loader):
                given.append(batch.tolist())
                if len(given) == done:
                    break  # and what comes next goes on here
        second = make()
        second.load_state_dict(first.state_dict())
        assert given + batches(second, loader_of(second), 3) == whole
        assert given + batches(first, loader, 3) == whole


def test_the_order_is_fixed_for_good() -> None:
    sampler = ResumableBatchSampler(7, 7, 0)
    found = [next(iter(sampler))]
    sampler.epoch = 1
    with repdl.reproducible():
        found.append(next(iter(sampler)))
    assert found == [[2, 3, 6, 1, 0, 5, 4], [5, 0, 2, 6, 3, 4, 1]]


def test_batches_draw_nothing_from_the_generators_of_the_program() -> None:
    sampler = ResumableBatchSampler(23, 4, 5)
    repdl.manual_seed(1)
    expected = (random.getstate(), torch.get_rng_state().tolist())
    batches(sampler, loader_of(sampler), 2)
    assert (random.getstate(), torch.get_rng_state().tolist()) == expected


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ({"generator": torch.Generator()}, "loader must have no generator"),
        ({"num_workers": 1, "persistent_workers": True}, "loader must have persistent_workers=False"),
    ],
)
def test_loaders_that_could_not_go_on_are_refused(named: dict[str, Any], text: str) -> None:
    sampler = ResumableBatchSampler(23, 4, 5)
    with pytest.raises(ValueError, match=rf"\[batches\] {text}"):
        sampler.batches(loader_of(sampler, **named))
    with pytest.raises(ValueError, match=r"\[batches\] loader must be made with batch_sampler=this sampler"):
        sampler.batches(loader_of(ResumableBatchSampler(23, 4, 5)))


@pytest.mark.parametrize(
    "change",
    [
        *({"size": 24}, {"batch_size": 5}, {"seed": 6}, {"shuffle": False}, {"more": 1}),
        *({"epoch": -1}, {"batch": 7}, {"batch": -1}, {"epoch": 1.0}, {"batch": None}, {"epoch": True}),
    ],
)
def test_a_state_of_another_sampler_is_refused(change: dict[str, Any]) -> None:
    sampler = ResumableBatchSampler(23, 4, 5)
    sampler.load_state_dict(sampler.state_dict() | {"epoch": 2, "batch": 6})
    before = sampler.state_dict()
    with pytest.raises(ValueError, match=r"\[ResumableBatchSampler\] "):
        sampler.load_state_dict(before | change)
    with pytest.raises(ValueError, match="the state is not one of this class"):
        sampler.load_state_dict({})
    assert sampler.state_dict() == before


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0, 4, 5), ValueError, "size must be above 0, got 0"),
        ((23, -1, 5), ValueError, "batch_size must be above 0, got -1"),
        ((23.0, 4, 5), TypeError, "size must be an integer, got float"),
        ((23, True, 5), TypeError, "batch_size must be an integer, got bool"),
        ((23, 4, None), TypeError, "seed must be an integer, got NoneType"),
    ],
)
def test_bad_samplers(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ResumableBatchSampler(*arguments)
