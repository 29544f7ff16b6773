# SPDX-License-Identifier: MIT
"""From which line and module of a program an op is called, also in the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple

import torch

from repdl.interception import places
from repdl.interception.modules import Modules

_MOST_KEPT = 200_000
"""Nodes of the graph whose origin is kept."""

_MOST_NODES = 8
"""That one op makes."""


class Origin(NamedTuple):
    """A module, by its path in the model, and a line, "train.py:31"; "" is none."""

    module: str
    line: str


class Origins:
    """Of the ops of this thread, and of the backward passes that it starts. has_plain_model: as `Modules` take it."""

    def __init__(self, has_plain_model: bool) -> None:
        self.modules = Modules(get_ident(), has_plain_model)
        self.of_nodes: dict[int, Origin] = {}
        self.last_node = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined]

    @contextmanager
    def followed(self) -> Iterator[None]:
        with self.modules.followed():
            yield

    def here(self) -> Origin:
        """Of the op that is called now: in a backward pass that of the op whose gradient it is."""
        node = torch._C._current_autograd_node()
        made = None
        if node is not None and not self.modules.in_backward:
            made = self.of_nodes.get(node._sequence_nr())
        origin = made or Origin(self.modules.path, _line())
        self._note_nodes(origin)
        return origin

    def _note_nodes(self, origin: Origin) -> None:
        """Those that autograd has made for this op, before it called it."""
        number = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined]
        if number == self.last_node:
            return
        for n in range(max(self.last_node, number - _MOST_NODES), number):  # integers
            self.of_nodes[n] = origin
        self.last_node = number
        while len(self.of_nodes) > _MOST_KEPT:
            del self.of_nodes[next(iter(self.of_nodes))]


_lines: dict[tuple[Any, int], str] = {}


def _line() -> str:
    frame = places.users_frame()
    if frame is None:
        return ""
    key = (frame.f_code.co_filename, frame.f_lineno)
    line = _lines.get(key)
    if line is None:
        line = _lines[key] = places.line(frame)
    return line
