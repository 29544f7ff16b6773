# SPDX-License-Identifier: MIT
"""Calls that the core does before torch hands them to Python give what the same kernels give as Python functions."""

from __future__ import annotations

import math
import resource
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

import repdl
from aten_cases import CASES, Case, Leaf
from repdl.interception import registration
from support import same_bits

NUMBERS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, -1e-40, 1.0, 2.5, -3.0, 1e38, 5e-39, 0.1, 7.0, 8.0, 9.0)


def hostile() -> dict[str, torch.Tensor]:
    x = torch.tensor(NUMBERS).reshape(4, 4)
    return {
        "rows": x,
        "columns": x.t(),
        "strided": torch.cat([x, x])[::2],
        "repeated": x[:, :1].expand(4, 4),
        "behind": torch.cat([x.flatten(), x.flatten()])[1:17].reshape(4, 4),
        "negated": torch.complex(x, x).conj().imag,
        "none": torch.empty(0, 4),
        "float64": x.double(),
        "bfloat16": x.bfloat16(),
        "float16": x.half(),
        "integers": torch.arange(16).reshape(4, 4),
        "truth values": x > 0,
        "complex": x.to(torch.complex64),
        "9 dimensions": x.reshape(1, 1, 1, 1, 1, 1, 2, 2, 4),
        "parameter": torch.nn.Parameter(x.clone()),
        "large": x.repeat(8, 8),
        "sparse": x.to_sparse(),
    }


def beside() -> dict[str, Any]:
    """Numbers, and tensors that count as one."""
    return {
        "2": 2, "0.1": 0.1, "-0.0": -0.0, "NaN": math.nan, "2^60 + 1": 2**60 + 1, "1e300": 1e300,
        "True": True, "1j": 1j,
        "one float32": torch.tensor(0.1), "one float64": torch.tensor(0.1, dtype=torch.float64),
        "one bfloat16": torch.tensor(0.1).bfloat16(), "one integer": torch.tensor(2**60 + 1),
        "one truth value": torch.tensor(True), "a float64 in a row": torch.tensor([0.1], dtype=torch.float64),
    }  # fmt: skip


Outcome = tuple[list[tuple[torch.Tensor, tuple[int, ...]]], str]


def outcome(call: Callable[[], Any]) -> Outcome:
    """The tensors of the result with their strides, and the error."""
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = [t for t in tree_leaves(call()) if isinstance(t, torch.Tensor) and t.layout == torch.strided]
        except Exception as error:
            return [], f"{type(error).__name__}: {str(error).splitlines()[:1]}"  # behind it torch may list kernels
    return [(t.detach().clone(), t.stride()) for t in found], ""


def alike(one: Outcome, other: Outcome) -> bool:
    pairs = zip(one[0], other[0], strict=False)
    strides = [s for _, s in one[0]] == [s for _, s in other[0]]
    return one[1] == other[1] and strides and all(same_bits(a, b) for (a, _), (b, _) in pairs)


def differing(calls: dict[str, Callable[[], Any]], monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[str]:
    """The calls that have another outcome where all kernels are Python functions."""
    with repdl.reproducible(**settings):
        direct = {name: outcome(call) for name, call in calls.items()}
    with monkeypatch.context() as patch:
        patch.setattr(registration, "_reads_calls", lambda: False)
        with repdl.reproducible(**settings):
            return [name for name, call in calls.items() if not alike(direct[name], outcome(call))]


def of_one(x: torch.Tensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in ("exp", "relu", "lgamma", "reciprocal"):
        function, in_place = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
        yield name, lambda f=function: f(x)
        yield f"{name}_", lambda f=in_place: f(x.detach().clone())
        for what, out in {
            "out": torch.empty(4, 4),
            "columns": torch.empty(4, 4).t(),
            "empty": torch.empty(0),
            "float64": torch.empty(4, 4, dtype=torch.float64),
            "integers": torch.empty(4, 4, dtype=torch.int64),
        }.items():
            yield f"{name}, out: {what}", lambda f=function, out=out: f(x, out=out.detach().clone())
    classes, weight = torch.tensor([0, 1, 3, 2]), torch.tensor([1.0, 2.0, -0.0, 3.0])
    for dim in (0, -1, 5):
        yield f"softmax, {dim}", lambda dim=dim: torch.softmax(x, dim)
        yield f"logsumexp, {dim}", lambda dim=dim: torch.logsumexp(x, [dim], True)
        yield f"topk, {dim}", lambda dim=dim: torch.topk(x, 2, dim)
        yield f"amax, {dim}", lambda dim=dim: torch.amax(x, dim)
    yield "amax of all", lambda: torch.amax(x)
    yield "logit", lambda: torch.logit(x, 0.1)
    yield "layer_norm", lambda: F.layer_norm(x, (4,), weight, weight, 1e-3)
    for reduction in ("mean", "sum", "none"):
        yield f"nll_loss, {reduction}", lambda how=reduction: F.nll_loss(x, classes, weight, None, 3, None, how)
        yield f"cross_entropy, {reduction}", lambda how=reduction: F.cross_entropy(x, classes, reduction=how)
    yield "nll_loss of no class", lambda: F.nll_loss(x, classes + 2)
    yield "mm", lambda: torch.mm(x, x)
    yield "mm, out", lambda: torch.mm(x, x, out=torch.empty(4, 4))
    yield "dropout", lambda: F.dropout(x, 0.3)
    for name, arguments in (
        ("uniform_", (-0.0, 2.0)),
        ("uniform_", (2.0, 1.0)),
        ("normal_", ()),
        ("normal_", (-0.0, 1.0)),
        ("normal_", (0.0, -1.0)),
        ("exponential_", (2.0,)),
        ("bernoulli_", (0.3,)),
        ("bernoulli_", (1.5,)),
    ):
        draw = lambda f, a=arguments, **options: f(*a, **options)  # noqa: E731
        yield f"{name}{arguments}", lambda n=name, d=draw: d(getattr(x.detach().clone(), n))
        yield (
            f"{name}{arguments}, of a generator",
            lambda n=name, d=draw: d(getattr(x.detach().clone(), n), generator=torch.Generator().manual_seed(5)),
        )


@pytest.mark.parametrize("settings", [{}, {"order": "sequential", "rng": "torch"}], ids=str)
def test_of_one_tensor(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {f"{name}: {what}": call for what, x in hostile().items() for name, call in of_one(x)}
    assert not differing(calls, monkeypatch, **settings)


def test_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    operands = hostile() | beside()
    calls: dict[str, Callable[[], Any]] = {}
    for first, a in operands.items():
        for second, b in operands.items():
            if not isinstance(a, torch.Tensor):
                continue
            for name in ("mul", "div", "atan2"):
                function, in_place = getattr(torch, name), getattr(torch.Tensor, f"{name}_", None)
                calls[f"{name}: {first}, {second}"] = lambda f=function, a=a, b=b: f(a, b)
                calls[f"{name}, the other way: {first}, {second}"] = lambda f=function, a=a, b=b: f(b, a)
                calls[f"{name}, out: {first}, {second}"] = lambda f=function, a=a, b=b: f(a, b, out=torch.empty(4, 4))
                if in_place is not None:
                    calls[f"{name}_: {first}, {second}"] = lambda f=in_place, a=a, b=b: f(a.detach().clone(), b)
    assert not differing(calls, monkeypatch)


def with_numbers(x: torch.Tensor, number: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls with arguments that torch calls a Scalar, and with lists beside them."""
    y = torch.tensor(NUMBERS[::-1]).reshape(4, 4)
    for name in ("add", "sub"):
        function, in_place = getattr(torch, name), getattr(torch.Tensor, f"{name}_")
        for other in (y, y[0], 3, True, 0.5):
            yield f"{name}, {other}", lambda f=function, other=other: f(x, other, alpha=number)
        yield f"{name}_", lambda f=in_place: f(x.detach().clone(), y, alpha=number)
        yield f"{name}_ of itself", lambda f=in_place: f(*[x.detach().clone()] * 2, alpha=number)
        yield f"{name}, out", lambda f=function: f(x, y, alpha=number, out=torch.empty(4, 4))
    yield "addcmul_", lambda: x.detach().clone().addcmul_(y, y, value=number)
    yield "lerp", lambda: torch.lerp(x, y, number)
    yield "pow", lambda: torch.pow(x, number)
    yield "pow, the other way", lambda: torch.pow(number, x)
    yield "clamp", lambda: torch.clamp(x, number)
    yield "clamp to", lambda: torch.clamp(x, -1, max=number)
    yield "elu", lambda: F.elu(x, number)
    yield "addmm", lambda: torch.addmm(y, x, y, beta=number, alpha=2)
    for dim in (None, 1, (0, -1), (), (0, 0), 2):
        yield f"std, {dim}", lambda dim=dim: torch.std(x, dim, correction=number)
        yield f"var, {dim}", lambda dim=dim: torch.var(x, dim, correction=number, keepdim=True)
        yield f"norm, {dim}", lambda dim=dim: torch.linalg.vector_norm(x, number, dim)


@pytest.mark.parametrize("number", [n for n in beside().values() if not isinstance(n, torch.Tensor)], ids=str)
def test_numbers(number: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {f"{name}: {what}": call for what, x in hostile().items() for name, call in with_numbers(x, number)}
    assert not differing(calls, monkeypatch)


def test_types_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, Callable[[], Any]] = {}
    for what, x in hostile().items():
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64):
            for name in ("sum", "mean", "cumsum", "softmax"):
                for dim in (1, -3):
                    function = getattr(torch, name)
                    calls[f"{name}, {dim}, {dtype}: {what}"] = lambda f=function, x=x, d=dim, t=dtype: f(x, d, dtype=t)
    assert not differing(calls, monkeypatch)


def test_calls_let_go_of_their_arguments() -> None:
    x, y, number = torch.rand(4, 4), torch.rand(4, 4), torch.tensor(0.5)
    classes = torch.arange(4)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: torch.add(x, y, alpha=0.5), lambda: y.zero_().add_(x, alpha=2), lambda: torch.exp(x, out=y),
        lambda: torch.sum(x, [0, 1]), lambda: torch.std(x, (0, 1)), lambda: F.nll_loss(x, classes),
        lambda: torch.mul(x, number), lambda: F.layer_norm(x, (4,), y[0], y[1]),
    )  # fmt: skip
    held = (x, y, number, classes)
    with repdl.reproducible(), torch.no_grad():
        for call in calls:
            call()
        before = [t._use_count() for t in held]
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for call in calls:
            for _ in range(20000):
                call()
    assert [t._use_count() for t in held] == before
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 1000  # a list for each call would take more


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_every_case(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(case: Case) -> Any:
        return case.run(lambda value: (value.values if isinstance(value, Leaf) else value).to(dtype))

    assert not differing({name: lambda case=case: call(case) for name, case in CASES.items()}, monkeypatch)


def test_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    def network(x: torch.Tensor, calls: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        leaf = x.detach().clone().requires_grad_()
        return torch.autograd.grad(calls(leaf).sum(), [leaf])

    steps: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        lambda x: F.cross_entropy(F.layer_norm(torch.tanh(x), (4,)), torch.tensor([0, 1, 3, 2])),
        lambda x: torch.sigmoid(x) * F.silu(x) / 3.0,
        lambda x: torch.atan2(F.gelu(x), x).mm(x.t()),
    )
    calls = {
        f"{what}, {i}": lambda x=x, step=step: network(x, step)
        for what, x in hostile().items()
        for i, step in enumerate(steps)
    }
    assert not differing(calls, monkeypatch)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_an_error_of_a_kernel_is_told_as_it_is() -> None:
    x = torch.rand(2, 2)
    with repdl.reproducible():
        with pytest.raises(IndexError, match="out of bounds"):
            F.nll_loss(x, torch.tensor([0, 2]))
        with pytest.raises(repdl.NotReproducibleError, match="complex32"):
            x.to(torch.complex32).var()
        with pytest.raises(RuntimeError, match="mat2 must be a matrix"):
            torch.mm(x, x[0])
        y = x.clone().requires_grad_()
        z = F.nll_loss(torch.log_softmax(y, 1), torch.tensor([0, 1]))
        y.register_hook(lambda grad: grad.to(torch.complex32).var())
        with pytest.raises(repdl.NotReproducibleError, match="complex32"):
            z.backward()


def test_the_order_of_a_block_is_that_of_its_thread() -> None:
    rows = torch.randn(1, 250, generator=torch.Generator().manual_seed(4))
    calls = {"logsumexp": lambda: torch.logsumexp(rows, 1), "softmax": lambda: torch.softmax(rows, 1)}
    with repdl.reproducible():
        blocked = {name: call() for name, call in calls.items()}
        with repdl.order("sequential"):
            sequential = {name: call() for name, call in calls.items()}
            elsewhere: dict[str, torch.Tensor] = {}
            thread = threading.Thread(target=lambda: elsewhere.update({n: call() for n, call in calls.items()}))
            thread.start()
            thread.join()
    assert all(same_bits(elsewhere[name], blocked[name]) for name in calls)
    assert not all(same_bits(sequential[name], blocked[name]) for name in calls)


def test_threads_draw_and_compute_at_once() -> None:
    x = torch.linspace(-2, 2, 16).reshape(4, 4)
    with repdl.reproducible():
        expected = torch.softmax(torch.exp(x), 1)
        wrong: list[int] = []

        def work(seed: int) -> None:
            generator = torch.Generator().manual_seed(seed)
            first = torch.empty(4, 4).normal_(generator=generator)
            for _ in range(300):
                again = torch.empty(4, 4).normal_(generator=generator.manual_seed(seed))
                torch.rand(2, 2)
                if not same_bits(again, first) or not same_bits(torch.softmax(torch.exp(x), 1), expected):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


@pytest.mark.skipif(sys.platform != "linux", reason="torch's functions are looked for in its libraries for Linux")
def test_torch_has_what_it_takes() -> None:
    assert registration._reads_calls()


SPREADS: dict[str, Callable[[], Any]] = {
    "one": lambda: torch.ones(1).std(),
    "one of each": lambda: torch.ones(1, 4).var(0),
    "as many as the correction": lambda: torch.ones(3).std(correction=3),
    "none": lambda: torch.ones(0).std(),
    "none of each": lambda: torch.ones(2, 0).var(1),
    "of nothing": lambda: torch.ones(0, 3).var(1),
    "with the mean": lambda: torch.std_mean(torch.ones(1)),
    "float64": lambda: torch.ones(1).double().var(),
    "bfloat16": lambda: torch.ones(1).bfloat16().std(),
    "into a tensor": lambda: torch.std(torch.ones(1), 0, out=torch.empty(())),
    "with a gradient": lambda: torch.ones(1, requires_grad=True).std(),
    "enough": lambda: torch.ones(2).std(),
    "without correction": lambda: torch.ones(1).std(correction=0),
}


@pytest.mark.parametrize("name", SPREADS)
def test_a_spread_of_too_few_numbers_warns_as_torchs(name: str) -> None:
    def warned() -> list[tuple[str, str]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            SPREADS[name]()
        return [(str(w.message).split(" (Triggered")[0], w.filename) for w in found]

    expected = warned()
    with repdl.reproducible():
        assert warned() == expected
