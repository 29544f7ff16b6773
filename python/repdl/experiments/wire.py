# SPDX-License-Identifier: MIT
"""Hands values to another process: JSON, and a file of bytes for the tensors in them."""

from __future__ import annotations

import mmap
from typing import Any, BinaryIO

import numpy as np
import torch

from repdl.experiments.call import ALIGNMENT, Seeded, Slot

NAMED = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}
"""Types of torch whose values are attributes of it."""


def write(file: BinaryIO, value: Any) -> Any:
    """The value as JSON, whose tensors then lie in the file, each packed, and nothing else does.

    Those of a device are read as tensors of the CPU.
    """
    file.seek(0)
    file.truncate()
    file.write(bytes(ALIGNMENT))  # a file of no bytes cannot be mapped
    encoded = _encoded(value, file)
    file.flush()
    return encoded


def read(descriptor: int, value: Any) -> Any:
    """The value that was written. Its tensors are the file's memory: copies, as soon as they are changed."""
    return _decoded(value, np.frombuffer(mmap.mmap(descriptor, 0, access=mmap.ACCESS_COPY), np.uint8))


def _encoded(value: Any, file: BinaryIO) -> Any:
    if isinstance(value, (list, tuple)):
        items = [_encoded(item, file) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": {key: _encoded(item, file) for key, item in value.items()}}
    if isinstance(value, torch.Tensor):
        file.write(bytes(-file.tell() % ALIGNMENT))
        place = file.tell()
        x = value.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
        file.write(x.view(torch.uint8).numpy().data if x.numel() else b"")
        return {"tensor": [place, _encoded(value.dtype, file), list(value.shape)]}
    if isinstance(value, Slot):
        return {"slot": value.index}
    if isinstance(value, Seeded):
        return {"seeded": [_encoded(value.state, file), value.device]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    for word, kind in NAMED.items():
        if isinstance(value, kind):
            return {word: str(value).removeprefix("torch.")}
    return value


def _decoded(value: Any, memory: np.ndarray[Any, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(item, memory) for item in value]
    if not isinstance(value, dict):
        return value
    ((word, what),) = value.items()
    if word == "tuple":
        return tuple(_decoded(what, memory))
    if word == "dict":
        return {key: _decoded(item, memory) for key, item in what.items()}
    if word == "tensor":
        place, dtype, shape = what[0], _decoded(what[1], memory), what[2]
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return torch.from_numpy(memory[place : place + count]).view(dtype).view(shape)
    if word == "slot":
        return Slot(what)
    if word == "seeded":
        return Seeded(_decoded(what[0], memory), what[1])
    if word == "complex":
        return complex(*what)
    return torch.device(what) if word == "device" else getattr(torch, what)
