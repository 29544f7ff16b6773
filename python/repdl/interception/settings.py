# SPDX-License-Identifier: MIT
"""Settings of torch: those that change bits are refused, those that lead around the overrides are turned off."""

from __future__ import annotations

import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from repdl.interception.places import users_frame


def check() -> None:
    """Raises ValueError for a setting of the process that changes bits."""
    if torch.get_float32_matmul_precision() != "highest":
        raise ValueError(
            f"torch.get_float32_matmul_precision() is {torch.get_float32_matmul_precision()!r}, which lets products "
            'have fewer bits; call torch.set_float32_matmul_precision("highest") first'
        )
    if torch.backends.cuda.matmul.allow_tf32:
        raise ValueError(
            "torch.backends.cuda.matmul.allow_tf32 is on, which lets products have fewer bits; set it to False first"
        )
    if torch.full((1,), 1e-40).mul(1.0).item() == 0.0:
        raise ValueError(
            "this thread flushes subnormal numbers to zero, which changes bits; "
            "call torch.set_flush_denormal(False) first, or find the library that was built with -ffast-math"
        )


_lock = threading.Lock()
_routes = 0
_undo = ExitStack()


@contextmanager
def route() -> Iterator[None]:
    """Leads torch to the ops that are overridden: no fused layers, no compiled code, no flushing.

    These are settings of the process. They are given back when the last block, of whatever thread, has ended.
    """
    global _routes
    with _lock:
        if _routes == 0:
            _undo.enter_context(_routed())
        _routes += 1
    try:
        yield
    finally:
        with _lock:
            _routes -= 1
            if _routes == 0:
                _undo.close()


@contextmanager
def _routed() -> Iterator[None]:
    fast_path, onednn = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)  # LSTM in single ops
    flush, compile = torch.set_flush_denormal, torch.compile
    torch.set_flush_denormal = _refuse_flushing  # type: ignore[assignment]
    stance = _Eager(compile)
    torch.compile = stance.compile
    if "torch._dynamo" in sys.modules:
        stance.enter()
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
        torch._C._set_mkldnn_enabled(onednn)
        torch.set_flush_denormal, torch.compile = flush, compile
        stance.leave()


def with_onednn(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that has no way but that through oneDNN."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(True)
        try:
            return kernel(*args, **kwargs)
        finally:
            torch._C._set_mkldnn_enabled(before)

    return call


def _refuse_flushing(mode: bool) -> bool:
    if mode:
        raise RuntimeError(
            "[torch.set_flush_denormal] flushing subnormal numbers changes bits, and repdl is enabled; "
            "leave it off, or disable repdl first"
        )
    return True


class _Eager:
    """Compiled functions run eagerly. torch._dynamo, whose import takes seconds, is left alone until it is used."""

    def __init__(self, compile: Callable[..., Any]) -> None:
        self.original = compile
        self.undo = ExitStack()
        self.entered = False

    def compile(self, *args: Any, **kwargs: Any) -> Any:
        self.enter()
        return self.original(*args, **kwargs)

    def enter(self) -> None:
        if self.entered:
            return
        self.entered = True
        self.undo.enter_context(torch.compiler.set_stance("force_eager"))
        from torch._dynamo import eval_frame

        # What a compiled function asks at each call for its compiler. The stance alone tells nobody about the call.
        if hasattr(eval_frame, "_callback_from_stance"):
            self.undo.callback(setattr, eval_frame, "_callback_from_stance", eval_frame._callback_from_stance)
            eval_frame._callback_from_stance = _no_compiler  # type: ignore[assignment]

    def leave(self) -> None:
        self.undo.close()
        self.entered = False


watch: Callable[[str], None] | None = None
"""Set while `audit` records: told the name of each compiled function that is called."""

_told = False


def _no_compiler(compiler: Any) -> None:
    """Instead of the function of torch._dynamo. None and False are no compilers, but ways to have none."""
    if compiler is None or compiler is False:
        return
    function = inspect.unwrap(sys._getframe(1).f_locals.get("fn"))  # type: ignore[arg-type]
    owner = getattr(function, "__self__", function)
    name = type(owner).__name__ if isinstance(owner, torch.nn.Module) else getattr(function, "__qualname__", "")
    if watch is not None:
        watch(name)
    else:
        _tell_once(name)


def _tell_once(name: str) -> None:
    global _told
    if not _told:
        _told = True
        text = (
            f"{name} was compiled by torch.compile, and runs eagerly while repdl is enabled: compiled code is not "
            "reproducible. The same holds for all compiled functions; this is said once."
        )
        frame = users_frame()
        where = ("torch.compile", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        warnings.warn_explicit(text, UserWarning, *where)


def forget_notice() -> None:
    global _told
    _told = False
