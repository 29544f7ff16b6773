# SPDX-License-Identifier: MIT
"""States as JSON and tensors, exactly: what goes in comes out with the same types, bits, order and sharing.

None, bool, int and str are themselves in JSON. Everything else is an array whose first element is its kind. Floats are
their 64 bits in hexadecimal, since JSON has neither NaN nor infinities; a tensor is its name in the file.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from repdl.checkpoint.errors import CheckpointError

_DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
_COMPLEX = (torch.complex64, torch.complex128)
_REAL = {
    torch.bool,
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
    *(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz),
}
"""What the file holds as it is. A complex tensor is held as one of pairs."""

_SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "size": torch.Size}

_LARGEST = 2**62
"""Strides are below; those of dimensions of size 1, which nobody uses, may be anything."""


class Encoder:
    """Takes states apart; `tensors` are those that the file is to hold, by name."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._known: dict[Any, list[Any]] = {}
        self._kept: list[torch.Tensor] = []  # so that no address is used again meanwhile
        self._storages: set[int] = set()

    def encode(self, value: Any, path: str) -> Any:
        """`path` names the value in errors, and a tensor in the file; it is used once."""
        kind = type(value)
        if value is None or kind in (bool, int):
            return value
        if kind is str:
            return _text(value, path)
        if kind is float:
            return ["float", _hex(value)]
        if kind is complex:
            return ["complex", _hex(value.real), _hex(value.imag)]
        if kind is bytes:
            return ["bytes", value.hex()]
        if kind in _SEQUENCES.values():
            name = next(name for name in _SEQUENCES if kind is _SEQUENCES[name])
            return [name, *(self.encode(item, f"{path}[{i}]") for i, item in enumerate(value))]
        if kind in (dict, OrderedDict, Counter):
            return self._mapping(value, path)
        if kind is torch.dtype:
            return ["dtype", str(value).removeprefix("torch.")]
        if kind is torch.device:
            return ["device", str(value)]
        if kind in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            return self._tensor(value, path)
        if kind is np.ndarray or isinstance(value, np.generic):
            return ["array" if kind is np.ndarray else "scalar", self._tensor(_of_array(value, path), path)]
        raise TypeError(
            f"[checkpoint.save] {path} is a {kind.__module__}.{kind.__qualname__}, which a checkpoint does not hold; "
            "it holds numbers, texts, tensors, arrays, and lists, tuples and dicts of these"
        )

    def _mapping(self, value: dict[Any, Any], path: str) -> list[Any]:
        pairs = []
        for key, item in value.items():
            if key is not None and type(key) not in (bool, int, str):
                raise TypeError(
                    f"[checkpoint.save] {path} has the key {key!r}; keys must be texts, integers, truth values or None"
                )
            pairs.append([self.encode(key, path), self.encode(item, f"{path}[{key!r}]")])
        if type(value) is not OrderedDict:
            return ["counter" if type(value) is Counter else "dict", pairs]
        # A module's state has the versions of its modules beside it.
        return ["ordered", pairs, self.encode(dict(vars(value)), f"{path}.__dict__")]

    def _tensor(self, value: torch.Tensor, path: str) -> list[Any]:
        if value.layout is not torch.strided or value.is_nested or value.is_meta or value.is_quantized:
            raise TypeError(f"[checkpoint.save] {path} must be dense and hold data; convert it first, with .to_dense()")
        if value.dtype not in _REAL and value.dtype not in _COMPLEX:
            raise TypeError(f"[checkpoint.save] {path} is of {value.dtype}, which a checkpoint does not hold")
        tensor = value.detach()
        place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        key = (*place, tensor.is_conj(), tensor.is_neg()) if tensor.numel() else ("empty", id(value))
        self._kept += [tensor, value]
        if key not in self._known:
            self._known[key] = self._named(tensor, path)
        return self._known[key]

    def _named(self, tensor: torch.Tensor, path: str) -> list[Any]:
        plain = tensor.cpu().resolve_conj().resolve_neg().contiguous()
        if plain.dtype in _COMPLEX:
            plain = torch.view_as_real(plain)
        storage = plain.untyped_storage()
        if storage.data_ptr() in self._storages or storage.nbytes() != plain.numel() * plain.element_size():
            plain = plain.clone(memory_format=torch.contiguous_format)  # the file's tensors share no memory
        self._storages.add(plain.untyped_storage().data_ptr())
        name = f"/{path}"  # no name of ours is safetensors' own
        self.tensors[name] = plain
        strides = list(torch.empty_like(tensor, device="meta").stride())
        keeps = tensor.numel() and strides != list(torch.empty(tensor.shape, device="meta").stride())
        return ["complex_tensor" if tensor.dtype in _COMPLEX else "tensor", name, strides if keeps else None]


class Decoder:
    """Puts states together again from the tensors of a file. CheckpointError for what no Encoder has made."""

    def __init__(self, tensors: Mapping[str, torch.Tensor]) -> None:
        self._tensors = tensors
        self._made: dict[str, torch.Tensor] = {}

    def decode(self, code: Any) -> Any:
        if code is None or isinstance(code, bool | int | str):
            return code
        if not isinstance(code, list) or not code or not isinstance(code[0], str):
            raise _unknown(code)
        kind, *rest = code
        try:
            return self._of_kind(kind, rest)
        except CheckpointError:
            raise
        except (ValueError, TypeError, KeyError, RuntimeError, struct.error, OverflowError):
            raise _unknown(code) from None

    def all_are_used(self) -> bool:
        return self._made.keys() == self._tensors.keys()

    def _of_kind(self, kind: str, rest: list[Any]) -> Any:
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](map(self.decode, rest))
        if kind == "ordered":
            pairs, attributes = rest
            ordered = OrderedDict(self._pairs(pairs))
            vars(ordered).update(self.decode(attributes))
            return ordered
        if kind in ("tensor", "complex_tensor"):
            name, strides = rest
            if name not in self._made:
                self._made[name] = _tensor(self._tensors[name], strides, kind == "complex_tensor")
            return self._made[name]
        if kind == "complex":
            real, imaginary = rest
            return complex(_number(real), _number(imaginary))
        (value,) = rest
        if kind in ("dict", "counter"):
            return (dict if kind == "dict" else Counter)(dict(self._pairs(value)))
        if kind in ("array", "scalar"):
            array = self.decode(value).numpy().copy()
            return array if kind == "array" else array[()]
        return {"float": _number, "bytes": bytes.fromhex, "dtype": _DTYPES.__getitem__, "device": torch.device}[kind](
            value
        )

    def _pairs(self, pairs: list[list[Any]]) -> list[tuple[Any, Any]]:
        return [(self.decode(key), self.decode(item)) for key, item in pairs]


def first_difference(expected: Any, found: Any, path: str) -> str | None:
    """Where a state lacks what is expected, or has other bits; None if nowhere. It may have more than is expected."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor):
            return f"{path} is a tensor in the file, but {found!r} here"
        if (expected.dtype, expected.shape) != (found.dtype, found.shape):
            return (
                f"{path} is {expected.dtype} of shape {tuple(expected.shape)} in the file, "
                f"but {found.dtype} of shape {tuple(found.shape)} here"
            )
        return None if _bytes(expected) == _bytes(found) else f"{path} has other bits here than in the file"
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key, item in expected.items():
            if key not in found:
                return f"{path}[{key!r}] is in the file, but not here"
            if (text := first_difference(item, found[key], f"{path}[{key!r}]")) is not None:
                return text
        return None
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple) and len(expected) == len(found):
        texts = (first_difference(e, f, f"{path}[{i}]") for i, (e, f) in enumerate(zip(expected, found)))
        return next((text for text in texts if text is not None), None)
    if isinstance(expected, float) and isinstance(found, float):
        same = _hex(expected) == _hex(found)
    else:
        same = type(expected) is type(found) and bool(np.all(expected == found))
    return None if same else f"{path} is {expected!r} in the file, but {found!r} here"


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"[checkpoint.save] {path} has a text that is not Unicode: {value!r}") from None
    return value


def _hex(number: float) -> str:
    return struct.pack(">d", number).hex()


def _number(text: str) -> float:
    (number,) = struct.unpack(">d", bytes.fromhex(text))
    assert isinstance(number, float)
    return number


def _of_array(value: Any, path: str) -> torch.Tensor:
    try:
        return torch.from_numpy(np.array(value, order="C", copy=True))
    except (TypeError, ValueError):
        raise TypeError(f"[checkpoint.save] {path} is an array of {value.dtype!r}, which torch does not hold") from None


def _tensor(tensor: torch.Tensor, strides: Any, is_complex: bool) -> torch.Tensor:
    if is_complex:
        tensor = torch.view_as_complex(tensor)
    if strides is None:
        return tensor
    _check_dense(tensor.shape, strides)
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device="cpu").copy_(tensor)


def _check_dense(shape: torch.Size, strides: Any) -> None:
    """The elements must fill their memory: a stride from nowhere would ask for more of it than there is."""
    if len(strides) != len(shape) or not all(type(s) is int and 0 <= s < _LARGEST for s in strides):
        raise ValueError
    expected = 1
    for stride, size in sorted(zip(strides, shape)):
        if size != 1:
            if stride != expected:
                raise ValueError
            expected *= size


def _bytes(tensor: torch.Tensor) -> bytes:
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy(force=True).tobytes()


def _unknown(code: Any) -> CheckpointError:
    text = repr(code)
    return CheckpointError(f"it has {text if len(text) < 80 else text[:80] + '…'}, which no save has written")
