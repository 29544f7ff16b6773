# SPDX-License-Identifier: MIT
"""States of the random generators of a process, as hashes."""

from __future__ import annotations

import random
import sys
from typing import Any

import torch

from repdl import _content as content


def of_torch(generator: Any, device: torch.device | None) -> tuple[str, bytes]:
    """The generator that an op draws from: the one it was given, or that of its device."""
    if generator is None and device is not None and device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        generator = torch.cuda.default_generators[index]
    state = (torch.default_generator if generator is None else generator).get_state()
    return "torch's generator", content.raw_hash(state) or content.UNHASHED


def of_process() -> list[tuple[str, bytes]]:
    """Of Python, NumPy, if it is loaded, and torch."""
    found = [of_torch(None, None)]
    if torch.cuda.is_initialized():
        found.append((f"{found[0][0]} of CUDA", of_torch(None, torch.device("cuda"))[1]))
    found.append(("Python's generator", content.digest(repr(random.getstate()).encode())))
    if (numpy := sys.modules.get("numpy")) is not None:
        name, keys, *rest = numpy.random.get_state()
        found.append(("NumPy's generator", content.digest(keys.tobytes() + repr((name, rest)).encode())))
    return found
