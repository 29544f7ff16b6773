# SPDX-License-Identifier: MIT
"""What torch tells a program of the CPU: the same on each, so that a program that asks takes the same way on each.

torchvision, for one, scales images of bytes in another way where `get_cpu_capability` says AVX2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.cpu

from repdl.interception.replaced import replaced

CAPABILITY: str = torch._C._get_cpu_capability().lower()
"""The instruction set that torch's kernels take in this process: asked here, before `hidden` gives another answer."""

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
            stack.enter_context(replaced(of_cpu, name, lambda original: lambda: False))
        _forget()
        yield


def _plainest(original: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """The same table with nothing in it but the name of the architecture."""

    def table() -> dict[str, Any]:
        return {name: value if isinstance(value, str) else type(value)() for name, value in original().items()}

    return table


def _forget() -> None:
    getattr(getattr(torch.cpu, "get_capabilities", None), "cache_clear", lambda: None)()
