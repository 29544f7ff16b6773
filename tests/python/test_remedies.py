# SPDX-License-Identifier: MIT
"""What an error tells the program to call does run."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import repdl
from repdl.interception.native import registered_names
from repdl.interception.override import overrides
from repdl.interception.remedies import remedies
from repdl.interception.strict import not_reproducible, op_of
from support import without_kernel


def _scripted() -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(torch.nn.Conv2d(1, 2, 3).eval())


_A = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
NAMES = {
    "torch": torch,
    "F": F,
    "repdl": repdl,
    "A": _A + _A.T,
    "x": torch.randn(3, 4, generator=torch.Generator().manual_seed(2)),
    "y": _A[:3, :3],
    "q": _A[None, None],
    "i": torch.arange(16, dtype=torch.int8).reshape(4, 4),
    "mask": torch.eye(3, 4, dtype=torch.bool),
    "net": torch.nn.Sequential(torch.nn.Conv1d(1, 2, 1), torch.nn.BatchNorm1d(2)).eval(),
    "sparse": torch.eye(3, 4).to_sparse(),
    "scripted": _scripted(),
}


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # torch.jit
@pytest.mark.parametrize("call", sorted({remedy.call for remedy in remedies().values()}))
def test_it_runs(call: str) -> None:
    with repdl.reproducible(strict="error"):
        eval(call, dict(NAMES))


@pytest.mark.parametrize("op", ["sspaddmm", "hspmm"])
def test_it_gives_the_product_of_a_sparse_matrix(op: str) -> None:
    y, sparse, x = NAMES["y"], NAMES["sparse"], NAMES["x"]
    stock = torch.sspaddmm(y.to_sparse(), sparse, x.T) if op == "sspaddmm" else torch.hspmm(sparse, x.T)
    with repdl.reproducible(strict="error"):
        torch.testing.assert_close(eval(remedies()[op].call, dict(NAMES)), stock.to_dense())


def test_it_is_for_an_op_of_torch() -> None:
    known = {
        op_of(name)
        for key in ("CPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "CUDA")
        for name in registered_names(key)
    }
    assert not {op for op in remedies() if op_of(op) not in known}


def test_it_is_for_an_op_that_raises() -> None:
    assert not {op_of(op) for op in remedies()} & {op_of(name) for name in overrides}


def test_the_error_says_it() -> None:
    with repdl.reproducible(), pytest.raises(repdl.NotReproducibleError) as raised:
        torch._masked_softmax(_A, _A > 0)
    assert "Call torch.softmax(x.masked_fill(mask, -torch.inf), -1); or use `with repdl.allow_native" in str(
        raised.value
    )
    with repdl.reproducible(), pytest.raises(repdl.NotReproducibleError) as raised:
        without_kernel(_A)
    assert "No other call gives it here" in str(raised.value)


def _raised(call: Callable[[], object], rng: str = "philox") -> str:
    with repdl.reproducible(rng=rng), pytest.raises(repdl.NotReproducibleError) as raised:
        call()
    return str(raised.value)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_numbers_are_not_to_become_real_ones() -> None:
    half = torch.ones(4, dtype=torch.complex32)
    assert "Convert to complex64; or" in _raised(lambda: half.var())
    with repdl.reproducible():
        assert half.to(torch.complex64).var() == 0


def test_a_sampler_that_the_stream_of_torch_lacks_is_there_by_default() -> None:
    assert 'Draw with `repdl.enable(rng="philox")`' in _raised(lambda: torch.poisson(_A.abs()), rng="torch")
    with repdl.reproducible(rng="philox"):
        torch.poisson(_A.abs())


_Z = torch.ones(4, 4, dtype=torch.complex64)
_RANDOM = ["rrelu", "rrelu, training", "rrelu_, training"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.xlogy(_A, _Z),
        lambda: F.gelu(_Z),
        lambda: F.layer_norm(_Z, (4,)),
        lambda: F.elu(_Z.clone(), inplace=True),
        lambda: torch.erf(_Z, out=torch.empty_like(_Z)),
        lambda: F.embedding_bag(torch.tensor([[0, 1]]), _Z),
        lambda: F.rrelu(_Z),
        lambda: F.rrelu(_Z, training=True),
        lambda: F.rrelu(_Z.clone(), training=True, inplace=True),
        lambda: F.scaled_dot_product_attention(_A, _A, _A, _Z),
    ],
    ids=["xlogy", "gelu", "layer_norm", "elu_", "erf.out", "embedding_bag", *_RANDOM, "attention"],
)
def test_a_permission_is_none_where_torch_has_no_kernel(call: Callable[[], object]) -> None:
    """Then the error is torch's own, as without this library, and its note has the remedy."""
    with pytest.raises(RuntimeError) as stock:
        call()
    with repdl.reproducible(), pytest.raises(RuntimeError) as raised:
        call()
    assert type(raised.value) is type(stock.value) and str(raised.value) == str(stock.value)
    (note,) = raised.value.__notes__
    assert note.endswith("Compute with its parts, which torch.view_as_real gives.")


@pytest.mark.parametrize("rng", ["philox", "torch"])
def test_a_call_of_torch_for_its_error_leaves_no_traces(rng: str) -> None:
    """Neither in the generators, the default one among them, nor in what the op would write."""
    generator = torch.Generator().manual_seed(5)
    x, noise = torch.ones(3, dtype=torch.complex128), torch.zeros(3, dtype=torch.complex128)
    states = torch.get_rng_state(), generator.get_state()

    def draw(*args: object) -> torch.Tensor:
        torch.rand(4)
        torch.rand(4, generator=generator)
        x_given, noise_given = args[:2]
        assert isinstance(x_given, torch.Tensor) and isinstance(noise_given, torch.Tensor)
        noise_given.fill_(1)
        return x_given.add_(1)

    with repdl.reproducible(rng=rng), pytest.raises(repdl.NotReproducibleError):
        not_reproducible("rrelu_with_noise_", (x, noise, 0.1, 0.3, True, generator), {}, draw, "dtype")
    assert torch.equal(x, torch.ones_like(x)) and not noise.any()
    assert torch.equal(torch.get_rng_state(), states[0]) and torch.equal(generator.get_state(), states[1])


@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x.exponential_(),
        lambda x: x.geometric_(0.5),
        lambda x: x.cauchy_(),
        lambda x: x.log_normal_(),
        lambda x: x.random_(),
        lambda x: x.random_(0, 5),
        lambda x: x.bernoulli_(0.5),
        lambda x: torch.poisson(x),
        lambda x: torch.multinomial(x, 2),
        lambda x: torch._sample_dirichlet(x),
        lambda x: torch.normal(torch.zeros(4), x),
        lambda x: torch.randperm(5, dtype=x.dtype),
        lambda x: F.conv1d(x.abs().to(torch.uint16), x.abs().to(torch.uint16)),
    ],
)
def test_a_dtype_that_torch_lacks_is_an_error_of_its_kind(fill: Callable[[torch.Tensor], object]) -> None:
    with pytest.raises(RuntimeError):
        fill(_Z.clone())
    with repdl.reproducible(), pytest.raises(RuntimeError, match=r"complex|uint16"):
        fill(_Z.clone())
