# SPDX-License-Identifier: MIT
"""The states of all generators of a process: Python's, NumPy's, torch's on the CPU and on devices.

Those of `repdl.random` are torch's. A device that the process has not begun to use has no state.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from repdl.checkpoint.errors import CheckpointError

_MT19937_WORDS = 624


def states() -> dict[str, Any]:
    return {
        "Python": random.getstate(),
        "NumPy": np.random.get_state(legacy=False),
        "torch": torch.get_rng_state(),
        "devices": _of_devices(),
    }


def check(found: Any) -> None:
    """CheckpointError unless `restore` will do. Each state is tried on a generator of its own."""
    if not (isinstance(found, dict) and found.keys() == states().keys() and isinstance(found["devices"], dict)):
        raise CheckpointError("it lacks the states of generators")
    _check("Python", random.Random(0).setstate, found["Python"])
    _check("NumPy", _try_numpy, found["NumPy"])
    _check("torch", torch.Generator().set_state, found["torch"])
    devices = _of_devices()
    for name, saved in found["devices"].items():
        here = devices.get(name, [])
        if len(saved) != len(here):
            raise CheckpointError(
                f"it has the states of {len(saved)} generators on {name}, but this process uses {len(here)}; begin to "
                f"use {name} first, on as many devices"
            )
        for index, state in enumerate(saved):
            _check(f"{name}:{index}", torch.Generator(f"{name}:{index}").set_state, state)


def restore(found: Mapping[str, Any]) -> None:
    random.setstate(found["Python"])
    np.random.set_state(found["NumPy"])
    torch.set_rng_state(found["torch"])
    for name, saved in found["devices"].items():
        module = torch.get_device_module(name)
        for index, state in enumerate(saved):
            module.set_rng_state(state, index)


def _of_devices() -> dict[str, list[torch.Tensor]]:
    device = torch.accelerator.current_accelerator()
    if device is None:
        return {}
    module = torch.get_device_module(device)
    if not getattr(module, "is_initialized", module.is_available)():
        return {}
    return {device.type: [module.get_rng_state(index) for index in range(module.device_count())]}


def _check(name: str, set_state: Any, state: Any) -> None:
    try:
        set_state(state)
    except (TypeError, ValueError, KeyError, RuntimeError, OverflowError, AttributeError, IndexError) as error:
        raise CheckpointError(f"it has a state of {name}'s generator that does not fit: {error}") from None


def _try_numpy(state: Any) -> None:
    if state["bit_generator"] == "MT19937" and not 0 <= state["state"]["pos"] <= _MT19937_WORDS:
        raise ValueError("its place is out of range")  # NumPy would read memory there
    np.random.RandomState(type(np.random.mtrand.get_bit_generator())()).set_state(state)
