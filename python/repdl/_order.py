# SPDX-License-Identifier: MIT
"""The order of sums: one setting for every op."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from repdl import _core

ORDERS = ("blocked", "sequential")

_override: ContextVar[str | None] = ContextVar("repdl_order", default=None)
_in_this_context = _override.get


def _check(order: str) -> str:
    if order not in ORDERS:
        raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
    return order


def set_order(order: str) -> None:
    """Sets the order of the whole process: "blocked" (the default) or "sequential" (that of microsoft/RepDL 0.1).

    Raises:
        ValueError: for any other text.
    """
    _core.set_default_order(_check(order))


def get_order() -> str:
    """The order that an op called here and now would use."""
    return _core.get_order()


@contextmanager
def order(order: str) -> Iterator[None]:
    """Sets the order inside a `with` block (or a decorated function), in this thread or task only.

    The backward pass of an op uses the order of its forward pass, wherever `backward()` is called.

    Raises:
        ValueError: for anything but "blocked" and "sequential".
    """
    token = _override.set(_check(order))
    _core.set_order_source(_in_this_context)  # not before: to ask it takes time at each call
    try:
        yield
    finally:
        _override.reset(token)
