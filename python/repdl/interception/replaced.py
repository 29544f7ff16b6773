# SPDX-License-Identifier: MIT
"""Functions of torch that do something else for a while, also for a program that imported them before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, update_wrapper
from typing import Any

from repdl import _core

Function = Callable[..., Any]


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Function], Function]) -> Iterator[None]:
    """In this block, `owner.name` does what `make(original)` does; nothing happens where torch has no such function.

    A function of torch written in C stays the same object. Of another one, only who asks its owner gets ours.
    """
    function = getattr(owner, name, None)
    if function is None:
        yield
        return
    try:
        _check_kind(function)
        _core.replace_function(function, make)
    except TypeError:
        is_own = name in vars(owner)
        ours = make(function)
        setattr(owner, name, ours)
        try:
            yield
        finally:
            if vars(owner).get(name) in (ours, getattr(ours, "__func__", None)) or getattr(owner, name) is ours:
                setattr(owner, name, function) if is_own else delattr(owner, name)
        return
    try:
        yield
    finally:
        _core.restore_function(function)


def _check_kind(function: Function) -> None:
    """Raises TypeError for a function made by pybind11, as the core does where its calls are of a kind of their own.

    That depends on the version of pybind11 that torch was built with. There are many, and the core has places for few.
    """
    if type(getattr(function, "__self__", None)).__name__.startswith("pybind11_"):
        raise TypeError(f"{function!r} is replaced at its owner")


@contextmanager
def replaced_in_ops(packet: Any, make: Callable[[Function], Function]) -> Iterator[None]:
    """In this block, an op of `torch.ops` and its overloads call `make(original)`."""
    with ExitStack() as stack:
        for op in (packet, *(getattr(packet, overload) for overload in packet.overloads())):
            stack.enter_context(replaced(op, "_op", partial(_InOp.of, make)))
        yield


class _InOp(partial[Any]):
    """What an op of `torch.ops` calls in the place of torch's function. It has that one's hash, which is the op's too.

    So an op is still found in dictionaries, such as torch's tables of decompositions, which compilers and export read.
    """

    @classmethod
    def of(cls, make: Callable[[Function], Function], original: Function) -> _InOp:
        made = cls(make(original))
        update_wrapper(made, original)
        return made

    def __hash__(self) -> int:
        return hash(self.__dict__["__wrapped__"])
