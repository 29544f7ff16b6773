# SPDX-License-Identifier: MIT
"""From which line and module of a program an op is called, also in the backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
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

    def here(self, node: Any) -> Origin:
        """Of the op that is called now, by a node of a backward pass: that of the op whose gradient it is."""
        made = None
        if node is not None and not self.modules.in_backward:
            made = self.of_nodes.get(node._sequence_nr())
        origin = made or _of_frame(self.modules.path, places.users_frame())
        number = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined]
        if number != self.last_node:
            self._note_nodes(number, origin)
        return origin

    def _note_nodes(self, number: int, origin: Origin) -> None:
        """Those up to a number, that autograd has made for this op before it called it."""
        for n in range(max(self.last_node, number - _MOST_NODES), number):  # integers
            self.of_nodes[n] = origin
        self.last_node = number
        while len(self.of_nodes) > _MOST_KEPT:
            del self.of_nodes[next(iter(self.of_nodes))]


_origins: dict[tuple[str, str, int], Origin] = {}


def _of_frame(module: str, frame: FrameType | None) -> Origin:
    key = (module, "", 0) if frame is None else (module, frame.f_code.co_filename, frame.f_lineno)
    origin = _origins.get(key)
    if origin is None:
        origin = _origins[key] = Origin(module, "" if frame is None else places.line(frame))
    return origin
