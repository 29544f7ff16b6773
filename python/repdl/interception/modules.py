# SPDX-License-Identifier: MIT
"""Which module of a model runs, by its path from the module that was called first."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook


class Modules:
    """The modules under way: `path` is that of the innermost.

    The class of a model comes first, "GPT.blocks.3.attn", but for the model that is met first if that is to have plain
    paths, "blocks.3.attn". A model itself, and a module that no model has, goes by its class.
    """

    def __init__(self, thread: int, has_plain_model: bool) -> None:
        self.thread, self.has_plain_model = thread, has_plain_model
        self.stack: list[tuple[str, bool]] = []
        self.paths: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()
        self.models = 0

    @property
    def path(self) -> str:
        return self.stack[-1][0] if self.stack else ""

    @property
    def in_backward(self) -> bool:
        """The innermost was called by a backward pass, as checkpoints are."""
        return bool(self.stack) and self.stack[-1][1]

    @contextmanager
    def followed(self) -> Iterator[None]:
        entered = register_module_forward_pre_hook(self._enter)
        left = register_module_forward_hook(self._leave, always_call=True)
        # torch warns that hooks are called twice for compiled modules; here the second call has the name of the first.
        warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global hooks", UserWarning)
        ignored = warnings.filters[0]
        try:
            yield
        finally:
            entered.remove()
            left.remove()
            with suppress(ValueError):
                warnings.filters.remove(ignored)  # type: ignore[attr-defined]

    def _enter(self, module: nn.Module, args: Any) -> None:
        if get_ident() != self.thread:
            return
        path = self.paths.get(module)
        if path is None:
            path = self._name(module)
        self.stack.append((path, torch._C._current_autograd_node() is not None))

    def _leave(self, module: nn.Module, args: Any, output: Any) -> None:
        if self.stack and get_ident() == self.thread:
            self.stack.pop()

    def _name(self, module: nn.Module) -> str:
        own = type(module).__name__
        if self.stack:  # it was made after the model had been named
            path = f"{self.path}.{own}"
            self.paths[module] = path
            return path
        prefix = ""
        if next(module.children(), None) is not None:
            self.models += 1
            if self.models > self.has_plain_model:
                prefix = own + ("." if self.models <= 2 else f"#{self.models}.")
        for name, inner in module.named_modules():
            self.paths.setdefault(inner, prefix + name if name else own)
        return self.paths[module]
