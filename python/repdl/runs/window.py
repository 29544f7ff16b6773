# SPDX-License-Identifier: MIT
"""Which ops of a run are recorded, by their numbers among all that the program calls, recorded or not."""

from __future__ import annotations

import sys
from typing import NamedTuple

_PRIME = 7919

SAMPLE = "result of an op"
"""The name of such an event."""


class Window(NamedTuple):
    """Those from `first` to before `end`. sample: of how many ops the result of one is an event, in all of the run."""

    first: int = 0
    end: int = sys.maxsize
    sample: int = 0

    def sample_after(self, seen: int) -> int:
        """Not at equal distances, in which a loop might have the same op each time."""
        return seen + self.sample // 2 + seen * _PRIME % self.sample


ALL_OPS = Window()
