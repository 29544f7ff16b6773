# SPDX-License-Identifier: MIT
"""Code of ours that torch.compile passes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode

F = TypeVar("F", bound=Callable[..., Any])


def untraced(function: F) -> F:
    """torch.compile passes over this function and all that it calls. `torch.compiler.disable` would import it first."""
    dynamo = torch._C._dynamo.eval_frame
    skip = dynamo._FrameAction.SKIP
    dynamo.set_code_exec_strategy(function.__code__, dynamo._FrameExecStrategy(skip, skip))
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    return function


class UntracedMode(TorchDispatchMode):
    """A mode that torch.compile passes over.

    torch would do that by a call around `__torch_dispatch__`, which takes microseconds at each op; the first one
    imports all of torch._dynamo, which takes more than a second.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # type: ignore[no-untyped-call]
        if "__torch_dispatch__" in cls.__dict__:
            untraced(cls.__dict__["__torch_dispatch__"])

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
