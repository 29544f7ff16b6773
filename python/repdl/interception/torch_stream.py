# SPDX-License-Identifier: MIT
"""`repdl.random.stream("torch")`: torch's own numbers, whether the rest of torch is taken over or not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from repdl.interception import switch
from repdl.interception.aten.random import draw_normal, draw_uniform
from repdl.interception.native import native_of
from repdl.interception.registration import register

STREAMS = ("torch",)

_lock = threading.Lock()
_depth = 0
_overrides: torch.library.Library | None = None


@contextmanager
def stream(name: str) -> Iterator[None]:
    """`with repdl.random.stream("torch"):` random float32 tensors on the CPU have the same bits on every machine.

    It covers `uniform_` and `normal_`, so `torch.rand`, `torch.randn` and the initial weights of torch's layers. What
    torch's own kernels compute from these, as `trunc_normal_` does, is not covered. It acts on the whole process, and
    nests.

    Raises:
        ValueError: for a name that is not in STREAMS.
    """
    if name not in STREAMS:
        raise ValueError(f"[stream] name must be one of {STREAMS}, got {name!r}")
    global _depth, _overrides
    with _lock:
        _depth += 1
        if _depth == 1:
            _override()
            switch.over_all.append(_override)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                switch.over_all.remove(_override)
                _overrides = None


def _override() -> None:
    global _overrides
    _overrides = register({"CPU": {"uniform_": draw_uniform, "normal_": _draw_normal}})


_native_normal = native_of("normal_")


def _draw_normal(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Of float64 what torch computes with the C library, which an enabled program refuses."""
    wide = self.dtype in (torch.float64, torch.complex128)
    return (_native_normal if wide and not switch.is_enabled() else draw_normal)(self, *args, **kwargs)
