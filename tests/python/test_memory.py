# SPDX-License-Identifier: MIT
"""Memory that torch hands out as it is holds the same under `repdl.enable()`, whatever was there before."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import empty as empty_taken_before
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

import repdl
from repdl import _core

NAN = float("nan")
ENABLED = repdl.reproducible


@pytest.fixture(autouse=True)
def _enabled(request: pytest.FixtureRequest) -> Iterator[None]:
    with nullcontext() if request.function in (test_everything_is_given_back, test_default_devices) else ENABLED():
        yield


class Index:
    """A number of another library."""

    def __index__(self) -> int:
        return 2


def dirty() -> None:
    """Leaves sevens in what the allocator will give next."""
    for count in (1, 2, 3, 4, 6, 8, 12, 20, 50, 1000, 100_003):
        for dtype in (torch.float64, torch.int8):
            [torch.full((count,), 7, dtype=dtype) for _ in range(9)]


ONES = torch.ones(3, 4)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch calls them deprecated
    QUANTIZED = torch.quantize_per_tensor(ONES, 0.1, 0, torch.quint8)

RESIZE_STORAGE = torch.ops.inductor.resize_storage_bytes_

OPS = {
    op: str(op) for op in (torch.ops.aten.empty_like, torch.ops.aten.empty_like.default, torch.ops.aten.resize_.default)
}

CALLS: dict[str, Callable[[], torch.Tensor]] = {
    "empty": lambda: torch.empty(3, 4),
    "empty, taken before": lambda: empty_taken_before(3, 4),
    "empty, large": lambda: torch.empty(100_003),
    "empty, names of arguments": lambda: torch.empty(size=(3,), device="cpu", requires_grad=True).detach(),
    "empty, channels last": lambda: torch.empty(1, 2, 3, 4, memory_format=torch.channels_last),
    "empty, out": lambda: torch.empty(3, out=torch.ones(6)[::2]),
    "empty_like": lambda: torch.empty_like(ONES),
    "empty_like, transposed": lambda: torch.empty_like(ONES.T),
    "empty_strided": lambda: torch.empty_strided((3, 2), (5, 2)),
    "empty_permuted": lambda: torch.empty_permuted((2, 3), (1, 0)),
    "new_empty": lambda: ONES.new_empty(3),
    "new_empty_strided": lambda: ONES.new_empty_strided((3,), (2,)),
    "new": lambda: ONES.new(3, 2),
    "resize_": lambda: torch.ones(2).resize_(50)[2:],
    "resize_, method of the class": lambda: torch.Tensor.resize_(torch.ones(0), (50,)),
    "resize_as_": lambda: torch.ones(0).resize_as_(ONES),
    "set_": lambda: torch.ones(0).set_(torch.UntypedStorage([0] * 8), 0, (20,))[2:],  # type: ignore[call-overload]
    "set_, op": lambda: torch.ops.aten.set_(torch.ones(0), torch.UntypedStorage([0] * 8), 0, (20,))[2:],
    "set_, overload": lambda: torch.ops.aten.set_.source_Tensor_storage_offset(torch.ones(0), ONES, 0, (20,))[12:],
    "set": lambda: torch.ops.aten.set(torch.ones(0), torch.UntypedStorage([0] * 8), 0, (20,))[2:],
    "resize, op": lambda: torch.ops.aten.resize(torch.ones(2), (50,))[2:],
    "resize, expanded": lambda: torch.ops.aten.resize(torch.ones(1).expand(3), (50,))[3:],
    "resize, out": lambda: torch.ops.aten.resize.out(torch.ones(2), (50,), out=torch.ones(0))[2:],
    "resize_as, op": lambda: torch.ops.aten.resize_as(torch.ones(2), ONES).flatten()[2:],
    "resize_, functionalized": lambda: functionalized(lambda x: x.clone().resize_(50), torch.ones(2))[2:],
    "resize_as_, functionalized": lambda: functionalized(lambda x: x.clone().resize_as_(ONES), torch.ones(2))[1:],
    "resize_, vmap": lambda: torch.vmap(lambda row: row.clone().resize_(50))(torch.ones(2, 2)).flatten()[4:],
    "Tensor": lambda: torch.Tensor(3, 4),
    "Tensor of a size": lambda: torch.Tensor(torch.Size([3])),
    "FloatTensor": lambda: torch.FloatTensor(3, 4),
    "a storage": lambda: torch.ones(0).set_(torch.UntypedStorage(24)),  # type: ignore[call-overload]
    "a storage, resized": lambda: storage_resized(lambda x: x.untyped_storage().resize_(80)),
    "a storage, resized by an op": lambda: storage_resized(lambda x: RESIZE_STORAGE(x, 80)),
    "aten": lambda: torch.ops.aten.empty.memory_format([3]),
    "aten, packet": lambda: torch.ops.aten.empty_like(ONES),
    "vmap": lambda: torch.vmap(lambda row: row.new_empty(2))(ONES),
    "vmap, like": lambda: torch.vmap(torch.empty_like)(ONES),
    "a device": lambda: with_device(lambda: torch.empty(3)),
    "a device, Tensor": lambda: with_device(lambda: torch.Tensor(3, 4)),
    "a device, FloatTensor": lambda: with_device(lambda: torch.FloatTensor(3, 4)),
    "a device, new": lambda: with_device(lambda: ONES.new(3, 2)),
    "inference": lambda: in_inference_mode(),
}


def functionalized(function: Callable[..., torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    return torch.func.functionalize(function)(x)  # type: ignore[no-any-return]


def storage_resized(resize: Callable[[torch.Tensor], object]) -> torch.Tensor:
    x = torch.ones(2)
    resize(x)
    return x.set_(x.untyped_storage(), 2, (18,))  # type: ignore[call-overload, no-any-return]


def with_device(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    with torch.device("cpu"):
        return make()


def in_inference_mode() -> torch.Tensor:
    with torch.inference_mode():
        return torch.empty(3).clone()


@pytest.mark.parametrize("name", CALLS)
def test_it_is_nan(name: str) -> None:
    for _ in range(3):
        dirty()
        result = CALLS[name]()
        assert result.numel() and torch.isnan(result).all(), result


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2),
        *(torch.complex32, torch.complex64, torch.complex128, torch.bool),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    ],
    ids=str,
)
def test_it_is_what_torch_fills_it_with(dtype: torch.dtype) -> None:
    dirty()
    ours = [torch.empty(7, dtype=dtype), torch.zeros(0, dtype=dtype).resize_(7), torch.zeros(3, dtype=dtype).resize_(7)]
    torch.use_deterministic_algorithms(True)
    try:
        # below what a program calls, which ours would fill
        expected = torch.ops.aten.resize_.default.redispatch(
            torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), torch.zeros(0, dtype=dtype), (7,)
        )
    finally:
        torch.use_deterministic_algorithms(False)
    for result in ours[:2]:
        assert result.view(torch.uint8).tolist() == expected.view(torch.uint8).tolist()
    assert ours[2][3:].view(torch.uint8).tolist() == expected[3:].view(torch.uint8).tolist()
    assert ours[2][:3].view(torch.uint8).tolist() == [0] * 3 * dtype.itemsize


def test_data_stays() -> None:
    assert torch.Tensor([1, 2]).tolist() == torch.FloatTensor([1, 2]).tolist() == ONES.new([1, 2]).tolist() == [1, 2]
    assert torch.Tensor(ONES).tolist() == ONES.new(ONES).tolist() == ONES.tolist()
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2]
    assert torch.UntypedStorage(2).tolist() == [255, 255]
    x = torch.arange(6.0)
    assert x.resize_(2).resize_(6).tolist() == [0, 1, 2, 3, 4, 5]
    assert torch.empty(0).numel() == 0
    leaf = torch.empty(3, requires_grad=True)
    assert leaf.is_leaf and leaf._version == 0


@pytest.mark.parametrize("kind", ["Double", "Float", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool"])
def test_arrays_are_data(kind: str) -> None:
    """They have `__index__`, as sizes have. A tensor shares the memory of one of its dtype, which would be lost too."""
    constructor = getattr(torch, f"{kind}Tensor")
    array = constructor([[1, 0, 1]]).numpy().copy()
    made = constructor(array)
    assert made.tolist() == torch.from_numpy(array).tolist() == [[1, 0, 1]]
    assert torch.Tensor(array).tolist() == ONES.new(array).tolist() == [[1, 0, 1]]
    assert torch.FloatTensor(array[0, :1]).tolist() == [1] and torch.FloatTensor(array[:, :0]).shape == (1, 0)
    assert array.tolist() == [[1, 0, 1]]


def test_what_gives_an_integer_is_a_size() -> None:
    for size in (2, np.int64(2), np.array(2), Index(), torch.Size([2])):
        assert all(torch.FloatTensor(size).isnan()) and all(ONES.new(size).isnan())
    assert torch.FloatTensor(np.array(2.0)).tolist() == 2  # not an integer
    assert torch.UntypedStorage(np.int64(2)).tolist() == [255, 255]


def test_other_kinds_of_tensors_are_left_alone() -> None:
    assert torch.empty(3, device="meta").is_meta
    assert torch.empty(3, 3, layout=torch.sparse_coo).is_sparse
    assert torch.empty_like(QUANTIZED).is_quantized
    from torch._subclasses import FakeTensor, FakeTensorMode

    with FakeTensorMode():
        assert isinstance(torch.empty(3), FakeTensor)

    class Sub(torch.Tensor):
        pass

    dirty()
    assert torch.isnan(ONES.as_subclass(Sub).new_empty(3)).all()


def test_modes_decide_what_they_return() -> None:
    class Dispatched(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return torch.zeros_like(result) if self.zeros else result

        def __init__(self, zeros: bool) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.zeros = zeros

    class Called(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return torch.zeros(3) if func is empty_taken_before else result

    dirty()
    with Dispatched(zeros=False):
        assert torch.isnan(torch.empty(3)).all()
    with Dispatched(zeros=True):
        assert torch.empty(3).tolist() == [0, 0, 0]
    with Called():
        assert torch.empty(3).tolist() == [0, 0, 0]
    found: list[torch.Tensor] = []
    dirty()
    repdl.audit(lambda: found.append(torch.empty(3)))
    assert torch.isnan(found[0]).all()


def test_ops_are_found_in_tables() -> None:
    """In those made before, such as torch's decompositions, which compilers read, and later in those made meanwhile."""
    assert [OPS[op] for op in OPS] == [str(op) for op in OPS]
    meanwhile = {torch.ops.aten.new_empty.default: 1}
    with repdl.reproducible():
        assert [meanwhile[op] for op in meanwhile] == [1]
    assert torch.ops.aten.empty_like.default._op.__name__ == torch.ops.aten.zeros_like.default._op.__name__
    decomposed = torch._decomp.get_decompositions([torch.ops.aten.empty_like, torch.ops.aten.empty_strided])
    assert torch.ops.aten.empty_like.default in decomposed


def test_everything_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [(torch, "empty"), (torch.Tensor, "resize_"), (torch, "set_flush_denormal"), (torch.Tensor, "__new__")]
    before = {name: getattr(owner, name) for owner, name in names}

    filled: list[Any] = []
    for name in ("fill_memory", "fill_tensor"):
        monkeypatch.setattr(_core, name, lambda *args: filled.append(args) is None)
    with repdl.reproducible():

        class MadeMeanwhile(torch.Tensor):
            pass

        for owner, name in names:
            assert getattr(owner, name) == before[name]
        torch.empty(3)
        assert len(filled) == 1
    torch.empty(3), torch.Tensor(3), torch.FloatTensor(3), MadeMeanwhile(3), torch.ones(2).resize_(9)
    torch.UntypedStorage(3).resize_(9)
    torch.ops.aten.empty([3])
    assert len(filled) == 1
    for owner, name in names:
        assert getattr(owner, name) == before[name]


FUNCTIONS = (torch.empty, torch.empty_like, torch.empty_strided, torch.empty_permuted, torch.resize_as_)
HASHES = [hash(function) for function in FUNCTIONS]
KNOWN_BEFORE = set(FUNCTIONS)


def test_functions_are_found_in_what_was_made_before() -> None:
    """As libraries keep dictionaries of functions of torch that they handle."""
    assert [hash(function) for function in FUNCTIONS] == HASHES and set(FUNCTIONS) == KNOWN_BEFORE
    for made in (torch.empty(3), torch.empty(size=(3,)), torch.empty(*(3, 2)), torch.empty(3, dtype=torch.float64)):
        assert made.isnan().all()
    assert [x.isnan().all().item() for x in map(torch.empty, [1, 2])] == [True, True]
    with pytest.raises(TypeError):
        torch.empty(3, nonsense=1)
    with pytest.raises(TypeError):
        torch.empty()


@pytest.mark.parametrize("first", [nullcontext, ENABLED])
@pytest.mark.parametrize("then", [nullcontext, ENABLED])
def test_default_devices(first: Callable[[], Any], then: Callable[[], Any]) -> None:
    """They hold wherever one was used before: of meta, nothing is made on the CPU."""
    _device_constructors.cache_clear()
    for block in (first, then):
        with block(), torch.device("meta"):
            made = [
                torch.empty(2),
                torch.empty_strided((2,), (1,)),
                torch.empty_permuted((2, 3), (1, 0)),
                torch.zeros(2),
            ]
            assert all(tensor.is_meta for tensor in (*made, torch.nn.Linear(2, 2).weight))
