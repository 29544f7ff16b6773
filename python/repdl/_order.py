# SPDX-License-Identifier: MIT
"""The order of sums: one setting for every op.

The order of the process is what the latest of `set_order` and the blocks under way says, in whatever turn they end. A
block with an order of its own has it in its thread or task whatever the process has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from repdl import _core
from repdl._context import InContext

ORDERS = ("blocked", "sequential")

_here: InContext[str] = InContext("repdl_order")
of_this_context = _here.get

_lock = threading.Lock()
_BY_SET_ORDER = object()
_of_process: list[tuple[object, str]] = [(_BY_SET_ORDER, "blocked")]


def check_order(order: str) -> str:
    if order not in ORDERS:
        raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
    return order


def set_order(order: str) -> None:
    """Sets the order of the whole process: "blocked" (the default) or "sequential" (that of microsoft/RepDL 0.1).

    It stays when a block that is under way, or `repdl.enable`, ends. A block with an order of its own keeps that.

    Raises:
        ValueError: for any other text.
    """
    push_order(_BY_SET_ORDER, order)


def get_order() -> str:
    """The order that an op called here and now would use."""
    return _core.get_order()


@contextmanager
def order(order: str) -> Iterator[None]:
    """Sets the order inside a `with` block (or a decorated function), in this thread or task only.

    The backward pass of an op uses the order of its forward pass, wherever `backward()` is called. A generator keeps
    its block to itself: while it is suspended, its caller has the order of before.

    Raises:
        ValueError: for anything but "blocked" and "sequential".
    """
    check_order(order)
    _core.set_order_source(of_this_context)  # not before: to ask it takes time at each call
    with _here.set(order):
        yield


def push_order(token: object, order: str) -> None:
    """Makes this the order of the process, until `pop_order`, or a later one."""
    check_order(order)
    with _lock:
        _of_process[:] = [*(entry for entry in _of_process if entry[0] is not token), (token, order)]
        _core.set_default_order(order)


def pop_order(token: object) -> None:
    with _lock:
        _of_process[:] = [entry for entry in _of_process if entry[0] is not token]
        _core.set_default_order(_of_process[-1][1])
