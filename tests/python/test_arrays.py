# SPDX-License-Identifier: MIT
"""Arrays of any library that speaks DLPack: what an op makes of them is of the same kind, with the same bits."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import _core
from repdl._op import Op, registry
from repdl.testing.calls import digest, golden_lines, has_bfloat16, results_of
from support import ALL_OPS, run_python

X = np.array([[0.0, -0.0, np.nan], [-np.inf, 1e-45, 2.5]], np.float32)


class Array:
    """An array of another library: this is all that an op needs of one."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    def __dlpack__(self, **named: Any) -> Any:
        return self.values.__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()

    def __array_namespace__(self) -> Any:
        return SimpleNamespace(from_dlpack=lambda array: type(self)(np.from_dlpack(array)))


class Silent(Array):
    """It speaks the first version of DLPack, which says nothing of reading and writing, as JAX's arrays do."""

    def __dlpack__(self, **named: Any) -> Any:
        return self.values.__dlpack__()


class OfPackage:
    """Its package has `from_dlpack`: this module."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    __dlpack__, __dlpack_device__ = Array.__dlpack__, Array.__dlpack_device__


def from_dlpack(array: Any) -> OfPackage:
    return OfPackage(np.from_dlpack(array))


class OfNobody(OfPackage):
    """Nobody says how to make one."""

    __module__ = "nowhere"


class Narrow(Array):
    """Its library has no numbers of 64 bits, as JAX has not unless it is told."""

    def __array_namespace__(self) -> Any:
        def from_dlpack(array: Any) -> Narrow:
            values = np.from_dlpack(array)
            return Narrow(values.astype({"f8": "f4", "i8": "i4"}.get(values.dtype.str[1:], values.dtype)))

        return SimpleNamespace(from_dlpack=from_dlpack)


class OnDevice(Array):
    """It says that its memory is that of a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **named: Any) -> Any:
        capsule = self.values.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(get(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)).value = 2
        return capsule


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("name", ALL_OPS)
def test_every_op_gives_the_golden_digests_in_the_kind_that_it_got(name: str) -> None:
    op: Op[..., Any] = registry[name]
    for expected, text in golden_lines(name)[:3]:
        _, arguments = _core.read_case(text)
        if has_bfloat16(arguments):
            continue
        others = {k: Array(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        results = results_of(op, others)
        assert {type(result) for result in results} <= {Array}, text
        assert digest([result.values for result in results]) == expected, text


@pytest.mark.parametrize(
    ("kind", "given"), [(Array, Array), (Silent, Silent), (OfPackage, OfPackage), (OfNobody, None)]
)
def test_the_kind_that_comes_back(kind: Any, given: Any) -> None:
    for values in (X, X.T, X[::-1, ::2], X[:0], X[0, 0, None], np.array(2.5, np.float64), X.astype(np.float16)):
        expected = repdl.ops.exp(values)
        result = repdl.ops.exp(kind(values))
        assert type(result) is (given or np.ndarray)
        assert same(getattr(result, "values", result), expected)
    read_only = X.copy()
    read_only.flags.writeable = False
    assert same(repdl.ops.exp(Array(read_only)).values, repdl.ops.exp(X))
    largest, index = repdl.ops.topk(Array(X[1]), 2)
    assert type(largest) is type(index) is Array and index.values.dtype == np.int64
    assert type(repdl.ops.sum(input=Array(X), dim=[0], order="sequential")) is Array  # by name


def test_mixed_kinds() -> None:
    ours, theirs = X[:, :1].copy(), Array(X[1:].copy())
    expected = repdl.ops.add(ours, X[1:])
    for result in (repdl.ops.add(ours, theirs), repdl.ops.add(Array(ours), X[1:].copy())):
        assert type(result) is Array and same(result.values, expected)
    assert type(repdl.ops.add(OfPackage(ours), theirs)) is OfPackage  # of the first
    assert type(repdl.ops.exp(X)) is np.ndarray and type(repdl.ops.exp(torch.from_numpy(X))) is torch.Tensor


def test_an_op_that_changes_an_array() -> None:
    expected = np.zeros(5, np.float32)
    repdl.ops.philox_uniform(expected, 1, 2)
    theirs = Array(np.zeros(5, np.float32))
    assert repdl.ops.philox_uniform(theirs, 1, 2) is None
    assert same(theirs.values, expected)
    read_only = Array(np.zeros(5, np.float32))
    read_only.values.flags.writeable = False
    for array in (read_only, Silent(np.zeros(5, np.float32))):
        text = (
            rf"\[philox_uniform\] tensor must be an array that may be changed, got a read-only {type(array).__name__}"
        )
        for call in (
            lambda a: repdl.ops.philox_uniform(a, 1, 2),
            lambda a: repdl.ops.philox_uniform(tensor=a, seed=1, call=2),
        ):
            with pytest.raises(TypeError, match=text):
                call(array)
        assert not array.values.any()


class Traced(Array):
    """As JAX's, while a function is compiled."""

    def __dlpack_device__(self) -> tuple[int, int]:
        raise AttributeError("it has no device")


def test_arrays_whose_numbers_are_not_all_that_they_say() -> None:
    """A mask would be dropped, and an array that is being traced has no numbers."""
    masked = np.ma.masked_array(X, mask=X > 1)
    for array, text in ((masked, r"has a mask, .* \.filled\(0\)"), (Traced(X), "is a Traced, which has no numbers")):
        for call in (lambda a: repdl.ops.mul(X, a), lambda a: repdl.ops.mul(X, other=a)):
            with pytest.raises(TypeError, match=rf"\[mul\] other {text}"):
                call(array)


def test_numbers_that_a_library_does_not_keep() -> None:
    _, index = repdl.ops.topk(Narrow(X[1]), 2)
    assert index.values.dtype == np.int32 and index.values.tolist() == repdl.ops.topk(X[1], 2)[1].tolist()
    assert repdl.ops.exp(Narrow(np.array([0.0, -np.inf, np.inf, np.nan]))).values.dtype == np.float32
    with pytest.raises(ValueError, match=r"\[exp\] gives float64 numbers, of which this library keeps float32 only"):
        repdl.ops.exp(Narrow(np.array([0.1])))


def test_memory_begins_where_every_library_takes_it() -> None:
    """TensorFlow ends the process at memory that begins elsewhere."""
    begins = []

    class Strict(Array):
        def __array_namespace__(self) -> Any:
            def from_dlpack(array: np.ndarray[Any, Any]) -> Array:
                begins.append(array.ctypes.data % 64)
                return Array(array)

            return SimpleNamespace(from_dlpack=from_dlpack)

    for values in (X, X[:0], np.array(2.5), *(np.ones((n, 3), np.float32) for n in range(1, 20))):
        assert same(repdl.ops.exp(Strict(values)).values, repdl.ops.exp(values))
    repdl.ops.topk(Strict(X[1]), 2)
    assert set(begins) == {0}


def test_what_is_refused_is_named() -> None:
    for op in (repdl.ops.exp, repdl.ops.relu):
        with pytest.raises(TypeError, match=rf"\[{op.name}\] input is on cuda:0, where only torch tensors are taken"):
            op(OnDevice(X.copy()))
    with pytest.raises(TypeError, match=r"\[philox_uniform\] tensor is on cuda"):
        repdl.ops.philox_uniform(OnDevice(X.copy()), 1, 2)
    low = Array(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Array, "dtype", "<dtype: 'bfloat16'>")
        with pytest.raises(TypeError, match=r"\[exp\] input is bfloat16, of which NumPy has no arrays; give a torch"):
            repdl.ops.exp(low)
        patch.setattr(Array, "dtype", "<dtype: 'string'>")  # of whose memory TensorFlow ends the process
        patch.setattr(Array, "__dlpack__", None)
        with pytest.raises(TypeError, match=r"\[exp\] input must hold numbers, got Array of <dtype: 'string'>"):
            repdl.ops.exp(low)
    with pytest.raises(TypeError, match=r"\[exp\] input must be .*complex|\[exp\] input .*unsupported"):
        repdl.ops.exp(Array(X.astype(np.complex64)))
    with pytest.raises(TypeError, match=r"\[exp\] has no argument 'other'"):
        repdl.ops.exp(Array(X), other=1)


def test_without_torch() -> None:
    program = (
        "import sys; sys.modules['torch'] = None; sys.path.insert(0, 'tests/python')\n"
        "import types, numpy as np, repdl\n"
        "class Array:\n"
        "    def __init__(self, v): self.v = v\n"
        "    def __dlpack__(self, **named): return self.v.__dlpack__(**named)\n"
        "    def __dlpack_device__(self): return self.v.__dlpack_device__()\n"
        "    def __array_namespace__(self): return types.SimpleNamespace(from_dlpack=make)\n"
        "def make(a): return Array(np.from_dlpack(a))\n"
        "print(type(repdl.ops.exp(Array(np.ones(2)))).__name__)"
    )
    assert run_python(program).strip() == "Array"


def test_jax() -> None:
    """In a process of its own: once JAX is imported, each fork warns."""
    program = (
        "import jax.numpy as jnp, numpy as np, repdl\n"
        "X = np.array([[0.0, -0.0, np.nan], [-np.inf, 1e-45, 2.5]], np.float32)\n"
        "x = jnp.asarray(X)\n"
        "result = repdl.ops.exp(x)\n"
        "assert type(result) is type(x) and np.asarray(result).tobytes() == repdl.ops.exp(X).tobytes()\n"
        "_, index = repdl.ops.topk(x[1], 2)\n"
        "assert type(index) is type(x) and index.tolist() == repdl.ops.topk(X[1], 2)[1].tolist()\n"
        "import jax\n"
        "for call in (lambda: repdl.ops.philox_uniform(x, 1, 2), lambda: repdl.ops.exp(x.astype(jnp.bfloat16)),\n"
        "             lambda: jax.jit(repdl.ops.exp)(x)):\n"
        "    try:\n"
        "        call()\n"
        "    except TypeError as error:\n"
        "        print(error)\n"
    )
    read_only, bfloat16, traced = run_python(program).splitlines()
    assert "got a read-only ArrayImpl" in read_only and "is bfloat16" in bfloat16
    assert traced.startswith("[exp] input is a ") and "which has no numbers to read" in traced


def test_tensorflow() -> None:
    """Where it is installed. What it computes from a result ends the process if the memory does not suit it."""
    try:
        import tensorflow as tf  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        pytest.skip("no TensorFlow: it is too large to be installed for one test")
    for n in range(1, 20):
        x = tf.constant(np.ones((n, 3), np.float32))
        result = repdl.ops.exp(x)
        assert type(result) is type(x) and float(tf.reduce_max(result)) == float(repdl.ops.exp(np.float32([1]))[0])
    for refused, text in ((tf.constant("a"), "must hold numbers"), (tf.cast(x, tf.bfloat16), "is bfloat16")):
        with pytest.raises(TypeError, match=text):
            repdl.ops.exp(refused)
