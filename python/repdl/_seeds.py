# SPDX-License-Identifier: MIT
"""One seed for all generators of a process, and seeds for its parts derived from one. Needs no torch."""

from __future__ import annotations

import hashlib
import json
import operator
import random
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_WORD = 2**64


def manual_seed(seed: int) -> torch.Generator | None:
    """Seeds Python's `random`, NumPy's global generator and torch on all devices.

    What follows from them is seeded with it: the order of a DataLoader, and its workers (`seed_worker`).
    Python and torch get the number itself, as `random.seed(seed)` and `torch.manual_seed(seed)` do, and NumPy, whose
    seeds have 32 bits, what `numpy.random.seed(seed)` does; from 2^32 on the list of its lower and its upper 32 bits.
    For Python and NumPy a negative seed stands for 2^64 + seed, as it does for torch.

    Args:
        seed: an integer of -2^63 … 2^64 - 1, those that torch takes.

    Returns:
        torch's default generator, as `torch.manual_seed` does; None where torch is not installed.

    Raises:
        TypeError: for a seed that is not an integer.
        ValueError: for one outside of that range. Nothing is seeded then.
    """
    seed = _checked("manual_seed", seed)
    word = seed % _WORD
    import numpy as np

    random.seed(word)
    np.random.seed(word if word < 2**32 else [word % 2**32, word >> 32])
    if find_spec("torch") is None:
        return None
    import torch

    return torch.manual_seed(seed)


def seed_worker(worker_id: int) -> None:
    """Seeds all generators of a worker of a DataLoader: `DataLoader(..., worker_init_fn=repdl.seed_worker)`.

    The seed is the one that torch gives the worker, a number that the loader's generator (without one, torch's default)
    draws each time that the loader is iterated over, plus the number of the worker; `manual_seed` takes it. So every
    epoch and every worker has random numbers of its own, in NumPy and Python too, all derived from one seed.

    Raises:
        RuntimeError: outside of a worker.
    """
    from torch.utils.data import get_worker_info

    worker = get_worker_info()
    if worker is None:
        raise RuntimeError("[seed_worker] is for the workers of a DataLoader; elsewhere call repdl.manual_seed")
    manual_seed(worker.seed)


class Seeder:
    """Derives seeds from one: for a task, at a place that names and numbers give, such as an epoch, a rank or a worker.

    Seeds of different tasks or places have nothing to do with each other, unlike seed, seed + 1, … of neighbours, which
    meet where two programs count from neighbouring seeds. They depend on nothing else: not on the machine, the process,
    the version of Python or of this library, or on what was asked for before.

    A seed is the beginning of the SHA-256 of a line of JSON in ASCII, without spaces: the array of "repdl.Seeder", the
    seed, the task, and the place as an object with its names in order, `["repdl.Seeder",7,"crop",{"epoch":3,"rank":1}]`
    for example. Its first `bits` bits are the number, the first of them the highest.

    Raises:
        TypeError, ValueError: for a seed that `manual_seed` does not take.
    """

    def __init__(self, seed: int) -> None:
        self._seed = _checked("Seeder", seed)

    def seed(self, task: str, /, *, bits: int = 32, **place: int) -> int:
        """The seed of a task at a place: `Seeder(7).seed("augmentation", epoch=3, rank=1, worker=0)`.

        Args:
            task: any text.
            bits: how many the number has, 1 … 64. Those of 32 bits are seeds for Python, NumPy and torch alike. Of
                thousands of seeds two may be equal, unless they have 64 bits and a generator that goes by all of them:
                Python's, `numpy.random.default_rng`, and torch's under `repdl.enable()`, but not torch's own on a CPU.
            place: integers by name. A name that is left out is another place than 0.

        Raises:
            TypeError: for a task that is no text, or for numbers that are no integers.
            ValueError: for other bits.
        """
        if not isinstance(task, str):
            raise TypeError(f"[Seeder.seed] task must be a text, got {type(task).__name__}")
        if not 1 <= _integer("Seeder.seed", "bits", bits) <= 64:
            raise ValueError(f"[Seeder.seed] bits must be between 1 and 64, got {bits}")
        numbers = {name: _integer("Seeder.seed", name, number) for name, number in place.items()}
        line = json.dumps(["repdl.Seeder", self._seed, task, numbers], sort_keys=True, separators=(",", ":"))
        word = int.from_bytes(hashlib.sha256(line.encode("ascii")).digest()[:8], "big")
        return word >> (64 - bits)

    def __repr__(self) -> str:
        return f"Seeder({self._seed})"


def _integer(function: str, name: str, number: int) -> int:
    if isinstance(number, bool):
        raise TypeError(f"[{function}] {name} must be an integer, got bool")
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"[{function}] {name} must be an integer, got {type(number).__name__}") from None


def _checked(function: str, seed: int) -> int:
    number = _integer(function, "seed", seed)
    if not -(2**63) <= number < _WORD:
        raise ValueError(f"[{function}] seed must be between -2^63 and 2^64 - 1, got {number}")
    return number
