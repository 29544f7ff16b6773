# SPDX-License-Identifier: MIT
"""What torch tells a program of the CPU: the same on each, so that a program that asks takes the same way on each.

torchvision, for one, scales images of bytes in another way where `get_cpu_capability` says AVX2, and the engines of
quantised kernels, by which a program may choose how it trains for them, are fewer on a CPU without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import torch
import torch.cpu

from repdl.interception.replaced import replaced, replaced_in_ops

CAPABILITY: str = torch._C._get_cpu_capability().lower()
"""The instruction set that torch's kernels take in this process: asked here, before `hidden` gives another answer."""

_NONE, _FBGEMM, _QNNPACK, _ONEDNN, _X86 = range(5)  # torch's numbers of its engines

_ASKING = re.compile(r"_is_mkldnn_\w+_supported")
"""Ops of oneDNN that say what it can do with this CPU."""

_OF_X86 = ("default", "avx2", "avx512")

CAPABILITIES = _OF_X86[: _OF_X86.index(CAPABILITY) + 1] if CAPABILITY in _OF_X86 else ("default",)
"""The values of ATEN_CPU_CAPABILITY for which this CPU has the instructions, the plainest first.

With others torch dies of them. Only those of x86-64 can be chosen below the best.
"""


@contextmanager
def hidden() -> Iterator[None]:
    """In this block, a CPU without any extension that torch asks for."""
    of_cpu = getattr(torch._C, "_cpu", None)
    with ExitStack() as stack:
        stack.callback(_forget)  # what was told is remembered
        stack.enter_context(replaced(torch._C, "_get_cpu_capability", lambda original: lambda: "DEFAULT"))
        stack.enter_context(replaced(of_cpu, "_get_cpu_capability", _plainest))
        for name in [name for name in dir(of_cpu) if name.startswith("_is_")]:
            stack.enter_context(replaced(of_cpu, name, _no))
        stack.enter_context(replaced(torch._C._VariableFunctions, "_nnpack_available", _no))
        for packet in _asking_ops():
            stack.enter_context(replaced_in_ops(packet, _no))
        stack.enter_context(replaced(torch._C, "_show_config", _without_cpu))
        stack.enter_context(_engine_of_every_cpu())
        _forget()
        yield


def _no(original: Callable[..., bool]) -> Callable[..., bool]:
    return lambda *args, **kwargs: False


@cache
def _asking_ops() -> list[Any]:
    """Looked for once: they are torch's own, which are all there when it is imported."""
    names = [name.split("::") for name in torch._C._dispatch_get_all_op_names()]
    asking = [(space, name) for space, name in names if space == "mkldnn" and _ASKING.fullmatch(name)]
    return [getattr(getattr(torch.ops, space), name) for space, name in [*asking, ("aten", "_nnpack_available")]]


def _without_cpu(original: Callable[[], str]) -> Callable[[], str]:
    return lambda: re.sub(r"(CPU capability usage: )\S+", r"\1DEFAULT", original())


@contextmanager
def _engine_of_every_cpu() -> Iterator[None]:
    """In this block, quantised kernels are those that every CPU has, unless the program chooses others."""
    of_this_cpu = set(torch._C._supported_qengines())
    best = next((engine for engine in (_X86, _ONEDNN, _QNNPACK) if engine in of_this_cpu), _NONE)
    is_chosen = torch._C._get_qengine() != best

    def choosing(original: Callable[[int], None]) -> Callable[[int], None]:
        def choose(engine: int) -> None:
            nonlocal is_chosen
            original(engine)
            is_chosen = True

        return choose

    def chosen(original: Callable[[], int]) -> Callable[[], int]:
        return lambda: original() if is_chosen else _QNNPACK

    with (
        replaced(torch._C, "_supported_qengines", lambda original: lambda: [_QNNPACK]),
        replaced(torch._C, "_set_qengine", choosing),
        replaced(torch._C, "_get_qengine", chosen),
    ):
        yield


def _plainest(original: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """The same table with nothing in it but the architecture."""

    def table() -> dict[str, Any]:
        return {name: value if name == "architecture" else type(value)() for name, value in original().items()}

    return table


def _forget() -> None:
    getattr(getattr(torch.cpu, "get_capabilities", None), "cache_clear", lambda: None)()
