# SPDX-License-Identifier: MIT
"""`repdl.random.stream("torch")`: torch's own numbers, whether the rest of torch is taken over or not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from repdl.interception import switch
from repdl.interception.aten.random import draw_uniform
from repdl.interception.registration import register

STREAMS = ("torch",)

_lock = threading.Lock()
_depth = 0
_overrides: torch.library.Library | None = None


@contextmanager
def stream(name: str) -> Iterator[None]:
    """`with repdl.random.stream("torch"):` random float32 tensors on the CPU have the same bits on every machine.

    It covers `uniform_` and all that is built on it, as the initial weights of torch's layers are. It acts on the
    whole process, and nests.

    Raises:
        ValueError: for a name that is not in STREAMS.
    """
    if name not in STREAMS:
        raise ValueError(f"[stream] name must be one of {STREAMS}, got {name!r}")
    global _depth, _overrides
    with _lock:
        _depth += 1
        if _depth == 1:
            _override_uniform()
            switch.over_all.append(_override_uniform)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                switch.over_all.remove(_override_uniform)
                _overrides = None


def _override_uniform() -> None:
    global _overrides
    _overrides = register({"CPU": {"uniform_": draw_uniform}})
