# SPDX-License-Identifier: MIT
"""Which generators of random numbers count in a receipt: those that the program has drawn from, or seeded."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from repdl.checkpoint import generators
from repdl.receipts import digests


class Generators:
    """Of this process. One counts as soon as its state is not the one that it had when this was made, and from then on.

    Python and NumPy begin with states that are others in each process, so those say nothing until they are used. One of
    a device counts as soon as the process uses the device.
    """

    def __init__(self) -> None:
        self._begun = _states()
        self._counted: set[str] = set()

    def digests(self) -> dict[str, str]:
        """Of those that count, by name."""
        now = _states()
        self._counted.update(name for name, state in now.items() if state != self._begun.get(name))
        return {name: state for name, state in now.items() if name in self._counted}

    def resume(self, before: Mapping[str, Any], counted: Container[str]) -> None:
        """After a checkpoint was loaded, in whose entry some count: the others have their states from before.

        No link has the state that a checkpoint may have for those.
        """
        now = generators.states()
        kept = {name: before[name] for name in ("Python", "NumPy", "torch") if name not in counted}
        generators.restore(now | kept)
        self._counted.update(name for name in _states() if name in counted)


def _states() -> dict[str, str]:
    found = generators.states()
    devices = found.pop("devices")
    found |= {f"{name}:{index}": state for name, states in devices.items() for index, state in enumerate(states)}
    return {name: digests.of(state) for name, state in found.items()}
