# SPDX-License-Identifier: MIT
"""What a program may choose for torch's kernels, on which bits may depend: precisions, and kinds of algorithms.

Nothing here needs a device: torch keeps these choices without one too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import torch

_NEWER = tuple((backend, op) for backend in ("cuda", "mkldnn") for op in ("matmul", "conv", "rnn"))
"""Of `torch.backends.….fp32_precision`, which says of each library what `torch.set_float32_matmul_precision` says of
all products."""


def newer_precisions() -> dict[str, str]:
    """By name, "mkldnn.conv", what a program has allowed; none in versions of torch that lack the names."""
    get: Any = getattr(torch._C, "_get_fp32_precision_getter", None)
    return {} if get is None else {f"{backend}.{op}": get(backend, op) for backend, op in _NEWER}


def float32_precision() -> str:
    """As `torch.get_float32_matmul_precision()`, or "cuda.matmul=tf32 …" where a program has used torch's newer names,
    after which that one raises."""
    try:
        return torch._C._get_float32_matmul_precision()
    except RuntimeError:
        return " ".join(f"{name}={value}" for name, value in newer_precisions().items())


def set_float32_precision(wanted: str) -> None:
    """What `float32_precision` has given."""
    if "=" not in wanted:
        torch.set_float32_matmul_precision(wanted)
        return
    put: Any = getattr(torch._C, "_set_fp32_precision_setter")  # noqa: B009
    for item in wanted.split():
        place, _, value = item.partition("=")
        put(*place.split("."), value)


@dataclass(frozen=True)
class Choice:
    """line: which makes it, with a place for the value. values: all, those with the most bits first.

    fewer: whether those behind the first allow fewer bits. on: "cpu" or "device" if kernels of the other one do not
    read it.
    """

    line: str
    read: Callable[[], Any]
    write: Callable[[Any], None]
    values: tuple[Any, ...] = (False, True)
    fewer: bool = False
    on: str = ""

    @property
    def name(self) -> str:
        """As "torch.backends.cudnn.benchmark"."""
        return self.line.partition(" = ")[0].partition("(")[0]

    def now(self) -> Any:
        """None where torch does not tell, as where a program has made the same choice by another name."""
        with suppress(RuntimeError, AttributeError):
            return self.read()
        return None

    @contextmanager
    def made(self, value: Any) -> Iterator[None]:
        """In a block; RuntimeError if torch does not let that be."""
        before = self.read()
        self.write(value)
        try:
            yield
        finally:
            self.write(before)


class _Deterministic(Choice):
    @contextmanager
    def made(self, value: Any) -> Iterator[None]:
        """An op that has no such algorithm raises then, also where the program only warns."""
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        before = self.read()
        self.write(value)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warns)


_settable: Callable[[], AbstractContextManager[None]] = getattr(
    torch.backends, "__allow_nonbracketed_mutation", nullcontext
)
"""A block as that of `torch.backends.….flags`, without which torch refuses once `disable_global_flags` was called, as
by its own tests."""


def _attribute(on: str, place: str, name: str, values: tuple[Any, ...] = (False, True), fewer: bool = False) -> Choice:
    owner: Any = torch
    for part in place.split("."):
        owner = getattr(owner, part)
    value = '"{}"' if isinstance(values[0], str) else "{}"
    line = f"torch.{place}.{name} = {value}"

    def write(value: Any) -> None:
        with _settable():
            setattr(owner, name, value)

    return Choice(line, lambda: getattr(owner, name), write, values, fewer, on)


_MKLDNN, _CUDNN, _MATMUL = "backends.mkldnn", "backends.cudnn", "backends.cuda.matmul"

PRECISION = Choice(
    'torch.set_float32_matmul_precision("{}")',
    float32_precision,
    set_float32_precision,
    ("highest", "high", "medium"),
    fewer=True,
)
DETERMINISTIC = _Deterministic(
    "torch.use_deterministic_algorithms({})",
    torch.are_deterministic_algorithms_enabled,
    torch.use_deterministic_algorithms,
)

CUDNN_DETERMINISTIC = _attribute("device", _CUDNN, "deterministic")

OF_CUDA = (
    _attribute("device", _CUDNN, "allow_tf32", fewer=True),
    _attribute("device", _MATMUL, "allow_fp16_reduced_precision_reduction", fewer=True),
    _attribute("device", _MATMUL, "allow_bf16_reduced_precision_reduction", fewer=True),
    _attribute("device", _MATMUL, "allow_fp16_accumulation", fewer=True),
    _attribute("device", _CUDNN, "enabled"),
    _attribute("device", _CUDNN, "benchmark"),
    CUDNN_DETERMINISTIC,
)
_OF_NEWER_TORCH = tuple(
    _attribute("device", f"{_CUDNN}.{op}", "fp32_precision", ("ieee", "tf32"), fewer=True)
    for op in ("conv", "rnn")
    if hasattr(torch.backends.cudnn, op)
)
"""In the place of `allow_tf32`, of which torch does not tell once a program has used these names."""

CHOICES = (PRECISION, DETERMINISTIC, _attribute("cpu", _MKLDNN, "enabled"), *OF_CUDA, *_OF_NEWER_TORCH)


def of_calls(on_device: bool) -> list[tuple[Choice, Any]]:
    """The choices that kernels of the CPU, or of a device, read, and how they are made now."""
    other = "cpu" if on_device else "device"
    tf32_is_told = OF_CUDA[0].now() is not None
    wanted = [c for c in CHOICES if c.on != other and not (tf32_is_told and c in _OF_NEWER_TORCH)]
    return [(choice, now) for choice in wanted if (now := choice.now()) is not None]
