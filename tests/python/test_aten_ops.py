# SPDX-License-Identifier: MIT
"""Every case of aten_cases.py in stock torch and under `repdl.enable()`: the same result but for its last bits.

That is: the same shapes, dtypes, strides, or error; and values and gradients as near to stock torch's in float64 as
stock torch's own, within a small factor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import repdl
from aten_cases import CASES, NOT_CALLED, NOT_REPRODUCIBLE, Case, Leaf, functional_names
from support import same_bits

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "plain": lambda x: x.clone(),
    "spread": lambda x: x.new_zeros(*x.shape[:-1], 2 * x.shape[-1])[..., ::2].copy_(x) if x.dim() else x.clone(),
    "turned": lambda x: x.mT.contiguous().mT if x.dim() > 1 else x.clone(),
}
VARIANTS = {
    "plain": (torch.float32, "plain"),
    "turned": (torch.float32, "turned"),
    "bfloat16": (torch.bfloat16, "spread"),
    "float16": (torch.float16, "plain"),
}
TOLERANCE = {torch.float32: 16 * 2.0**-23, torch.float16: 3 * 2.0**-10, torch.bfloat16: 3 * 2.0**-7, torch.float64: 0.0}
"""What a result may be off by, relative to the largest, beyond twice torch's own error."""


class Outcome:
    """What a call gave: tensors, their gradients and those of the gradients; or an error."""

    def __init__(self, case: Case, variant: str, exact: bool = False) -> None:
        narrow, layout = VARIANTS[variant]
        dtype = torch.float64 if exact else narrow
        self.error: BaseException | None = None
        self.values: list[Any] = []
        self.grads: list[torch.Tensor | None] = []
        self.second: list[torch.Tensor | None] | None = None
        leaves: list[torch.Tensor] = []

        def filled(value: Leaf | torch.Tensor) -> torch.Tensor:
            if isinstance(value, torch.Tensor):
                return value.to(narrow).to(dtype)
            leaves.append(LAYOUTS[layout](value.values.to(narrow).to(dtype)).requires_grad_())
            return leaves[-1]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.values = _flat(case.run(filled))
                self._differentiate([v for v in self.values if isinstance(v, torch.Tensor)], leaves, variant == "plain")
            except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
                self.error = error

    def _differentiate(self, outputs: list[torch.Tensor], leaves: list[torch.Tensor], twice: bool) -> None:
        outputs = [v for v in outputs if v.requires_grad]
        if not outputs:
            return
        grads = torch.autograd.grad(
            outputs, leaves, [_weights(v) for v in outputs], allow_unused=True, create_graph=twice
        )
        self.grads = list(grads)
        curved = [g for g in grads if g is not None and g.requires_grad]
        if not curved:
            return
        try:
            self.second = list(torch.autograd.grad(curved, leaves, [_weights(g) for g in curved], allow_unused=True))
        except repdl.NotReproducibleError:
            raise
        except RuntimeError:  # torch has no second derivative of some ops
            self.second = None


def _flat(result: Any) -> list[Any]:
    return [v for item in result for v in _flat(item)] if isinstance(result, (list, tuple)) else [result]


def _weights(like: torch.Tensor) -> torch.Tensor:
    """Gradients that differ from each other and are exact in every dtype."""
    return ((torch.arange(like.numel()) % 7 - 3).to(like.dtype) / 4).reshape(like.shape)


def variants_of(case: Case) -> list[str]:
    def varies(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return any(map(varies, value))
        return isinstance(value, Leaf) or (isinstance(value, torch.Tensor) and value.is_floating_point())

    return list(VARIANTS) if any(map(varies, [*case.args, *case.kwargs.values()])) else ["plain"]


@pytest.fixture(scope="module")
def stock() -> Iterator[dict[tuple[str, str], Any]]:
    """What stock torch gives for every case, and in float64; taken before anything is enabled."""
    torch.set_num_threads(1)
    results: dict[tuple[str, str], Any] = {
        (name, variant): (Outcome(case, variant), Outcome(case, variant, exact=True))
        for name, case in CASES.items()
        for variant in variants_of(case)
    }
    results |= {(name, "out"): into_outs(name) for name in WITH_OUT}
    results |= {(name, "refusal"): refusal(name) for name in REFUSALS}
    with repdl.reproducible(rng="torch"):
        yield results


@pytest.mark.parametrize("name", CASES)
def test_like_torch(name: str, stock: Any) -> None:
    case = CASES[name]
    outcomes = {variant: Outcome(case, variant) for variant in variants_of(case)}
    refused = [o.error for o in outcomes.values() if isinstance(o.error, repdl.NotReproducibleError)]
    assert not refused or name in NOT_REPRODUCIBLE, refused[0]
    assert refused or name not in NOT_REPRODUCIBLE, f"{name} runs: shorten NOT_REPRODUCIBLE"
    for variant, ours in outcomes.items():
        if not refused:
            _compare(f"{name} ({variant})", case, ours, *stock[name, variant], VARIANTS[variant][0])


def _compare(name: str, case: Case, ours: Outcome, stock: Outcome, exact: Outcome, dtype: torch.dtype) -> None:
    if stock.error is not None and not name.endswith("(plain)"):
        return  # ours may run where torch lacks a dtype or a layout
    if stock.error is not None or ours.error is not None:
        assert type(ours.error) is type(stock.error), f"{name}: {ours.error!r}, torch: {stock.error!r}"
        return
    assert len(ours.values) == len(stock.values)
    dtypes = [
        dtype,
        *(v.dtype for v in stock.values if isinstance(v, torch.Tensor)),
        *(g.dtype for g in stock.grads if g is not None),
    ]
    rounding = max(TOLERANCE.get(d, 0.0) for d in dtypes)
    reference = None if case.random or exact.error else exact
    for i, (a, b) in enumerate(zip(ours.values, stock.values, strict=True)):
        if not isinstance(b, torch.Tensor):
            assert a == b, name
            continue
        assert a.shape == b.shape and a.dtype == b.dtype, f"{name}: {a.shape} {a.dtype}, torch: {b.shape} {b.dtype}"
        assert a.stride() == b.stride(), f"{name}: strides {a.stride()}, torch {b.stride()} of {tuple(b.shape)}"
        _near(f"{name} result {i}", a, b, reference and reference.values[i], rounding)
    _near_all(f"{name} gradient", ours.grads, stock.grads, reference and reference.grads, rounding)
    if stock.second is not None:
        assert ours.second is not None, f"{name} has no second gradient"
        # It is the work of many more steps, and terms of the size of the gradients may cancel.
        terms = max(map(_largest, stock.grads), default=0.0)
        second = reference and reference.second
        _near_all(f"{name} second gradient", ours.second, stock.second, second, 4 * rounding, terms)


def _largest(gradient: torch.Tensor | None) -> float:
    if gradient is None or gradient.numel() == 0:
        return 0.0
    size = gradient.detach().abs()
    return float(size[size.isfinite()].max()) if bool(size.isfinite().any()) else 0.0


def _near_all(name: str, ours: Any, stock: Any, exact: Any, rounding: float, terms: float = 0) -> None:
    for i, (a, b) in enumerate(zip(ours, stock, strict=True)):
        assert (a is None) == (b is None), f"{name} {i}: {a}, torch: {b}"
        if b is not None:
            assert a.shape == b.shape and a.dtype == b.dtype, f"{name} {i}"
            _near(f"{name} {i}", a, b, exact and exact[i], rounding, terms)


def _near(name: str, ours: torch.Tensor, stock: torch.Tensor, exact: Any, rounding: float, terms: float = 0) -> None:
    """Tells an error above twice torch's and some roundings of the largest number, or of the terms that made it."""
    if ours.is_complex():
        ours, stock = torch.view_as_real(ours), torch.view_as_real(stock)
        exact = None if exact is None else torch.view_as_real(exact)
    if not ours.is_floating_point():
        assert torch.equal(ours, stock), f"{name}: {ours}, torch: {stock}"
        return
    a, b = ours.detach().double(), stock.detach().double()
    e = b if exact is None else exact.detach().double()
    if a.numel() == 0:
        return
    # Where float64 does not overflow and a narrower dtype does, torch is the reference.
    e = torch.where(b.isfinite() & e.isfinite(), e, b)
    odd = ~e.isfinite()
    assert torch.equal(a[odd].nan_to_num(), e[odd].nan_to_num()), f"{name}: {a[odd]}, torch: {e[odd]}"
    assert bool(a[~odd].isfinite().all()), f"{name} is not finite where torch is: {a[~odd]}, torch: {e[~odd]}"
    if bool(odd.all()):
        return
    largest = float(e[~odd].abs().max())
    error, torchs = (float((v - e)[~odd].abs().max()) for v in (a, b))
    allowed = 2 * torchs + rounding * max(largest, terms) + torch.finfo(torch.float32).smallest_normal
    assert error <= allowed, f"{name}: error {error:.3g}, torch's {torchs:.3g}, largest {largest:.3g}"


A, B, SQUARE = torch.linspace(0.1, 2, 12).reshape(3, 4), torch.linspace(-1, 1, 12).reshape(3, 4), torch.eye(3) + 0.5
WITH_OUT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "exp": (torch.exp, (A,)),
    "sqrt": (torch.sqrt, (A,)),
    "sigmoid": (torch.sigmoid, (B,)),
    "add": (torch.add, (A, B)),
    "mul": (torch.mul, (A, B)),
    "div": (torch.div, (A, 3)),
    "pow": (torch.pow, (A, 1.5)),
    "square": (torch.pow, (B, 2)),
    "cube": (torch.pow, (B, 3)),
    "pow of tensors": (torch.pow, (A, B)),
    "pow of a number": (torch.pow, (2.0, B)),
    "addcmul": (torch.addcmul, (A, A, B)),
    "lerp": (torch.lerp, (A, B, 0.3)),
    "atan2": (torch.atan2, (A, B)),
    "mm": (torch.mm, (SQUARE, A)),
    "addmm": (torch.addmm, (A, SQUARE, A)),
    "bmm": (torch.bmm, (SQUARE[None], A[None])),
    "mv": (torch.mv, (A, A[0])),
    "matmul": (torch.matmul, (SQUARE, A)),
    "sum": (torch.sum, (A, 1)),
    "mean": (torch.mean, (A, 1)),
    "prod": (torch.prod, (A, 1)),
    "logsumexp": (torch.logsumexp, (A, 1)),
    "cumsum": (torch.cumsum, (A, 1)),
    "norm": (torch.linalg.vector_norm, (A, 2, 1)),
    "var": (torch.var, (A, 1)),
    "softmax": (torch.softmax, (A, 1)),
    "linspace": (torch.linspace, (0, 1, 7)),
    "sinc": (torch.sinc, (B,)),
    "renorm": (torch.renorm, (A, 2, 0, 1.0)),
    "index_select": (torch.index_select, (A, 0, torch.tensor([0, 2]))),
}


@pytest.mark.parametrize("exponent", [2, 2.0, 3, 3.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_small_powers_are_products(dtype: torch.dtype, exponent: float) -> None:
    """In every layout. Each product is rounded to the type; the cube of a 16-bit number is rounded to it once."""
    numbers = torch.randn(40, 6, generator=torch.Generator().manual_seed(1)).to(dtype)
    with repdl.reproducible():
        for x in (numbers, numbers[::2].t(), numbers[0, 0], numbers[:, 1:4]):
            wide = x.float() if dtype.itemsize == 2 else x
            power = x * x if exponent == 2 else (wide * wide * wide).to(dtype)
            assert same_bits(x**exponent, power)
            assert same_bits(x.clone().pow_(exponent), power)
            assert (x**exponent).stride() == (x + 1).stride()


def into_outs(name: str) -> list[Any]:
    """Into tensors of the right shape, turned, of another dtype, of none, of a wrong shape, of integers."""
    function, args = WITH_OUT[name]
    like = function(*args)
    found: list[Any] = []
    for out in (
        torch.empty_like(like),
        torch.empty(like.shape[::-1]).permute(*reversed(range(like.dim()))),
        torch.empty(like.shape, dtype=torch.float64),
        torch.empty(like.shape, dtype=torch.bfloat16),
        torch.empty(0),
        torch.empty(2, 5),
        torch.empty(like.shape, dtype=torch.int64),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                assert function(*args, out=out) is out
                found.append((out, out.dtype, out.shape, out.stride(), [str(w.message)[:40] for w in caught]))
            except RuntimeError as error:
                found.append((None, type(error)))
    return found


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str, stock: Any) -> None:
    """The same tensors, and the same warnings."""
    for i, (a, b) in enumerate(zip(into_outs(name), stock[name, "out"], strict=True)):
        if i == 6 and name in ("sum", "prod"):  # torch sums the integers, ours refuse
            continue
        assert a[1:] == b[1:], f"{name} {i}"
        if b[0] is not None:
            rounding = 1e-2 if a[0].dtype == torch.bfloat16 else 1e-5
            assert torch.allclose(a[0].double(), b[0].double(), rtol=rounding, atol=1e-6), f"{name} {i}"


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.bool])
def test_powers_of_integers_are_those_of_their_numbers(dtype: torch.dtype) -> None:
    """Where base or exponent is not whole. torch's own kernels of these depend on the instruction set."""
    x = (torch.arange(5000) % (1 << 8 * min(dtype.itemsize, 2))).to(dtype)
    number = x.float()
    with repdl.reproducible():
        for exponent in (0.75, -0.3, 1.3, 0.5, 2.0, 3.0, -1.0, 1.0, 0.0):
            assert same_bits(x**exponent, number**exponent)
            assert same_bits(torch.pow(x, exponent, out=torch.empty(5000)), number**exponent)
            assert same_bits(torch.pow(x, torch.tensor(exponent)), torch.pow(number, torch.tensor(exponent)))
        for base in (0.99, 0.9999, 1.0):
            assert same_bits(base**x, torch.pow(torch.tensor(base), number))
            assert same_bits(torch.pow(torch.tensor(base), x), torch.pow(torch.tensor(base), number))
        if dtype != torch.bool:
            assert torch.equal(x**3, x * x * x) and (x**3).dtype == dtype
            assert torch.equal(torch.pow(x % 9, x % 3), (x % 9).double().pow(x % 3).to(dtype))
        assert torch.equal(2 ** (x % 3), torch.tensor([1, 2, 4])[(x % 3).long()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_topk_takes_the_first_of_equals(dtype: torch.dtype) -> None:
    with repdl.reproducible():
        values, indices = torch.topk(torch.tensor([1, 2] * 20).to(dtype), 3)
    assert values.dtype == dtype and indices.tolist() == [1, 3, 5]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("largest", [False, True])
def test_topk_is_the_head_of_a_stable_sort(dim: int, largest: bool) -> None:
    drawn = torch.Generator().manual_seed(3)
    few = torch.randint(-3, 4, (100, 90), generator=drawn).float() * 0.5
    zeros = torch.where(few == 0.5, -0.0, torch.where(few == 1, 0.0, few))
    odd = torch.where(few == 1.5, torch.inf, torch.where(few == -1, -torch.inf, few))
    with repdl.reproducible():
        for x in (few, zeros, odd, few.bfloat16(), few.long(), torch.where(few == 1.5, torch.nan, few)):
            for k in (1, 3, 11, 12, 60, 0):
                values, indices = torch.sort(x, stable=True, dim=dim, descending=largest)
                got = torch.topk(x, k, dim, largest)
                assert same_bits(got.values, values.narrow(dim, 0, k))
                assert torch.equal(got.indices, indices.narrow(dim, 0, k)) and got.values.is_contiguous()


REFUSALS: dict[str, Callable[[], Any]] = {
    "mm of shapes": lambda: torch.mm(A, A),
    "mm of ranks": lambda: torch.mm(A, A[0]),
    "mm of dtypes": lambda: torch.mm(SQUARE, A.bfloat16()),
    "bmm of batches": lambda: torch.bmm(SQUARE.expand(2, 3, 3), A.expand(3, 3, 4)),
    "addmm of shapes": lambda: torch.addmm(torch.ones(5), SQUARE, A),
    "dot of shapes": lambda: torch.dot(A[0], SQUARE[0]),
    "linear of shapes": lambda: torch.nn.functional.linear(A, A.t()),
    "mean of int": lambda: torch.mean(torch.tensor([1, 2])),
    "mean of int along": lambda: torch.mean(torch.tensor([[1, 2]]), 1),
    "softmax of int": lambda: torch.softmax(torch.tensor([1, 2]), 0),
    "var of int": lambda: torch.var(torch.tensor([1, 2])),
    "norm of int": lambda: torch.linalg.vector_norm(torch.tensor([1, 2])),
    "sum along a dimension too many": lambda: A.sum(2),
    "softmax along a dimension too many": lambda: A.softmax(2),
    "topk of too many": lambda: A.topk(9),
    "shapes that do not broadcast": lambda: A + SQUARE,
    "exp_ of int": lambda: torch.tensor([1, 2]).exp_(),
    "div_ of int": lambda: torch.tensor([1, 2]).div_(2),
    "add_ that grows": lambda: A[0].clone().add_(A),
    "alpha of integers": lambda: torch.add(torch.tensor(1), torch.tensor(2), alpha=0.5),
    "conv2d of channels": lambda: torch.nn.functional.conv2d(torch.ones(1, 3, 5, 5), torch.ones(2, 4, 3, 3)),
    "conv2d of ranks": lambda: torch.nn.functional.conv2d(A, torch.ones(2, 4, 3, 3)),
    "conv_transpose2d of too much output_padding": lambda: torch.nn.functional.conv_transpose2d(
        torch.ones(1, 2, 3, 3), torch.ones(2, 1, 3, 3), stride=2, output_padding=2
    ),
    "conv3d of a kernel too deep": lambda: torch.nn.functional.conv3d(
        torch.ones(1, 1, 2, 4, 4), torch.ones(1, 1, 3, 2, 2)
    ),
    "conv3d of channels": lambda: torch.nn.functional.conv3d(torch.ones(1, 3, 5, 5, 5), torch.ones(2, 4, 3, 3, 3)),
    "qr of a vector": lambda: torch.linalg.qr(A[0]),
    "inverse of a flat matrix": lambda: torch.linalg.inv(A),
    "inverse of no matrix": lambda: torch.linalg.inv(torch.zeros(2, 2)),
    "cholesky of a flat matrix": lambda: torch.linalg.cholesky(A),
    "solve of shapes": lambda: torch.linalg.solve(SQUARE, SQUARE[:2]),
    "solve_triangular of shapes": lambda: torch.linalg.solve_triangular(SQUARE, SQUARE[:2], upper=True),
    "a histogram of falling edges": lambda: torch.histogram(A, 3, range=(2.0, 1.0)),
    "normal of a negative deviation": lambda: torch.normal(0.0, -1.0, (3,)),
    "nll_loss of a class too many": lambda: torch.nn.functional.nll_loss(A, torch.tensor([0, 4, 1])),
    "cross_entropy of shapes": lambda: torch.nn.functional.cross_entropy(A, torch.tensor([0, 1])),
    "bce outside": lambda: torch.nn.functional.binary_cross_entropy(B, A),
    "bce outside, of each": lambda: torch.nn.functional.binary_cross_entropy(
        torch.tensor([0.5, 1.5]), torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0]), reduction="none"
    ),
    "bilinear of shapes": lambda: torch.nn.functional.bilinear(A, A, torch.ones(2, 3, 4)),
    "embedding outside": lambda: torch.nn.functional.embedding(torch.tensor([9]), A),
    "embedding_bag outside": lambda: torch.nn.functional.embedding_bag(torch.tensor([[9]]), A),
    "index outside": lambda: A[torch.tensor([5])],
    "assignment outside": lambda: A.clone().index_put_((torch.tensor([5]),), torch.tensor(1.0)),
    "gather outside": lambda: A.gather(0, torch.tensor([[7]])),
    "layer_norm of shapes": lambda: torch.nn.functional.layer_norm(A, (3,)),
    "group_norm of groups": lambda: torch.nn.functional.group_norm(torch.ones(1, 3, 4), 2),
    "batch_norm of shapes": lambda: torch.nn.functional.batch_norm(A, torch.ones(3), torch.ones(3)),
    "histc of a falling range": lambda: torch.histc(A, 3, 2, 1),
    "multi_margin_loss outside": lambda: torch.nn.functional.multi_margin_loss(A, torch.tensor([0, 4, 1])),
    "multi_margin_loss of a power": lambda: torch.nn.functional.multi_margin_loss(A, torch.tensor([0, 3, 1]), p=3),
    "multilabel_margin_loss outside": lambda: torch.nn.functional.multilabel_margin_loss(
        A, torch.full(A.shape, A.shape[1])
    ),
    "ctc_loss of too many steps": lambda: torch.nn.functional.ctc_loss(
        A[:, None], torch.tensor([[1]]), torch.tensor([9]), torch.tensor([1])
    ),
}


def refusal(name: str) -> type[BaseException]:
    try:
        REFUSALS[name]()
    except Exception as error:
        return type(error)
    raise AssertionError(f"{name} is accepted")


@pytest.mark.parametrize("name", REFUSALS)
def test_bad_input(name: str, stock: Any) -> None:
    """The type of error that torch raises."""
    assert refusal(name) is stock[name, "refusal"]


def test_every_functional_has_a_case() -> None:
    called = {case.name.split()[0].removeprefix("F.") for case in CASES.values() if case.name.startswith("F.")}
    names = set(functional_names())
    assert names == (called | NOT_CALLED.keys()) & names  # a version of torch may lack one
