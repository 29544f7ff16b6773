# SPDX-License-Identifier: MIT
"""SHA-256 of what values hold, in hexadecimal."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import torch

from repdl import _values


def of(value: Any) -> str:
    """Of tensors, arrays, numbers and texts in nested mappings, lists and tuples.

    Strides, memory formats and devices do not show. Of an object that is none of these, the name of its type counts.
    """
    hasher = sha256()
    _tell(hasher, value)
    return hasher.hexdigest()


def of_batch(batch: Any) -> str:
    """Of the values that a batch of a DataLoader has."""
    return of(_values.leaves(batch))


def of_optimizer(optimizer: torch.optim.Optimizer, parameters: list[torch.Tensor]) -> str:
    """Of its options, of what it keeps for each parameter, and of what kinds these are."""
    options = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
    counts = [len(group["params"]) for group in optimizer.param_groups]
    return of([options, counts, [(_values.kind(p), optimizer.state.get(p)) for p in parameters]])


def _tell(hasher: _values.Hash, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        _item(hasher, _values.kind(value), _values.raw_hash(value.detach(), sha256))
    elif isinstance(value, Mapping):
        _item(hasher, "mapping", str(len(value)).encode())
        for key, item in value.items():
            _tell(hasher, key)
            _tell(hasher, item)
    elif isinstance(value, list | tuple) and all(type(item) is int for item in value):  # as Python's generator has
        _item(hasher, "integers", repr([*value]).encode())
    elif isinstance(value, list | tuple | deque):
        _item(hasher, "sequence", str(len(value)).encode())
        for item in value:
            _tell(hasher, item)
    else:
        _item(hasher, *_values.of_object(value))


def _item(hasher: _values.Hash, what: str, data: bytes | None) -> None:
    """Lengths come first, so that no two values give the same bytes."""
    size = "unread" if data is None else len(data)
    hasher.update(f"{len(what)} {size} {what}".encode())
    hasher.update(data or b"")
