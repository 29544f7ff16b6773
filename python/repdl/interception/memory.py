# SPDX-License-Identifier: MIT
"""Memory that torch hands out as it is: under `repdl.enable()` a program finds in it what it would find anywhere.

That is what `torch.use_deterministic_algorithms(True)` fills it with: NaN, True, or the largest integer; bytes of 255
in a storage, which has no dtype. Filled is what a Python program asks for, by any name that torch has for it; not the
outputs that kernels write at once, nor what C++ and the constructors of subclasses ask for; for TorchScript, see
`torchscript`.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import chain
from typing import Any

import torch

from repdl import _core
from repdl._torch import PLAIN
from repdl.interception.native import is_there, native_of
from repdl.interception.replaced import replaced, replaced_in_ops

Function = Callable[..., Any]

_OURS = (
    "repdl.interception.aten.",
    "repdl.interception.distributed",
    "repdl.random.",
    "repdl.ops.",
    "repdl._torch",
)
"""Modules that write all of what they ask for."""

_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor

_FUNCTIONS = (
    *("empty", "empty_like", "empty_strided", "empty_permuted"),
    *("_empty_affine_quantized", "_empty_per_channel_affine_quantized", "empty_quantized"),
)
_METHODS = ("new_empty", "new_empty_strided")
_RESIZING = ("resize_", "resize_as_")
_GROWING = ("resize", "resize_as")
_SETTING = ("set_", "set")
ASKING = (*_FUNCTIONS, *_METHODS, *_RESIZING)
"""What asks for memory, by the names of torch's ops."""
_LEGACY = "Float Double Half BFloat16 Byte Char Short Int Long Bool"
_STORAGE_BYTE = b"\xff"
_NO_NUMBERS = (torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4)


@contextmanager
def filled() -> Iterator[None]:
    """In this block, nothing that a program gets is left as it was found."""
    functions, methods, ops = torch._C._VariableFunctions, torch._C.TensorBase, torch.ops.aten
    with ExitStack() as stack:

        def replace(owner: Any, name: str, make: Callable[[Function], Function]) -> None:
            stack.enter_context(replaced(owner, name, make))

        for name in _FUNCTIONS:
            replace(functions, name, _making)
        for name in _METHODS:
            replace(methods, name, _making)
        for name in _RESIZING:
            replace(methods, name, _resizing)
        replace(functions, "resize_as_", _resizing)
        replace(methods, "new", partial(_making_of_sizes, lambda tensor: _is_left_to_others((tensor,))))
        replace(methods, "set_", _setting)
        replace(torch._C.StorageBase, "resize_", _resizing_storage)
        stack.enter_context(replaced_in_ops(torch.ops.inductor.resize_storage_bytes_, _resizing))
        made = ((name, _making) for name in (*_FUNCTIONS, *_METHODS))
        grown = ((name, _resizing) for name in _RESIZING), ((name, _setting) for name in _SETTING)
        for name, make in chain(made, *grown):
            if hasattr(ops, name):
                stack.enter_context(replaced_in_ops(getattr(ops, name), make))
        legacy = [getattr(torch, f"{kind}Tensor") for kind in _LEGACY.split() if hasattr(torch, f"{kind}Tensor")]
        for made in (torch.Tensor, *legacy, torch.UntypedStorage):
            is_storage = made is torch.UntypedStorage
            _core.replace_new(made, _constructing_storage if is_storage else _constructing)
            stack.callback(_core.restore_function, made)
        yield


def _making(original: Function) -> Function:
    """For a function whose result is new."""

    def make(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not _is_left_to_others(args) and not _is_ours():
            if kwargs.get("out") is None:
                _fill(result)
            elif type(result) in PLAIN and result.is_cpu and not result.is_quantized:
                result.data.fill_(_value(result.dtype))
        return result

    return make


def _making_of_sizes(is_left: Callable[[Any], bool], original: Function) -> Function:
    """For what makes something new of sizes; what it makes of anything else has data."""

    def make(owner: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(owner, *args, **kwargs)
        if (_are_sizes(args) or kwargs.get("size") is not None) and not is_left(owner):
            _fill(result)
        return result

    return make


def _constructing(original: Function) -> Function:
    """For a constructor. It asks no mode of functions, as that of `torch.device` is; one of operations makes the memory
    by an operation, which fills it."""
    return _making_of_sizes(lambda owner: torch._C._len_torch_dispatch_stack() > 0, original)


def _constructing_storage(original: Function) -> Function:
    def make(owner: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(owner, *args, **kwargs)
        if any(_is_size(arg) for arg in (*args, kwargs.get("size"))):
            _fill_storage(result, 0, _STORAGE_BYTE)
        return result

    return make


def _resizing(original: Function) -> Function:
    """For what may give a tensor more memory than it had."""

    def resize(self: Any, *args: Any, **kwargs: Any) -> Any:
        memory = _unwrapped(self)
        if _is_left_to_others((self,)) or _is_ours() or not _has_memory(memory):
            return original(self, *args, **kwargs)
        before = memory.untyped_storage().nbytes()
        result = original(self, *args, **kwargs)
        _fill_storage(memory.untyped_storage(), before, _PATTERNS[memory.dtype])
        return result

    return resize


def kernels() -> dict[str, Function]:
    """Those of the CPU for what gives a copy more memory, which torch makes of `resize_` where it is functionalized."""

    return {name: _growing(native_of(name)) for name in _GROWING if is_there(name)}


def _growing(native: Function) -> Function:
    def grow(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = native(self, *args, **kwargs)
        _fill_storage(result.untyped_storage(), self.numel() * self.element_size(), _PATTERNS[self.dtype])
        return result

    return grow


def _setting(original: Function) -> Function:
    """For `Tensor.set_`, which gives a storage that is too small more memory."""

    def set_(self: Any, *args: Any, **kwargs: Any) -> Any:
        source: Any = args[0] if args else kwargs.get("source")
        if isinstance(source, torch.Tensor):
            source = source.untyped_storage() if _has_memory(source) else None
        source = getattr(source, "_untyped_storage", source)
        before = source.nbytes() if isinstance(source, torch.UntypedStorage) else None
        result = original(self, *args, **kwargs)
        if before is not None and source.nbytes() > before and _has_memory(self):
            _fill_storage(source, before, _PATTERNS[self.dtype])
        return result

    return set_


def _resizing_storage(original: Function) -> Function:
    def resize(self: Any, *args: Any) -> Any:
        before = self.nbytes()
        result = original(self, *args)
        _fill_storage(self, before, _STORAGE_BYTE)
        return result

    return resize


def _are_sizes(args: tuple[Any, ...]) -> bool:
    if len(args) != 1:
        return len(args) > 1
    return isinstance(args[0], torch.Size) or _is_size(args[0])


def _is_size(value: Any) -> bool:
    """As torch decides: an array of NumPy has `__index__` too, and is a size only where that gives an integer."""
    if isinstance(value, torch.Tensor):
        return False
    if isinstance(value, int | torch.SymInt):
        return True
    try:
        operator.index(value)
    except Exception:  # of whatever kind, torch goes on to read it as data
        return False
    return True


def _is_ours() -> bool:
    """Whether the call, two frames above, is of a kernel of ours."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith(_OURS)


def _is_left_to_others(args: tuple[Any, ...]) -> bool:
    """Whether the result may be somebody else's work: a mode's or a subclass's, which calls the function again."""
    if torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack():
        return True
    first = args[0] if args else None
    is_subclass = isinstance(first, torch.Tensor) and type(first) not in PLAIN
    return is_subclass and torch._C._is_torch_function_enabled()


def _has_memory(tensor: Any) -> bool:
    """Whether it is a plain tensor with memory that the CPU reads."""
    return (
        type(tensor) in PLAIN
        and tensor.is_cpu
        and tensor.layout == torch.strided
        and not _is_wrapped(tensor)
        and not torch._is_functional_tensor(tensor)
    )


def _unwrapped(tensor: Any) -> Any:
    """The tensor with the memory of one of `torch.vmap`, say."""
    while isinstance(tensor, torch.Tensor) and _is_wrapped(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def _fill(tensor: Any) -> None:
    tensor = _unwrapped(tensor)
    if type(tensor) not in PLAIN or tensor.is_meta or torch._is_functional_tensor(tensor):
        return
    if not _core.fill_tensor(tensor, _PATTERNS[tensor.dtype]) and _has_memory(tensor):
        _fill_storage(tensor.untyped_storage(), 0, _PATTERNS[tensor.dtype])


def _fill_storage(storage: torch.UntypedStorage, start: int, pattern: bytes) -> None:
    end = storage.nbytes()
    if end > start and storage.device.type == "cpu" and (address := storage.data_ptr()):
        turn = start % len(pattern)
        _core.fill_memory(address + start, end - start, pattern[turn:] + pattern[:turn])


@cache
def _value(dtype: torch.dtype) -> Any:
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    return True if dtype == torch.bool else torch.iinfo(dtype).max


def _bytes_of(dtype: torch.dtype) -> bytes:
    """Those of an element; of a storage for types that are not numbers."""
    if dtype in _NO_NUMBERS:
        return _STORAGE_BYTE
    if dtype.is_complex:
        real = _bytes_of(dtype.to_real())
        return real.ljust(2 * len(real), b"\0")
    try:
        one = torch.full((1,), _value(dtype), dtype=dtype, device="cpu")
    except (TypeError, RuntimeError):
        return _STORAGE_BYTE
    return bytes(one.view(torch.uint8).tolist())


# Made before any mode, default device or kernel of a program could have a part in it.
_PATTERNS = {dtype: _bytes_of(dtype) for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
