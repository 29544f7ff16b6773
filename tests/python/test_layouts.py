# SPDX-License-Identifier: MIT
"""`repdl.enable()` and tensors that are not dense: what raises, what runs, and sparse gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from repdl.interception import permissions
from repdl.interception.exact import LAYOUTS, why_exact
from repdl.interception.native import overload, registered_names
from support import same_bits

# torch tells that such tensors are new, or old, or unchecked.
pytestmark = pytest.mark.filterwarnings("ignore:.*(Sparse|nested|deprecated|TypedStorage)")
DENSE = torch.tensor([[0.0, 1.5, 0.0], [2.0, 0.0, -0.3], [0.5, 0.2, 0.1]])
IMAGE = torch.linspace(0, 1, 48).reshape(1, 3, 4, 4)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    # Of (0, 1), three: 1e8 + 1 - 1e8, from left to right, is 0.
    TWICE = torch.sparse_coo_tensor([[0, 0, 1, 0], [1, 1, 2, 1]], [1e8, 1.0, 3.0, -1e8], (3, 3))
    TENSORS: dict[str, torch.Tensor] = {
        "SparseCPU": TWICE,
        "SparseCsrCPU": DENSE.to_sparse_csr(),
        "NestedTensorCPU": torch.nested.nested_tensor([DENSE, DENSE[:2] + 0.5]),
        "QuantizedCPU": torch.quantize_per_tensor(IMAGE, 0.1, 3, torch.quint8),
        "MkldnnCPU": IMAGE.to_mkldnn(),
    }

REFUSED: dict[str, tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "csr products of rows": ("SparseCsrCPU", lambda x: torch.ops.aten._sparse_csr_prod(x, [1], True)),
    "sparse hspmm": ("SparseCPU", lambda x: torch.hspmm(x, DENSE)),
    "nested layer_norm": ("NestedTensorCPU", lambda x: F.layer_norm(x, (3,), torch.ones(3), torch.zeros(3))),
    "nested sum": ("NestedTensorCPU", lambda x: x.sum(-1, keepdim=True)),
    "quantised sigmoid": ("QuantizedCPU", torch.sigmoid),
    "quantised mean": ("QuantizedCPU", lambda x: x.mean((2, 3))),
    "a quantised copy": ("QuantizedCPU", lambda x: x.clone().copy_(IMAGE * 0.9)),
    "mkldnn conv2d": ("MkldnnCPU", lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3))),
    "mkldnn relu": ("MkldnnCPU", torch.relu),
    "mkldnn linear": ("MkldnnCPU", lambda x: F.linear(x, torch.ones(2, 4))),
}


@pytest.fixture(autouse=True)
def _off() -> Any:
    yield
    repdl.disable()


def plain(x: torch.Tensor) -> torch.Tensor:
    x = x.dequantize() if x.is_quantized else x
    return x.to_padded_tensor(0.0) if x.is_nested else x.to_dense()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_reproducible_raises_or_runs_as_the_level_says(name: str) -> None:
    key, function = REFUSED[name]
    stock = plain(function(TENSORS[key]))
    with repdl.reproducible():
        with pytest.raises(repdl.NotReproducibleError) as raised:
            function(TENSORS[key])
        assert raised.value.reason == "layout"
        remedy = "torch.mm(sparse, x.T)" if name == "sparse hspmm" else ".to_dense()"
        assert remedy in str(raised.value)
        permissions.clear()
        with repdl.allow_native("a test"):
            permitted = function(TENSORS[key])
        assert {p.op for p in permissions} >= {raised.value.op}
    with repdl.reproducible(strict="off"):
        quiet = function(TENSORS[key])
    with repdl.reproducible(strict="warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore", repdl.NotReproducibleWarning)
        warned = function(TENSORS[key])
    for result in (permitted, quiet, warned, function(TENSORS[key])):
        assert torch.allclose(plain(result), stock)


@pytest.mark.parametrize("key", LAYOUTS)
def test_disable_takes_all_kernels_back(key: str) -> None:
    def kernels() -> list[str]:
        return [torch._C._dispatch_dump(f"aten::{n}") for n in registered_names(key)]

    before = kernels()
    repdl.enable()
    assert kernels() != before
    repdl.disable()
    assert kernels() == before


MOVES: dict[str, Callable[[], Any]] = {
    "sparse": lambda: torch.sparse_coo_tensor(TWICE._indices(), TWICE._values(), check_invariants=True),
    "to_sparse": lambda: DENSE.to_sparse(),
    "to_sparse of rows": lambda: DENSE.to_sparse(1),
    "csr": lambda: torch.sparse_csr_tensor([0, 1, 2, 2], [1, 0], [1.0, 2.0], (3, 3), check_invariants=True),
    "to_csr": lambda: DENSE.to_sparse_csr(),
    "to_csc": lambda: DENSE.to_sparse_csc(),
    "to_bsr": lambda: DENSE.to_sparse_bsr((3, 1)),
    "sparse to csr": lambda: TWICE.to_sparse_csr(),
    "csr to sparse": lambda: TENSORS["SparseCsrCPU"].to_sparse(),
    "csr to dense": lambda: TENSORS["SparseCsrCPU"].to_dense(),
    "csr parts": lambda: [getattr(TENSORS["SparseCsrCPU"], n)() for n in ("crow_indices", "col_indices", "values")],
    "sparse parts": lambda: [TWICE._indices(), TWICE._values(), TWICE._nnz(), TWICE.is_coalesced(), TWICE.size()],
    "coalesced parts": lambda: [TWICE.coalesce().indices(), TWICE.coalesce().values()],
    "sparse to float64": lambda: TWICE.to(torch.float64),
    "sparse clone": lambda: TWICE.clone().detach(),
    "sparse transposed": lambda: TWICE.t(),
    "sparse rows": lambda: TWICE.index_select(0, torch.tensor([1, 1])),
    "sparse row": lambda: TWICE[1],
    "sparse pair": lambda: torch.cat([TWICE, TWICE]),
    "sparse print": lambda: repr(TWICE),
    "csr print": lambda: repr(TENSORS["SparseCsrCPU"]),
    "nested": lambda: torch.nested.nested_tensor([DENSE, DENSE[:1]]),
    "as nested": lambda: torch.nested.as_nested_tensor([DENSE, DENSE[:1]]),
    "nested parts": lambda: [*TENSORS["NestedTensorCPU"].unbind(), TENSORS["NestedTensorCPU"].size(2)],
    "nested transposed": lambda: TENSORS["NestedTensorCPU"].transpose(1, 2).contiguous(),
    "nested clone": lambda: TENSORS["NestedTensorCPU"].clone().detach(),
    "nested to float64": lambda: TENSORS["NestedTensorCPU"].to(torch.float64),
    "nested print": lambda: repr(TENSORS["NestedTensorCPU"]),
    "quantised parts": lambda: [
        f(TENSORS["QuantizedCPU"]) for f in (torch.int_repr, torch.q_scale, torch.q_zero_point)
    ],
    "quantised view": lambda: TENSORS["QuantizedCPU"].reshape(3, 16).clone()[1:],
    "quantised copy": lambda: TENSORS["QuantizedCPU"].clone().copy_(TENSORS["QuantizedCPU"]),
    "quantised print": lambda: repr(TENSORS["QuantizedCPU"]),
    "mkldnn": lambda: TENSORS["MkldnnCPU"].clone().reshape(3, 16).to_dense(),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_is_moved_or_read_runs(name: str) -> None:
    stock = MOVES[name]()
    with repdl.reproducible():
        ours = MOVES[name]()
    for a, b in zip(*(x if isinstance(x, list) else [x] for x in (ours, stock)), strict=True):
        if name == "sparse print" or not isinstance(a, torch.Tensor):
            assert a == b
        else:
            assert a.layout == b.layout
            assert same_bits(plain(a), plain(b))


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32])
def test_dequantize_is_a_product_rounded_once(dtype: torch.dtype) -> None:
    x = torch.quantize_per_tensor(torch.linspace(-12, 12, 1001), 0.1, 3, dtype)
    with repdl.reproducible():
        value = x.dequantize()
    assert same_bits(value, (x.int_repr().to(torch.int32) - 3).float() * torch.tensor(x.q_scale()).float())


APPLIED = [
    (key, name)
    for key in ("SparseCPU", "SparseCsrCPU", "NestedTensorCPU")
    for name in registered_names(key)
    if name == name.rstrip("_").partition(".")[0]
    and (why_exact(name, key) or "").startswith("The ops of which")
    and name != "native_norm"
    and len([a for a in overload(name)._schema.arguments if not a.has_default_value()]) == 1
]


@pytest.mark.parametrize(("key", "name"), APPLIED)
def test_functions_are_those_of_the_values(key: str, name: str) -> None:
    def values(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([t.reshape(-1) for t in x.unbind()]) if x.is_nested else x.values()

    x = TENSORS[key].coalesce() if key == "SparseCPU" else TENSORS[key]
    x = x / 8 if key == "NestedTensorCPU" else x
    with repdl.reproducible():
        result, of_values = overload(name)(x), overload(name)(values(x))
        ours = values(result) if result.dim() else result
    assert same_bits(ours, of_values)


def test_terms_of_an_index_are_added_in_their_order() -> None:
    with repdl.reproducible():
        assert TWICE.coalesce().values().tolist() == [0.0, 3.0]
        assert TWICE.to_dense()[0, 1] == 0.0
        assert (torch.ones(3, 3) + TWICE)[0, 1] == 1.0
        assert (TWICE + TWICE).to_dense()[0, 1] == 0.0
        alone = torch.sparse_coo_tensor([[1], [1]], [-0.0], (3, 3))
        assert torch.signbit(alone.coalesce().values()).all()
    n = torch.arange(20000)
    many = torch.sparse_coo_tensor((n * 7 % 13)[None], (n * 0.37).sin(), (13,))
    expected = torch.zeros(13).index_add_(0, many._indices()[0], many._values())
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        with repdl.reproducible():
            assert same_bits(many.coalesce().values(), expected)
            assert same_bits(many.to_dense(), expected)
    torch.set_num_threads(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64])
@pytest.mark.parametrize("alpha", [1, 3])
def test_arithmetic_is_that_of_dense_tensors(dtype: torch.dtype, alpha: int) -> None:
    generator = torch.Generator().manual_seed(1)
    # Rows of a matrix, matrices of one number, nothing, and an index that comes twice.
    for shape, dims, nnz in (((6, 5), 1, 7), ((6, 5), 2, 9), ((4,), 1, 0), ((4, 3, 2), 2, 5)):
        pair = []
        for _ in range(2):
            indices = torch.stack([torch.randint(0, s, (nnz,), generator=generator) for s in shape[:dims]])
            values = (torch.randn(nnz, *shape[dims:], generator=generator) * 9).to(dtype)
            pair.append(torch.sparse_coo_tensor(indices, values, shape))
        a, b = pair
        other = (torch.randn(shape, generator=generator) * 9).to(dtype)
        with repdl.reproducible():
            x, y = a.to_dense(), b.to_dense()
            for op in (torch.add, torch.sub):
                assert same_bits(op(a, b, alpha=alpha).to_dense(), op(x, y, alpha=alpha))
                assert same_bits(op(other, b, alpha=alpha), op(other, y, alpha=alpha))
            assert same_bits(other.clone().add_(b, alpha=alpha), torch.add(other, y, alpha=alpha))
            assert same_bits(a.clone().sub_(b, alpha=alpha).to_dense(), torch.sub(x, y, alpha=alpha))
            assert same_bits((a.coalesce() * 3).to_dense(), x * 3)
            assert same_bits((a.coalesce() * other).to_dense(), x * other + 0)
            if dtype != torch.int64:
                assert same_bits((a.coalesce() / 3).to_dense(), x / 3)
                assert same_bits(a.coalesce().clone().div_(3).to_dense(), x / 3)


def test_bad_input_is_refused_as_torch_does() -> None:
    other = torch.sparse_coo_tensor([[0]], [1.0], (4,))
    for function in (lambda: TWICE + other, lambda: TWICE + DENSE, lambda: DENSE[0] + TWICE):
        types = []
        for context in (warnings.catch_warnings(), repdl.reproducible()):
            with context, pytest.raises(RuntimeError) as raised:
                function()
            types.append(type(raised.value))
        assert types[0] is types[1]


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1),
    "momentum": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "SparseAdam": lambda p: torch.optim.SparseAdam(p, 0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.1),
}


def _trained(optimizer: str, sparse: bool) -> torch.Tensor:
    torch.manual_seed(0)
    layer = torch.nn.Embedding(10, 3, sparse=sparse)
    steps = OPTIMIZERS[optimizer](layer.parameters())
    for n in range(4):
        indices = torch.tensor([[1, 2, 2], [n, 9, n]])
        steps.zero_grad()
        (layer(indices).exp().sum() + (layer(indices) ** 2).sum()).backward()
        steps.step()
    return layer.weight.detach()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_sparse_gradients_train(optimizer: str) -> None:
    stock = _trained(optimizer, sparse=True)
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with repdl.reproducible(rng="torch"):
            results.append(_trained(optimizer, sparse=True))
            if optimizer in ("SGD", "momentum"):
                results.append(_trained(optimizer, sparse=False))
    torch.set_num_threads(1)
    assert all(same_bits(result, results[0]) for result in results)
    assert torch.allclose(results[0], stock, rtol=1e-5, atol=1e-6)


def test_a_model_of_its_own_is_refused_too() -> None:
    class Graph(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.hspmm(TWICE, DENSE).to_dense() + torch.nn.functional.dropout(x, 0.0)

    model = repdl.from_torch_module(Graph())
    with pytest.raises(repdl.NotReproducibleError, match=r"torch\.mm"):
        model(DENSE)
    torch.hspmm(TWICE, DENSE)


def test_the_audit_tells_them() -> None:
    def program() -> None:
        torch.hspmm(TWICE, DENSE)
        TWICE @ DENSE
        TWICE.coalesce()
        TENSORS["QuantizedCPU"].int_repr()
        torch.sigmoid(TENSORS["QuantizedCPU"])

    report = repdl.audit(program)
    found = {row.op: row for row in report}
    assert {op: row.kind for op, row in found.items() if row.kind != "exact"} == {
        "aten::hspmm": "not",
        "aten::mm": "guarded",
        "aten::sigmoid": "not",
        "aten::_coalesce": "guarded",
    }
    assert found["aten::hspmm"].count == 1 and "layout" in found["aten::hspmm"].reason
    assert found["aten::int_repr"].kind == "exact"
