# SPDX-License-Identifier: MIT
"""The place in the data: which epoch, and how many of its batches a program has had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

from repdl._seeds import Seeder
from repdl._steps import pass_over


class ResumableBatchSampler(Sampler[list[int]]):
    """Batches whose order is a function of a seed and the epoch, from the place where a checkpoint has left off.

        sampler = ResumableBatchSampler(len(data), batch_size=32, seed=7)
        loader = DataLoader(data, batch_sampler=sampler, num_workers=2, worker_init_fn=repdl.seed_worker)
        while sampler.epoch < 10:
            for images, labels in sampler.batches(loader):
                ...
                repdl.checkpoint.save("run.ckpt", model=model, optimizer=optimizer, sampler=sampler)

    The order is a permutation by NumPy's `RandomState`, whose numbers are fixed for good; so it depends neither on the
    version of torch nor on `repdl.enable()`. `batches` counts what the program has been given, not what workers have
    fetched ahead, and gives the workers seeds by seed and epoch, without a draw from torch's default generator.

    Without workers, batches before the place are left out. With workers, they are fetched again and thrown away: a
    worker's random numbers follow from those that it drew before.

    Args:
        size: how many samples there are.
        batch_size: how many of them a batch has, but for the last of an epoch.
        seed: as for `repdl.manual_seed`.
        shuffle: whether the order is random, and another one in each epoch.
        drop_last: whether to leave out a last batch that is smaller.

    Raises:
        TypeError, ValueError: for sizes that are not integers above 0, or a bad seed.
    """

    def __init__(self, size: int, batch_size: int, seed: int, *, shuffle: bool = True, drop_last: bool = False) -> None:
        for name, value in (("size", size), ("batch_size", batch_size)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"[ResumableBatchSampler] {name} must be an integer, got {type(value).__name__}")
            if value < 1:
                raise ValueError(f"[ResumableBatchSampler] {name} must be above 0, got {value}")
        self._seeder = Seeder(seed)
        self._fixed = {
            "size": size,
            "batch_size": batch_size,
            "seed": int(seed),
            "shuffle": bool(shuffle),
            "drop_last": bool(drop_last),
        }
        self.epoch = 0
        self.batch = 0  # of this epoch: how many the program has had
        self._fetched_again = False

    def __len__(self) -> int:
        """How many batches an epoch has."""
        size, batch_size = self._fixed["size"], self._fixed["batch_size"]
        return size // batch_size if self._fixed["drop_last"] else -(-size // batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        return self._from(0 if self._fetched_again else self.batch, self._order())

    def batches(self, loader: DataLoader[Any]) -> Iterator[Any]:
        """The batches of this epoch, from the place on, by a loader that has this sampler; then the next epoch begins.

        A batch counts as had when it is given, so that a `save` in the loop is one after this batch. A loop that is
        left early is gone on with by the next call.

        Raises:
            ValueError: for a loader with another sampler; with a generator, whose draws no checkpoint of this sampler
                has; or with persistent workers, whose random numbers go on from one epoch to the next.
        """
        if loader.batch_sampler is not self:
            raise ValueError("[batches] loader must be made with batch_sampler=this sampler")
        if loader.generator is not None:
            raise ValueError("[batches] loader must have no generator; this sampler has a seed")
        if loader.persistent_workers:
            raise ValueError("[batches] loader must have persistent_workers=False")
        return self._counted(loader)

    def state_dict(self) -> dict[str, int]:
        return {**self._fixed, "epoch": self.epoch, "batch": self.batch}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Goes to the place of a state.

        Raises:
            ValueError: for a state of a sampler of other data, batches or seed, and one that is none.
        """
        if state.keys() != self._fixed.keys() | {"epoch", "batch"}:
            raise ValueError("[ResumableBatchSampler] the state is not one of this class")
        for name, value in self._fixed.items():
            if state[name] != value:
                raise ValueError(f"[ResumableBatchSampler] the state has {name} {state[name]!r}, not {value!r}")
        epoch, batch = state["epoch"], state["batch"]
        if type(epoch) is not int or type(batch) is not int or epoch < 0 or not 0 <= batch <= len(self):
            raise ValueError(f"[ResumableBatchSampler] there is no batch {batch!r} of epoch {epoch!r}")
        self.epoch, self.batch = epoch, batch

    def _order(self) -> np.ndarray[Any, Any]:
        size = self._fixed["size"]
        if not self._fixed["shuffle"]:
            return np.arange(size)
        word = self._seeder.seed("order", epoch=self.epoch, bits=64)
        return np.random.RandomState([word % 2**32, word >> 32]).permutation(size)

    def _from(self, first: int, order: np.ndarray[Any, Any]) -> Iterator[list[int]]:
        count = self._fixed["batch_size"]
        for batch in range(first, len(self)):
            yield order[batch * count : (batch + 1) * count].tolist()

    def _counted(self, loader: DataLoader[Any]) -> Iterator[Any]:
        if self.batch < len(self):
            again = self.batch if loader.num_workers > 0 else 0
            self._fetched_again = again > 0
            try:
                with _default_generator_at(self._seeder.seed("workers", epoch=self.epoch, bits=64)):
                    iterator = iter(loader)  # draws the seed of its workers, and starts them
            finally:
                self._fetched_again = False
            for _ in range(again):
                pass_over(iterator)
            for batch in iterator:
                self.batch += 1
                yield batch
        self.epoch, self.batch = self.epoch + 1, 0


@contextmanager
def _default_generator_at(seed: int) -> Iterator[None]:
    """In this block torch's default generator has another seed; afterwards it is where it was."""
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(state)
