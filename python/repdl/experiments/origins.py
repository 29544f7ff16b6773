# SPDX-License-Identifier: MIT
"""From which line and which layer of a program an op is called, also in the backward pass."""

from __future__ import annotations

import sys
from types import FrameType
from weakref import WeakKeyDictionary

import torch

from repdl.interception import places

MOST_KEPT = 200_000
"""Nodes of the graph whose origin is kept."""

_CALL = torch.nn.Module._call_impl.__code__

Origin = tuple[str, str]
"""A line, "train.py:31", and a layer, "GPT.blocks.0.attention", or ""."""


class Origins:
    def __init__(self) -> None:
        self.of_nodes: dict[int, Origin] = {}
        self.names: WeakKeyDictionary[torch.nn.Module, dict[torch.nn.Module, str]] = WeakKeyDictionary()

    def here(self) -> Origin:
        """Of the op that is called now: in a backward pass that of the op whose gradient it is."""
        node = torch._C._current_autograd_node()
        if node is not None:
            line, layer = self.of_nodes.get(node._sequence_nr(), ("", ""))
            return (f"{line} (backward)" if line else places.place()), layer
        origin = places.place(), self._layer()
        # autograd made the node before it called the op.
        self.of_nodes.setdefault(torch.autograd._get_sequence_nr() - 1, origin)
        if len(self.of_nodes) > MOST_KEPT:
            del self.of_nodes[next(iter(self.of_nodes))]
        return origin

    def _layer(self) -> str:
        """The innermost module that is called, by its name in the outermost."""
        frame: FrameType | None = sys._getframe(1)
        called = []
        while frame is not None:
            if frame.f_code is _CALL:
                called.append(frame.f_locals["self"])
            frame = frame.f_back
        if not called:
            return ""
        root = called[-1]
        if root not in self.names or called[0] not in self.names[root]:
            self.names[root] = {module: name for name, module in root.named_modules()}
        name = self.names[root].get(called[0], "")
        return f"{type(root).__name__}.{name}".rstrip(".")
