# SPDX-License-Identifier: MIT
"""What is compared: torch as it is, with its deterministic algorithms, and this library."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext

from repdl.interception import choices
from repdl.interception.switch import reproducible
from repdl.status.table import DETERMINISTIC, OURS, STOCK

BLOCKS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    STOCK: nullcontext,
    DETERMINISTIC: lambda: choices.DETERMINISTIC.made(True),
    OURS: lambda: reproducible("error"),
}


class Column:
    """Stays in force until another one is taken: to begin and to end that of this library takes 50 ms."""

    def __init__(self) -> None:
        self.name, self.undo = STOCK, ExitStack()

    def take(self, name: str) -> None:
        if name != self.name:
            self.undo.close()
            self.undo.enter_context(BLOCKS[name]())
            self.name = name
