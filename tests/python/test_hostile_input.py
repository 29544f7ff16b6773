# SPDX-License-Identifier: MIT
"""Whatever is handed in, the answer is a result or an error that names the op: never a crash, never silently wrong."""

from __future__ import annotations

import array
import ctypes
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import repdl
from repdl import _core, ops
from repdl._op import registry
from repdl.nn import functional as F
from support import ALL_OPS, run_python, same_bits

X = torch.randn(4, 4, generator=torch.Generator().manual_seed(3))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch calls some of these layouts experimental or deprecated
    WITHOUT_PLAIN_DATA: dict[str, Any] = {
        "sparse": X.to_sparse(),
        "compressed rows": X.to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(X, 0.1, 0, torch.qint8),
        "nested": torch.nested.nested_tensor([X, X[:2]]),
        **({"oneDNN's own": X.to_mkldnn()} if torch.backends.mkldnn.is_available() else {}),
    }

RECORDS = np.zeros((4, 4), dtype=[("a", "i1"), ("b", "f4")])

TENSORS: dict[str, Any] = {
    **WITHOUT_PLAIN_DATA,
    "None": None,
    "a list": [[1.0]],
    "text": "x",
    "float64": X.double(),
    "float16": X.half(),
    "complex": torch.conj(X.to(torch.complex64)),
    "float8": X.to(torch.float8_e4m3fn),
    "bool": X > 0,
    "int64": X.long(),
    "negated": torch._neg_view(X),
    "zeros without memory": torch._efficientzerotensor((4, 4)),
    "some of such zeros": torch._efficientzerotensor((9, 4))[1::2],
    "a number": torch.tensor(1.0),
    "nothing": torch.empty(0),
    "no rows": torch.empty(0, 4),
    "no columns": torch.empty(4, 0),
    "no sizes at all": torch.empty(0, 0, 0, 0),
    "no channels": torch.empty(2, 0, 3, 3),
    "9 dimensions": torch.ones([1] * 9),
    "an array of 9 dimensions": np.ones([1] * 9, np.float32),
    "big-endian": X.numpy().astype(">f4"),
    "inside records": RECORDS["b"],
    "objects": np.array([[object()]]),
    "dates": np.zeros((4, 4), "M8[s]"),
    "bytes at odd addresses": np.frombuffer(bytearray(65), np.uint8)[1:].view(np.float32).reshape(4, 4),
    "2^62 elements": torch.ones(1, 1).expand(2**31, 2**31),
    "2^62 classes": torch.zeros(1, 1, dtype=torch.int64).expand(2**31, 2**31),
}

OPTIONS: list[Any] = [
    None, float("nan"), float("inf"), 1e300, -1, 0, 2**31, 2**40, 2**62, -(2**63), 2**70, True, "x", "", b"x", 1j,
    (), (1, 2, 3), [1] * 9, [-1, -1], [0, 0], [2**62, 2**62], [None], ["a"], [[1]], object(), torch.ones(2),
]  # fmt: skip

MEETS_ALL_ELEMENTS = {"sum", "mean"}
"""They would read all 2^62 of them, which is what was asked for but takes a century."""

MAKES_AS_MANY = {("philox_multinomial", "num_samples"), ("unfold_grad", "length")}
"""A number of results, which may be too large for one machine and not for another."""


@pytest.mark.parametrize("name", ALL_OPS)
def test_any_argument_of_any_op_may_be_nonsense(name: str) -> None:
    op = registry[name]
    assert op.make_samples is not None
    text = next(iter(op.make_samples())).text(name)
    errors: list[str] = []
    for argument, kind, _ in op.arguments:
        for value in TENSORS.values() if kind.startswith("Tensor") else OPTIONS:
            if name in MEETS_ALL_ELEMENTS and isinstance(value, torch.Tensor) and value.numel() >= 2**62:
                continue
            if (name, argument) in MAKES_AS_MANY and isinstance(value, int) and 2**20 < value < 2**60:
                continue
            for to_framework in (torch.from_numpy, lambda array: array):
                arguments = {
                    key: to_framework(each) if isinstance(each, np.ndarray) else each
                    for key, each in _core.read_case(text)[1].items()
                }
                try:
                    op(**(arguments | {argument: value}))
                except (TypeError, ValueError, NotImplementedError) as error:
                    errors.append(str(error))
                except MemoryError:
                    pass  # a result of 2^62 elements
    assert len(errors) > 10
    assert not [error for error in errors if f"[{name}]" not in error and not error.startswith("order must be")]


@pytest.mark.parametrize("kind", WITHOUT_PLAIN_DATA)
def test_what_memory_does_not_show_is_refused(kind: str) -> None:
    with pytest.raises(TypeError, match=r"\[mm\] mat2 (must be a dense tensor|has no data).*with \.") as caught:
        ops.mm(X, WITHOUT_PLAIN_DATA[kind])
    assert "\n" not in str(caught.value)
    if kind != "quantized":  # whose bytes are plain
        with pytest.raises(TypeError, match=r"\[get_hash\] x must be dense"):
            repdl.utils.get_hash(WITHOUT_PLAIN_DATA[kind])


def test_what_wraps_other_tensors_has_no_hash() -> None:
    wrapped = TwoTensor(X, X)
    with pytest.raises(TypeError, match=r"\[get_hash\] x must hold its data itself, got TwoTensor.*x\.to_local\(\)"):
        repdl.utils.get_hash(wrapped)


def test_a_negated_view_counts_with_its_sign() -> None:
    z = torch.randn(5, 6, dtype=torch.complex64)
    negated, plain = z.conj().imag, -z.imag
    assert negated.is_neg()
    assert same_bits(ops.exp(negated), ops.exp(plain))
    assert same_bits(ops.mm(negated, X[:, :1].new_ones(6, 2)), ops.mm(plain, torch.ones(6, 2)))
    assert repdl.utils.get_hash(negated) == repdl.utils.get_hash(plain)
    parameter = torch.ones(5, 6, requires_grad=True)
    parameter.grad = negated
    repdl.optim.SGD([parameter], lr=1.0).step()
    assert same_bits(parameter.detach(), 1 - plain)
    with pytest.raises(ValueError, match=r"\[sgd_step\] param is to be changed but is a view with the sign changed"):
        ops.sgd_step(negated, plain)


def test_a_conjugate_view_is_hashed_as_what_it_stands_for() -> None:
    z = torch.randn(5, dtype=torch.complex64)
    assert repdl.utils.get_hash(z.conj()) == repdl.utils.get_hash(z.conj().resolve_conj())


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_misaligned_memory_works(offset: int) -> None:
    memory = np.zeros(X.numel() * 4 + offset, np.uint8)
    memory[offset:] = np.ascontiguousarray(X.numpy()).view(np.uint8).reshape(-1)
    array = memory[offset:].view(np.float32).reshape(4, 4)
    for odd in (array, torch.from_numpy(array), array.T, torch.from_numpy(array).T):
        plain = torch.as_tensor(odd).clone()
        for op in (ops.exp, ops.sum, lambda x: ops.mm(x, x), ops.softmax):
            assert same_bits(torch.as_tensor(op(odd)), op(plain))
    with pytest.raises(ValueError, match=r"\[sgd_step\] param is to be changed but is not aligned"):
        ops.sgd_step(array, X.numpy())


def test_layouts_of_every_kind_work() -> None:
    base = torch.randn(20, 20)
    for x in (
        base[::2, 1::3],
        base.T,
        base[:1].expand(7, 20),
        base[:1, :1].expand(5, 6),
        base.as_strided((4, 5), (1, 1), 3),
        base.flatten()[3:19].reshape(4, 4),
    ):
        for op in (ops.exp, ops.relu, ops.softmax, ops.sum, lambda x: ops.sum(x, 0), lambda x: ops.mm(x, x, True)):
            assert same_bits(op(x), op(x.clone(memory_format=torch.contiguous_format)))
    array = base.numpy()
    for y in (array[::-1, ::-2], np.broadcast_to(array[0], (3, 20)), np.asfortranarray(array)):
        assert np.array_equal(ops.exp(y), ops.exp(np.ascontiguousarray(y)))
        assert np.array_equal(ops.mm(y, y, transB=True), ops.mm(*[np.ascontiguousarray(y)] * 2, transB=True))


def test_strides_larger_than_the_image_cost_nothing() -> None:
    image, kernel = torch.randn(2, 3, 7, 8), torch.randn(4, 3, 3, 2)
    for stride in (9, 2**31 - 1):
        y = ops.conv2d(image, kernel, stride, 1)
        assert same_bits(y, ops.conv2d(image, kernel, padding=1)[:, :, :1, :1])
        grad = torch.ones_like(y)
        whole = torch.zeros_like(ops.conv2d(image, kernel, padding=1))
        whole[:, :, :1, :1] = grad
        assert same_bits(
            ops.conv2d_grad_kernel(image, kernel.shape, grad, stride, 1),
            ops.conv2d_grad_kernel(image, kernel.shape, whole, padding=1),
        )
        torch.testing.assert_close(
            ops.conv2d_grad_input(image.shape, kernel, grad, stride, 1),
            ops.conv2d_grad_input(image.shape, kernel, whole, padding=1),
        )
        for ours, theirs in zip(
            ops.max_pool2d(image, 3, stride, 1), F.max_pool2d(image, 3, 9, 1, return_indices=True), strict=True
        ):
            assert same_bits(ours, theirs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.conv2d(X[None, None], X[None, None], 2**31), r"\[conv2d\] stride must be at most"),
        (lambda: ops.conv2d(X[None, None], X[None, None], 1, 2**62), r"\[conv2d\] padding must be at most"),
        (lambda: ops.conv2d(X[None, None], X[None, None], 2**31 - 1, 2**31 - 1), r"\[conv2d\] padding .* too large"),
        (lambda: ops.max_pool2d(X[None], 2, 2**62), r"\[max_pool2d\] stride must be at most"),
        (lambda: ops.max_pool2d(X[None], 2**31 - 1, 1, 2**30 - 1), r"\[max_pool2d\] kernel_size .* more than 2\^31"),
        (lambda: ops.max_pool2d_grad(X[None], X[None].long(), (1, -2, 2)), r"\[max_pool2d_grad\] .* negative size"),
        (lambda: ops.exp(torch.ones([1] * 9)), r"\[exp\] input has 9 dimensions; .*reshape to fewer"),
        (lambda: repdl.func.expand_as(torch.ones(3), torch.ones(2)), r"\[expand_as\] input of shape \(3,\) does not"),
        (lambda: repdl.set_num_threads(10**6), r"\[set_num_threads\] n must be between 1 and 1024"),
        (lambda: repdl.set_order(["blocked"]), r"order must be one of"),  # type: ignore[arg-type]
    ],
)
def test_bad_values_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("value", [None, [1.0], "x", 3, object()])
def test_what_is_no_tensor_is_named(value: Any) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "sum1d": lambda: ops.sum1d(value),
        "sum4d_dim023": lambda: ops.sum4d_dim023(value),
        "conv2d": lambda: F.conv2d(value, X),
        "linear": lambda: F.linear(value, X),
        "softmax": lambda: F.softmax(value),
        "log_softmax": lambda: F.log_softmax(value),
        "batch_norm": lambda: F.batch_norm(value, None, None, training=True),
        "cross_entropy": lambda: F.cross_entropy(value, value),
        "max_pool2d": lambda: F.max_pool2d(value, 2),
        "expand_as": lambda: repdl.func.expand_as(value, X),
        "uniform_": lambda: repdl.random.uniform_(value),
        "get_hash": lambda: repdl.utils.get_hash(value),
        "from_torch_module": lambda: repdl.from_torch_module(value),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"\[{name}\] \w+ must be a"):
            call()


ODD = """
np.datetime64("2020"); np.timedelta64(3, "D"); np.zeros(3, "M8[s]"); np.array("2020", "M8"); np.void(b"abcd")
np.zeros(2, "i4,f4"); np.zeros(2, "i4,f4")[0]; np.array(["ab", "c"]); np.array([object()]); np.longdouble(2)
b"abcd"; memoryview(b""); array.array("u", "ab"); array.array("q"); (ctypes.c_int * 3)(); (ctypes.c_int * 2 * 3)()
ctypes.c_char_p(b"x"); (type("P", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int)]}) * 2)(); np.ndarray
"""


def test_odd_objects_are_refused_and_end_no_process() -> None:
    code = """
import array, ctypes, sys
import numpy as np
import repdl
for text in sys.argv[1:]:
    try:
        repdl.ops.exp(eval(text))
    except TypeError as error:
        print(error)
"""
    texts = [text.strip() for text in ODD.replace("\n", ";").split(";") if text.strip()]
    said = run_python(code, *texts).splitlines()
    assert len(said) == len(texts) == 19
    assert all(line.startswith("[exp] input must be") for line in said), said
    assert "datetime64" in said[0] and "timedelta64" in said[1], said


def test_buffers_without_strides_are_read() -> None:
    expected = ops.exp(np.arange(6, dtype=np.float32))
    of_ctypes = (ctypes.c_float * 3 * 2)(*[(ctypes.c_float * 3)(*row) for row in ((0, 1, 2), (3, 4, 5))])
    assert np.array_equal(ops.exp(of_ctypes), expected.reshape(2, 3))
    assert np.array_equal(ops.exp(array.array("f", range(6))), expected)
    misaligned = memoryview(bytearray(b"x") + np.arange(6, dtype=np.float32).tobytes())[1:].cast("f")
    assert np.array_equal(ops.exp(misaligned), expected)


def test_threads_are_a_whole_number() -> None:
    for value in (None, 1.5, "2", [2], float("nan"), 2**40, 2**70):
        with pytest.raises((TypeError, ValueError)):
            repdl.set_num_threads(value)  # type: ignore[arg-type]


def test_shapes_can_be_asked_without_data() -> None:
    layer = repdl.nn.Conv2d(3, 5, 3, padding=1, device="meta")
    y = layer(torch.ones(2, 3, 8, 8, device="meta"))
    assert y.shape == (2, 5, 8, 8) and y.is_meta


def test_a_lazy_layer_stays_ours_after_its_first_input() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lazy layers are said to be new
        model = repdl.from_torch_module(torch.nn.Sequential(torch.nn.LazyConv2d(3, 2), torch.nn.LazyLinear(4)))
        model(torch.ones(2, 5, 4, 4))
    assert [type(layer) for layer in model] == [repdl.nn.Conv2d, repdl.nn.Linear]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [repdl.optim.Adam, repdl.optim.AdamW, repdl.optim.SGD])
def test_optimizers_take_odd_tensors(kind: Any) -> None:
    def step(parameter: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        parameter = parameter.detach().requires_grad_()
        parameter.grad = grad
        kind([parameter], lr=0.5).step()
        return parameter.detach()

    expected = step(torch.ones(6), torch.full((6,), 2.0))
    repeated = torch.tensor([2.0]).expand(6)
    version = repeated._version
    assert same_bits(step(torch.ones(6), repeated), expected)
    assert repeated._version == version, "the gradient is not changed"
    assert same_bits(step(torch.ones(12)[::2], torch.full((6,), 2.0)), expected)
    assert step(torch.ones(0, 3), torch.ones(0, 3)).shape == (0, 3)
    with pytest.raises(TypeError, match=r"param must be float32 or float64, got float16"):
        step(torch.ones(6).half(), torch.ones(6).half())


def test_zeros_without_memory_are_read() -> None:
    code = """
import torch, repdl
for zeros in (torch._efficientzerotensor((1000, 1000)), torch._efficientzerotensor((3000, 1000))[2::3]):
    assert repdl.ops.exp(zeros).eq(1).all()
    try:
        repdl.ops.sgd_step(zeros, torch.ones(1000, 1000))
    except TypeError as error:
        print(error)
"""
    assert run_python(code).count("[sgd_step] param has no data") == 2


def test_an_element_of_memory_that_was_freed_is_none() -> None:
    """torch's own kernels end the process."""
    code = """
import torch, repdl
x = torch.ones(10)
y = x[3:]
x.untyped_storage().resize_(0)
try:
    repdl.ops.exp(y)
except TypeError as error:
    print(error)
"""
    assert "[exp] input has no data" in run_python(code)


def test_the_least_integer_and_minus_one_have_quotients_divisors_and_multiples():
    """torch's own kernels end the process."""
    code = """
import torch, repdl
repdl.enable()
for dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
    least, one = torch.full((99,), torch.iinfo(dtype).min, dtype=dtype), torch.full((99,), -1, dtype=dtype)
    for a, b in ((least, one), (one, least), (least[::2], one[0])):
        assert torch.gcd(a, b).eq(1).all() and torch.lcm(a, b).eq(least[0]).all() and a.clone().gcd_(b).eq(1).all()
    most = torch.full((99,), torch.iinfo(dtype).max, dtype=dtype)
    assert torch.lcm(least, most).eq(torch.lcm(most, least)).all() and torch.lcm(least, least).eq(least[0]).all()
    for b in (one, one[0], -1, torch.tensor(-1), one[::2].repeat(2)[:99]):
        for mode in ("trunc", "floor"):
            assert torch.div(least, b, rounding_mode=mode).eq(least).all()
            assert least.clone().div_(b, rounding_mode=mode).eq(least).all()
        assert (least % b).eq(0).all() and torch.fmod(least, b).eq(0).all()
    by = torch.tensor([2, 2, -1], dtype=dtype)
    mixed = torch.div(torch.tensor([7, -7, 7], dtype=dtype), by, rounding_mode="trunc")
    assert mixed.tolist() == [3, -3, -7]
print("done")
"""
    assert run_python(code).split() == ["done"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_remainders_are_exact_whatever_the_quotient(dtype):
    numbers = torch.randint(-(2**63), 2**63 - 1, (10_001,), generator=torch.Generator().manual_seed(5)).view(dtype)
    least = torch.zeros((), dtype=dtype).nextafter(torch.ones((), dtype=dtype))
    for by in (numbers.roll(1), numbers.flip(0), least.expand(numbers.shape)):
        with np.errstate(all="ignore"):
            exact = torch.from_numpy(np.fmod(numbers.numpy(), by.numpy()))
        with repdl.reproducible():
            found = numbers.fmod(by)
        assert same_bits(found.nan_to_num(7.0), exact.nan_to_num(7.0))
