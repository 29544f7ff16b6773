# SPDX-License-Identifier: MIT
"""A call of an op with all that it read, so that it can be made again: memory, strides, and the generator's state."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from repdl._workspaces import WORKSPACES
from repdl.experiments import devices

MOST_BYTES = 256 << 20
"""Of the memory of a call; larger ones are not tried."""

LARGE = 32 << 20
"""Bytes of a call above which one of each op is enough, whatever its shapes."""

ALIGNMENT = 64
"""Bytes to which torch aligns memory. A copy of a part of it keeps the place within that."""

PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)

Results = list[Any]
"""What an op gave, and then the arguments into which it wrote, but for those that it gave and for workspaces."""


class UntriedError(Exception):
    """A call that cannot be made again; the message says why."""


@dataclass(frozen=True)
class Slot:
    """Stands for a tensor in the arguments."""

    index: int


@dataclass(frozen=True)
class Seeded:
    """Stands for a generator in the arguments."""

    state: torch.Tensor
    device: str = devices.CPU


@dataclass(frozen=True)
class View:
    """A tensor: which memory, and how it lies in that. The offset counts elements."""

    dtype: torch.dtype
    memory: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


@dataclass(frozen=True)
class Call:
    """args and kwargs have slots in the place of tensors. random: the states of torch's generators before the call.

    device: "cpu", or the one on which the call works; single numbers among its tensors may lie on the CPU then.
    """

    op: torch._ops.OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    views: list[View]
    memory: list[torch.Tensor]
    random: list[torch.Tensor]
    device: str = devices.CPU

    @property
    def bytes(self) -> int:
        return sum(part.nbytes for part in self.memory)

    def tensors(self) -> list[torch.Tensor]:
        """Copies, which share memory as those of the program did."""
        memory = [part.clone() for part in self.memory]
        return [
            torch.empty(0, dtype=v.dtype, device=memory[v.memory].device).set_(
                memory[v.memory].untyped_storage(), v.offset, v.shape, v.stride
            )
            for v in self.views
        ]

    def named(self) -> dict[str, Any]:
        """The arguments by name, slots in the place of tensors."""
        return dict(zip([a.name for a in self.op._schema.arguments], self.args)) | self.kwargs

    @property
    def written(self) -> set[str]:
        """Names of the arguments into which it writes."""
        return {a.name for a in self.op._schema.arguments if a.alias_info is not None and a.alias_info.is_write}

    @property
    def shares(self) -> bool:
        """Whether it writes into memory in which another of its tensors lies."""
        named = self.named()
        slots = [x.index for x in tree_leaves([named.get(name) for name in self.written]) if isinstance(x, Slot)]
        lies = [view.memory for view in self.views]
        return any(lies.count(lies[i]) > 1 for i in slots)

    def run(self, tensors: Sequence[torch.Tensor] | None = None) -> Results:
        """Makes the call on copies, or on other tensors in their places, with the generators as they were then."""
        given = self.tensors() if tensors is None else tensors
        args, kwargs = tree_map(lambda leaf: _filled(leaf, given), (self.args, self.kwargs))
        with (
            devices.drawing(self.device, self.random),
            torch.no_grad(),
            torch._C._AutoDispatchBelowAutograd(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            outcome = self.op(*args, **kwargs)
        return self.results(args, kwargs, outcome)

    def results(self, args: Sequence[Any], kwargs: dict[str, Any], outcome: Any) -> Results:
        """Of a call with these arguments that gave this."""
        outputs = list(outcome) if isinstance(outcome, tuple) else [outcome]
        left_out = WORKSPACES.get(self.op._schema.name, ())
        kept = [output for i, output in enumerate(outputs) if i not in left_out]
        names = dict(zip([a.name for a in self.op._schema.arguments], args)) | kwargs
        given = tree_leaves(kept)
        written = tree_leaves([names[name] for name in sorted((self.written & names.keys()).difference(left_out))])
        return given + [x for x in written if not any(x is output for output in given)]

    def attempt(self, tensors: Sequence[torch.Tensor] | None = None) -> Results | None:
        """`run`, with results on the CPU; None if the op refuses that, also where a device says so later.

        An op of another library, in Python maybe, refuses by any exception.
        """
        with suppress(Exception):
            return [x.cpu() if isinstance(x, torch.Tensor) else x for x in self.run(tensors)]
        return None

    def on(self, tensors: Sequence[torch.Tensor]) -> Call:
        """The call of other tensors."""
        views, memory = _snapshot(tensors)
        return replace(self, views=views, memory=memory)

    @property
    def is_random(self) -> bool:
        return torch.Tag.nondeterministic_seeded in self.op.tags

    def on_device(self, device: str) -> Call:
        """All of it there. Random numbers begin with one seed, whatever was drawn before."""

        def moved(leaf: Any) -> Any:
            if isinstance(leaf, Seeded):
                return Seeded(torch.Generator(device).manual_seed(devices.SEED).get_state(), device)
            return torch.device(device) if isinstance(leaf, torch.device) else leaf

        args, kwargs = tree_map(moved, (self.args, self.kwargs))
        memory = [part.to(device) for part in self.memory]
        return replace(self, args=args, kwargs=kwargs, memory=memory, random=devices.seeded(device), device=device)

    def __str__(self) -> str:
        name = {dtype: str(dtype).removeprefix("torch.") for dtype in {v.dtype for v in self.views}}
        return ", ".join(f"{name[v.dtype]}[{', '.join(map(str, v.shape))}]" for v in self.views[:6]) + (
            ", …" if len(self.views) > 6 else ""
        )


def take(op: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Copies what a call reads. UntriedError says why it cannot be made again."""
    given, named, tensors = _outline(args, kwargs)
    device = _device((given, named), tensors)
    views, memory = _snapshot(tensors)
    return Call(op, given, named, views, memory, devices.states(device), device)


def key(op: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What calls share that take the same way through a kernel: all but the numbers. Large ones share the op alone,
    and this is then all there is.

    UntriedError says why a call cannot be made again.
    """
    given, named, tensors = _outline(args, kwargs)
    if sum(x.nbytes for x in tensors) > LARGE:
        return (str(op),)
    plain = {float: "float", Seeded: "generator"}
    words = repr(tree_map(lambda leaf: plain.get(type(leaf), leaf), (given, named)))
    return str(op), words, *((x.dtype, x.device, x.shape, x.stride()) for x in tensors)


def _outline(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], list[torch.Tensor]]:
    """The arguments with slots in the place of the tensors, and these."""
    tensors: list[torch.Tensor] = []

    def emptied(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            check(leaf)
            tensors.append(leaf)
            return Slot(len(tensors) - 1)
        if isinstance(leaf, torch.Generator):
            return Seeded(leaf.get_state(), str(leaf.device))
        if not isinstance(leaf, PLAIN):
            raise UntriedError(f"an argument is of {type(leaf).__name__}")
        return leaf

    given, named = tree_map(emptied, (tuple(args), dict(kwargs)))
    return given, named, tensors


def check(x: torch.Tensor) -> None:
    """UntriedError if it has no memory that could be copied and compared bit by bit."""
    if type(x) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise UntriedError("a tensor is of a class of its own")
    if x.layout != torch.strided or x.is_nested or x.is_quantized or x.is_conj() or x.is_neg():
        raise UntriedError("a tensor is not plain: sparse, nested, quantized or lazily conjugated")


def _device(values: Any, tensors: Sequence[torch.Tensor]) -> str:
    """The one on which a call works: of its tensors, or where it is asked to make them."""
    found = {leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.device)} | {x.device for x in tensors}
    others = sorted({str(device) for device in found if device.type != devices.CPU}, key=len)
    if any(torch.device(name).type != "cuda" for name in others):
        raise UntriedError("they are neither on the CPU nor on a GPU")
    if len({torch.device(name).index for name in others} - {None}) > 1:
        raise UntriedError("they are on several GPUs")
    return others[-1] if others else devices.CPU


def _snapshot(tensors: Sequence[torch.Tensor]) -> tuple[list[View], list[torch.Tensor]]:
    """Copies of the parts of memory in which the tensors lie."""
    parts: dict[tuple[torch.device, int], tuple[int, int, int]] = {}
    spans = [_span(x) for x in tensors]
    for x, (low, high) in zip(tensors, spans):
        index, first, last = parts.get(_memory(x), (len(parts), low, high))
        parts[_memory(x)] = index, min(first, low), max(last, high)
    if sum(high - low for _, low, high in parts.values()) > MOST_BYTES:
        raise UntriedError(f"their tensors take more than {MOST_BYTES >> 20} MiB")
    views, memory = [], [torch.empty(0)] * len(parts)
    for x in tensors:
        index, low, high = parts[_memory(x)]
        raw = torch.empty(0, dtype=torch.uint8, device=x.device).set_(x.untyped_storage(), low, (high - low,), (1,))
        memory[index] = raw.clone() if memory[index].dtype != torch.uint8 else memory[index]
        offset = int(x.storage_offset()) - low // x.element_size()
        views.append(View(x.dtype, index, tuple(x.shape), x.stride(), offset))
    return views, memory


def _memory(x: torch.Tensor) -> tuple[torch.device, int]:
    return x.device, x.untyped_storage().data_ptr()


def _span(x: torch.Tensor) -> tuple[int, int]:
    """The bytes of its memory that a tensor reaches, from a multiple of the alignment on."""
    low = int(x.storage_offset()) * x.element_size()
    reach = sum((size - 1) * step for size, step in zip(x.shape, x.stride())) + 1 if x.numel() else 0
    return low // ALIGNMENT * ALIGNMENT, low + reach * x.element_size()


def _filled(leaf: Any, tensors: Sequence[torch.Tensor]) -> Any:
    if isinstance(leaf, Slot):
        return tensors[leaf.index]
    if isinstance(leaf, Seeded):
        generator = torch.Generator(leaf.device)
        generator.set_state(leaf.state)
        return generator
    return leaf
