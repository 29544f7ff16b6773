# SPDX-License-Identifier: MIT
"""What a program of torch does step by step: an optimizer steps, and a DataLoader gives a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any

from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.data.dataloader import _BaseDataLoaderIter

Take = Callable[[Any], Any]
"""Takes the next batch of a DataLoader's iterator."""

pass_over: Take = _BaseDataLoaderIter.__next__
"""Takes one that the program is not given, of which nobody is told."""


@contextmanager
def followed(
    begin: Callable[[Optimizer], None], end: Callable[[Optimizer], None], batch: Callable[[Any, Take], Any]
) -> Iterator[None]:
    """Of this thread: tells when any optimizer begins to step and has ended, and has `batch` take each batch."""
    thread = get_ident()

    def told(tell: Callable[[Optimizer], None]) -> Callable[..., None]:
        return lambda optimizer, *_: tell(optimizer) if get_ident() == thread else None

    with ExitStack() as stack:
        stack.callback(register_optimizer_step_pre_hook(told(begin)).remove)
        stack.callback(register_optimizer_step_post_hook(told(end)).remove)
        stack.enter_context(_batches(thread, batch))
        yield


@contextmanager
def _batches(thread: int, batch: Callable[[Any, Take], Any]) -> Iterator[None]:
    take = _BaseDataLoaderIter.__next__

    def take_and_tell(self: Any) -> Any:
        return batch(self, take) if get_ident() == thread else take(self)

    _BaseDataLoaderIter.__next__ = take_and_tell  # type: ignore[method-assign]
    try:
        yield
    finally:
        _BaseDataLoaderIter.__next__ = take  # type: ignore[method-assign]
