# SPDX-License-Identifier: MIT
"""Settings of torch: those that change bits are refused, those that lead around the overrides are turned off."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from repdl.interception import places
from repdl.interception.choices import float32_precision, newer_precisions
from repdl.interception.encoder import with_zeros_for_padding
from repdl.interception.replaced import replaced


def check() -> None:
    """Raises ValueError for a setting of the process that changes bits."""
    if (precision := float32_precision()) in ("high", "medium"):
        raise ValueError(
            f"torch.get_float32_matmul_precision() is {precision!r}, which lets products have fewer bits; call "
            'torch.set_float32_matmul_precision("highest") first'
        )
    if precision == "highest" and torch.backends.cuda.matmul.allow_tf32:  # else torch does not tell, but by newer names
        raise ValueError(
            "torch.backends.cuda.matmul.allow_tf32 is on, which lets products have fewer bits; set it to False first"
        )
    for name, value in newer_precisions().items():
        # Those of cuDNN are for convolutions on devices, which are ours, and not full where nobody has chosen.
        if value not in ("none", "ieee") and (name.startswith("mkldnn.") or name == "cuda.matmul"):
            raise ValueError(
                f"torch.backends.{name}.fp32_precision is {value!r}, which lets products have fewer bits; set it to "
                '"ieee" first'
            )
    with _disable_current_modes():  # it is nothing that the program computes, and somebody may be recording
        smallest = torch.full((1,), 1e-40, dtype=torch.float32, device="cpu").mul(1.0).item()
    if smallest == 0.0:
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
    cudnn = torch._C._get_cudnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)  # LSTM in single ops
    torch._C._set_cudnn_enabled(False)  # batch norm by the op that it has on the CPU
    try:
        with (
            eager(),
            _one_by_one(),
            replaced(torch._C._VariableFunctions, "einsum", _from_the_left),
            replaced(torch._C, "set_flush_denormal", _refusing_flushing),
            replaced(torch.nn.TransformerEncoder, "forward", with_zeros_for_padding) if fast_path else nullcontext(),
        ):
            yield
    finally:
        if not sys.is_finalizing():  # then torch may be half gone
            torch.backends.mha.set_fastpath_enabled(fast_path)
            torch._C._set_mkldnn_enabled(onednn)
            torch._C._set_cudnn_enabled(cudnn)


def _from_the_left(original: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Without the path that `torch.einsum` asks the package opt_einsum for, which follows all sizes, a batch's too."""

    def einsum(*args: Any, path: Any = None, **kwargs: Any) -> torch.Tensor:
        return original(*args, **kwargs)

    return einsum


@contextmanager
def _one_by_one() -> Iterator[None]:
    """In this block, optimizers that are not told otherwise take one parameter after the other, on every device.

    On the CPU they do. Elsewhere torch prefers lists of them, for which some optimizers have other steps.
    """
    with ExitStack() as stack:
        for name in ("optimizer", "swa_utils"):
            module = import_module(f"torch.optim.{name}")
            stack.enter_context(replaced(module, "_get_foreach_kernels_supported_devices", lambda original: list))
        yield


@contextmanager
def eager() -> Iterator[None]:
    """In this block, compiled functions run eagerly."""
    stance = _Eager()
    stance.enter()
    try:
        yield
    finally:
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


def _refusing_flushing(original: Callable[[bool], bool]) -> Callable[[bool], bool]:
    def set_flush_denormal(mode: bool) -> bool:
        if mode:
            raise RuntimeError(
                "[torch.set_flush_denormal] flushing subnormal numbers changes bits, and repdl is enabled; "
                "leave it off, or disable repdl first"
            )
        return original(mode)

    return set_flush_denormal


_FULL = ("highest", "ieee", "none", False)
"""What settings of precision may be."""


@contextmanager
def full_precision() -> Iterator[None]:
    """In this block, nothing may let products have fewer bits."""
    with ExitStack() as stack:
        for setter, setting in (
            ("_set_float32_matmul_precision", "torch.set_float32_matmul_precision"),
            ("_set_cublas_allow_tf32", "torch.backends.cuda.matmul.allow_tf32"),
            ("_set_fp32_precision_setter", "fp32_precision of torch.backends"),
        ):
            stack.enter_context(replaced(torch._C, setter, _refusing(setting)))
        yield


def _refusing(setting: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def set_precision(*args: Any) -> Any:
            if args and args[-1] not in _FULL:
                raise RuntimeError(
                    f"[{setting}] {args[-1]!r} lets products have fewer bits, and repdl is enabled; leave it at the "
                    "highest precision, or disable repdl first"
                )
            return original(*args)

        return set_precision

    return make


_DYNAMO = "torch._dynamo"


class _Eager(MetaPathFinder):
    """Compiled functions run eagerly.

    torch._dynamo, whose import takes seconds, is left alone until somebody imports it, as torch.compile does, by
    whatever name it is called.
    """

    def __init__(self) -> None:
        self.undo = ExitStack()

    def enter(self) -> None:
        if _DYNAMO in sys.modules:
            self.force()
        else:
            sys.meta_path.insert(0, self)
            self.undo.callback(sys.meta_path.remove, self)

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """That of torch._dynamo, with a loader that sets the stance at its end."""
        if name != _DYNAMO:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_force(module: Any) -> None:
                load(module)
                if self in sys.meta_path:  # not if it was given back meanwhile
                    self.force()

            spec.loader.exec_module = load_and_force  # type: ignore[method-assign]
        return spec

    def force(self) -> None:
        self.undo.enter_context(torch.compiler.set_stance("force_eager"))
        from torch._dynamo import eval_frame

        # What a compiled function asks at each call for its compiler. The stance alone tells nobody about the call.
        if hasattr(eval_frame, "_callback_from_stance"):
            self.undo.callback(setattr, eval_frame, "_callback_from_stance", eval_frame._callback_from_stance)
            eval_frame._callback_from_stance = _no_compiler  # type: ignore[assignment]

    def leave(self) -> None:
        if not sys.is_finalizing():  # when nothing can be imported any more, and nothing is called
            self.undo.close()


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
        places.warn(text, UserWarning, "torch.compile")


def forget_notice() -> None:
    global _told
    _told = False
