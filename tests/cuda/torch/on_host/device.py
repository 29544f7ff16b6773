# SPDX-License-Identifier: MIT
"""A CUDA device for a torch without CUDA: its tensors lie in memory of the host, where our CUDA kernels run as well.

What torch lacks of the device in C++ is in device.cc. "torch's own kernels" of it are those of the CPU, which see the
same memory as tensors of the CPU. Counted is which ops they were called for, and noted what would wait for a device.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CUDA, _CPU = 2, 1
"""DLPack's numbers."""

own_calls: Counter[str] = Counter()
"""How often each of torch's own kernels of the device was called, by overload."""

waits: list[str] = []
"""What a program would wait for the device for: numbers of it that it read, and copies to it."""


def prepare() -> None:
    """Before torch is imported, which asks once what there is of CUDA."""
    if importlib.util.find_spec("torch") is None:
        print("torch is not there: left out")
        sys.exit(0)
    with tempfile.TemporaryDirectory() as folder:
        _load(_built(Path(folder)))


def _built(folder: Path) -> Path:
    """Compiles device.cc against the torch that is there."""
    torch = _folder_of_torch()
    library = folder / "device.so"
    includes = f"-I{torch / 'include'}"
    source = Path(__file__).with_name("device.cc")
    linked = [f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run(
        ["c++", "-std=c++20", "-shared", "-fPIC", includes, str(source), "-o", str(library), *linked], check=True
    )
    return library


def _folder_of_torch() -> Path:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


def _load(library: Path) -> None:
    lib = _folder_of_torch() / "lib"
    ctypes.CDLL(str(lib / "libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(lib / "libtorch_cpu.so"))
    ctypes.CDLL(str(library))


class _DLTensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _seen_on(device_type: int, tensor: Any, index: int = 0) -> Any:
    """The same memory as a tensor of another device."""
    import torch

    with torch._C._DisableTorchDispatch():
        capsule = torch._C._to_dlpack(tensor.detach())
        seen = _DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
        seen.device_type, seen.device_id = device_type, index
        return torch._C._from_dlpack(capsule)


def on_host(value: Any) -> Any:
    return _mapped(lambda t: _seen_on(_CPU, t) if t.is_cuda else t, value)


def on_device(value: Any, index: int = 0) -> Any:
    return _mapped(lambda t: _seen_on(_CUDA, t, index) if t.is_cpu else t, value)


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(change, item) for item in value)
    return torch.device("cpu") if isinstance(value, torch.device) else value


@contextmanager
def nothing_waits() -> Iterator[None]:
    """A block in which the program may not wait for the device."""
    waits.clear()
    yield
    assert waits == []


@contextmanager
def watched() -> Iterator[None]:
    """A test. The host is there afterwards, and has computed what it was given."""
    yield


_OF_ANY_DEVICE = ("as_strided", "unfold", "view", "_reshape_alias", "set_.source_Storage_storage_offset")
"""Of views: torch's kernels look at no memory."""

_OF_INDICES = ("index.Tensor", "_index_put_impl_")
"""These take indices on the CPU."""

_WAITING = ("_local_scalar_dense", "equal", "nonzero", "masked_select")


def install() -> Any:
    """Gives torch the device. The library of its kernels lives as long as what is returned."""
    import torch

    from repdl.interception.native import Native, registered_names

    library = torch.library.Library("aten", "IMPL")
    _let_python_see_it()

    def of_cpu(name: str) -> Callable[..., Any]:
        native = Native(name, "CPU")

        def kernel(*args: Any, **kwargs: Any) -> Any:
            own_calls[name] += 1
            if name in _WAITING:
                waits.append(name)
            if name not in _OF_INDICES:
                _check_place(name, [*args, *kwargs.values()])
            given: list[tuple[torch.Tensor, torch.Tensor]] = []

            def seen(t: torch.Tensor) -> torch.Tensor:
                # Memory that is seen from two sides is not to grow: a kernel may have other instead.
                given.append((t, on_host(t) if t.numel() else torch.empty_like(t, device="cpu")))
                return given[-1][1]

            args, kwargs = _mapped(seen, args), {k: _mapped(seen, v) for k, v in kwargs.items()}
            with torch.device("cpu"):  # where a kernel of ours may call this one, numbers are of the device
                result = native(*args, **kwargs)
            for own, changed in given:
                if own.shape != changed.shape:
                    on_host(_resize(own, changed.shape)).copy_(changed)
            # What the kernel was given and has changed it gives back.
            return _mapped(lambda t: _own(given, t), result)

        return kernel

    def of_any(name: str) -> Callable[..., Any]:
        kernel = torch.library.get_kernel(f"aten::{name}", "CPU")
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
        return lambda *args, **kwargs: kernel.call_boxed(keys, *args, **kwargs)

    for name in registered_names("CPU"):
        if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA"):
            continue
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CPU"):
            continue
        kernel = of_any(name) if name in _OF_ANY_DEVICE else _SPECIAL.get(name) or of_cpu(name)
        library.impl(name, kernel, "CUDA")
    library.impl("copy_", _copy, "CUDA")
    for name in ("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor"):
        library.impl(name, lambda *_, **__: False, "CUDA")
    return library


def _check_place(name: str, values: list[Any]) -> None:
    """As torch does it: among tensors of the device, only single numbers may lie on the CPU."""
    changed = name.partition(".")[0].endswith("_")
    if any(getattr(v, "is_cpu", False) and (v.dim() or (changed and i == 0)) for i, v in enumerate(values)):
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, cuda:0, but some are on cpu")


def _own(given: list[tuple[Any, Any]], tensor: Any) -> Any:
    for own, seen in given:
        if seen is tensor:
            return own
    return on_device(tensor)


def _empty(size: Any, *, dtype: Any = None, device: Any = None, memory_format: Any = None, **_: Any) -> Any:
    import torch

    options = {} if memory_format is None else {"memory_format": memory_format}
    index = 0 if device is None or device.index is None else device.index
    return on_device(torch.empty(size, dtype=dtype, device="cpu", **options), index)


def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> Any:
    import torch

    return on_device(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))


def _resize(self: Any, size: Any, *, memory_format: Any = None) -> Any:
    import torch

    if torch.Size(size) == self.shape:
        return self
    new = _empty(size, dtype=self.dtype, memory_format=memory_format)
    behind = self.untyped_storage().nbytes() - self.storage_offset() * self.itemsize
    if memory_format is None and new.numel() * self.itemsize <= behind:  # as torch does it: a view stays one
        return self.as_strided_(new.shape, new.stride())
    kept = min(new.numel(), self.numel())
    if self.is_contiguous() and new.is_contiguous():
        on_host(new).view(-1)[:kept] = on_host(self).view(-1)[:kept]
    with torch.no_grad():
        self.set_(new.untyped_storage(), 0, new.shape, new.stride())
    return self


def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if self.is_cpu != src.is_cpu and not non_blocking:
        waits.append("copy_")
    own_calls["copy_"] += 1
    on_host(self).copy_(on_host(src))
    return self


def _zeros(size: Any, **options: Any) -> Any:
    """In the place of zeros without memory, which could not be seen from the CPU."""
    return _empty(size, **options).zero_()


_SPECIAL: dict[str, Callable[..., Any]] = {
    "_efficientzerotensor": _zeros,
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "resize_": _resize,
}


def _let_python_see_it() -> None:
    """What of torch.cuda is Python asks functions that a torch without CUDA lacks."""
    import torch

    cuda: Any = torch.cuda
    cuda._lazy_init = lambda: None
    cuda._initialized = True
    cuda.is_available = cuda.is_bf16_supported = lambda *_: True
    cuda._exchange_device = cuda._maybe_exchange_device = lambda _: 0
    for module in (cuda, cuda.random):
        module.device_count, module.current_device = lambda: 1, lambda: 0
    cuda.default_generators = (torch.Generator(device="cuda"),)
