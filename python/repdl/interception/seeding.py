# SPDX-License-Identifier: MIT
"""Says once that a program draws random numbers without a seed: in each run other ones, whatever is reproducible."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch

from repdl import _core
from repdl.interception.replaced import replaced

_logger = logging.getLogger("repdl")

_AT_FIRST = torch.default_generator.initial_seed()
_OF_THE_SYSTEM = 2**53
"""torch takes the first seed of a process from the system, 64 bits. Smaller ones are somebody's."""

_waits = False
_told = False
_told_of_seed = False


@contextmanager
def told() -> Iterator[None]:
    """In this block, the first number from torch's default generator tells, unless that has been seeded."""
    global _waits
    _waits = not _told
    _core.set_first_draw(_first_draw if _waits else None)
    try:
        with replaced(torch, "seed", _telling), replaced(torch.random, "seed", _telling):
            yield
    finally:
        _waits = False
        _core.set_first_draw(None)


def _telling(original: Callable[[], int]) -> Callable[[], int]:
    """torch.seed, which takes a seed from the system: some libraries call it by themselves."""

    @wraps(original)
    def seed() -> int:
        global _told_of_seed
        found = original()
        if not _told_of_seed:
            _told_of_seed = True
            _logger.warning(
                "repdl is enabled, but torch.seed() took a seed from the system: random numbers differ from run to "
                "run. For those of this run, call torch.manual_seed(%d) in its place. This is said once.",
                found,
            )
        return found

    return seed


def draws(generator: Any) -> None:
    """Called before torch's own kernels draw; the keys of counted numbers call `_first_draw` themselves."""
    if _waits and (generator is None or generator is torch.default_generator):
        _first_draw()


def _first_draw() -> None:
    global _waits, _told
    _waits = False
    seed = torch.default_generator.initial_seed()
    if seed == _AT_FIRST and seed >= _OF_THE_SYSTEM and not _told:
        _told = True
        _logger.warning(
            "repdl is enabled, but torch has no seed: random numbers differ from run to run. For those of this run, "
            "begin with torch.manual_seed(%d). This is said once.",
            seed,
        )
