# SPDX-License-Identifier: MIT
"""What is known of the memory of tensors: who wrote it last, whether anything did, and hashes of what it holds.

It is kept at the storage itself, so that it ends with it. A hash is kept until an op writes the memory. Of memory that
torch has not allocated, or that was given to somebody outside of torch, none is kept: who knows what writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from repdl import _content as content
from repdl._values import is_distributed

_storage_of = torch._C.TensorBase.untyped_storage
_GIVES_AWAY = ("numpy", "__array__", "__dlpack__", "data_ptr", "share_memory_")


class Memory:
    __slots__ = ("epoch", "hashes", "is_shared", "is_workspace", "unwritten", "values", "version", "writer")

    def __init__(self, epoch: int, writer: int, is_shared: bool) -> None:
        self.epoch = epoch
        self.writer = writer  # the number of the op; -1 is unknown
        self.is_shared = is_shared
        self.is_workspace = False  # in which an op has left what is no result
        self.unwritten = 0  # bytes
        self.version: int | None = None  # torch's count of writes, once the memory was read; seen by it or not by us
        self.values: dict[Any, tuple[str, bytes]] = {}  # what tensors of it are, and the hashes of what they hold
        self.hashes: dict[Any, bytes] = {}  # of bytes of it, which several of them may share

    def forget(self) -> None:
        self.values.clear()
        self.hashes.clear()

    def written(self, writer: int, size: int) -> None:
        self.writer = writer
        self.version = None
        self.is_workspace = False
        self.values.clear()
        self.hashes.clear()
        if self.unwritten:
            self.unwritten = max(0, self.unwritten - size)


def storage(tensor: torch.Tensor) -> Any:
    """None if it has none of its own."""
    try:
        return _storage_of(tensor)
    except (RuntimeError, NotImplementedError):
        return None


def is_of_others(tensor: torch.Tensor, found: Any) -> bool:
    """Memory that torch has not allocated, or not for this process alone, or of a part that is written by itself."""
    return found is None or not found.resizable() or found.is_shared() or is_distributed(tensor)


def memory_of(tensor: torch.Tensor, epoch: int) -> Memory:
    try:
        found = _storage_of(tensor)
    except (RuntimeError, NotImplementedError):
        return Memory(epoch, -1, True)
    memory: Memory | None = getattr(found, "_repdl_memory", None)
    if memory is None:
        memory = Memory(epoch, -1, is_of_others(tensor, found))
        found._repdl_memory = memory  # type: ignore[attr-defined]
    elif memory.epoch != epoch:  # of what came in between nothing is known
        memory.epoch, memory.writer, memory.unwritten, memory.is_workspace = epoch, -1, 0, False
        memory.forget()
    return memory


def value_of(tensor: torch.Tensor, memory: Memory) -> tuple[str, bytes]:
    """What a tensor is, and the hash of what it holds."""
    if memory.is_workspace:
        return content.kind(tensor), content.UNHASHED
    if memory.unwritten:
        return content.kind(tensor), content.UNINITIALISED
    if memory.is_shared or tensor.is_nested:
        return content.kind(tensor), content.of(tensor)
    version = -1 if tensor.is_inference() else tensor._version
    if memory.version != version:
        if memory.version is not None:  # somebody has written past us: another thread, or a kernel called directly
            memory.forget()
        memory.version = version
    dtype = tensor.dtype
    key = (
        dtype,
        tensor.shape,
        tensor.stride(),
        tensor.storage_offset(),
        tensor.is_neg() + 2 * (dtype.is_complex and tensor.is_conj()),  # whether its elements are not as they lie there
    )
    try:
        found = memory.values.get(key)
    except TypeError:  # sizes that are symbols, while torch traces
        return content.kind(tensor), content.UNHASHED
    if found is None:
        found = memory.values[key] = _read(tensor, memory, is_changed=bool(key[-1]))
    return found


def _read(tensor: torch.Tensor, memory: Memory, is_changed: bool) -> tuple[str, bytes]:
    """Views of the same bytes in the same order share what is read."""
    what = content.kind(tensor)
    if tensor.is_contiguous() and not is_changed:
        key = (tensor.storage_offset() * tensor.itemsize, tensor.nbytes)
        raw = memory.hashes.get(key)
        if raw is None and (raw := content.raw_hash(tensor)) is not None:
            memory.hashes[key] = raw
    else:
        raw = content.raw_hash(tensor)
    return what, content.UNHASHED if raw is None else content.with_kind(raw, what)


@contextmanager
def watched(is_inside: Callable[[], bool]) -> Iterator[None]:
    """Notices memory that the program gives to somebody outside of torch, but for what `is_inside` an op."""
    before = {name: torch.Tensor.__dict__.get(name) for name in _GIVES_AWAY}

    def watching(function: Callable[..., Any]) -> Callable[..., Any]:
        def give_away(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if not is_inside():
                memory = getattr(storage(self), "_repdl_memory", None)
                if memory is not None:
                    memory.is_shared = True
            return function(self, *args, **kwargs)

        return give_away

    for name in _GIVES_AWAY:
        setattr(torch.Tensor, name, watching(getattr(torch.Tensor, name)))
    try:
        yield
    finally:
        for name, function in before.items():
            if function is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, function)
