# SPDX-License-Identifier: MIT
"""`repdl.audit`: which ops a program calls, what is said of each, and that nothing is left behind."""

from __future__ import annotations

import inspect
import json
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import repdl
from complex_places import SAMPLED, at_places
from repdl.interception import Report, Row, settings
from support import WITHOUT_KERNEL, same_bits, without_kernel

X = torch.linspace(-3, 3, 24).reshape(4, 6)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    if repdl.is_enabled():
        repdl.disable()
        pytest.fail("left enabled")


def rows(report: Report, op: str) -> list[Row]:
    return [row for row in report if row.op == op]


def the(report: Report, op: str) -> Row:
    (row,) = rows(report, op)
    return row


def here() -> str:
    """The caller's line, as a report has it."""
    frame = inspect.stack()[1]
    return f"test_audit.py:{frame.lineno}"


@pytest.mark.parametrize(
    ("function", "op", "kind"),
    [
        (lambda x: x @ x.T, "aten::mm", "reproducible"),
        (torch.exp, "aten::exp", "reproducible"),
        (lambda x: x.clone().exp_(), "aten::exp_", "reproducible"),
        (lambda x: torch.exp(x, out=torch.empty(0)), "aten::exp.out", "reproducible"),
        (lambda x: x.exp().sum().to(torch.float64), "aten::sum", "reproducible"),
        (lambda x: x.long().sum(), "aten::sum", "guarded"),
        (lambda x: x + x, "aten::add.Tensor", "guarded"),
        (lambda x: torch.add(x, x, alpha=2), "aten::add.Tensor", "guarded"),
        (lambda x: x.double() ** 2, "aten::pow.Tensor_Scalar", "guarded"),
        (lambda x: x * 2, "aten::mul.Tensor", "exact"),
        (lambda x: x.clone(), "aten::clone", "exact"),
        (without_kernel, WITHOUT_KERNEL, "not"),
        (lambda x: at_places(), SAMPLED, "not"),
        (lambda x: torch.complex(x, x).exp(), "aten::exp", "guarded"),
        (torch.fft.rfft, "aten::_fft_r2c", "guarded"),
        (lambda x: x.double().exp(), "aten::exp", "reproducible"),
        (lambda x: x.double().softmax(0), "aten::_softmax", "reproducible"),
        (lambda x: x.double().lgamma(), "aten::lgamma", "reproducible"),
        (lambda x: torch.igamma(x.double(), x), "aten::igamma", "reproducible"),
        (lambda x: torch.special.zeta(x, x), "aten::special_zeta", "reproducible"),
        (lambda x: torch.dropout(x, 0.5, True), "aten::bernoulli_.float", "reproducible"),
        (repdl.ops.softmax, "repdl::softmax", "reproducible"),
    ],
)
def test_every_class(function: Callable[..., Any], op: str, kind: str) -> None:
    report = repdl.audit(function, X, backward=False)
    row = the(report, op)
    assert row.kind == kind
    assert row.reason
    assert row.count == 1
    assert report.ok == (kind != "not")


def test_a_class_is_of_the_calls_with_its_dtypes() -> None:
    report = repdl.audit(lambda x: (x.sinc(), x.sinc(), torch.complex(x, x).sinc(), x.double().sinc()), X)
    found = {row.kind: (row.count, row.dtypes) for row in rows(report, "aten::sinc")}
    assert found == {"reproducible": (3, {"float32", "float64"}), "guarded": (1, {"complex64"})}


def test_where_it_was_called() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        nonlocal line
        for _ in range(2):
            y, line = x.exp(), here()
        return y

    line = ""
    report = repdl.audit(forward, X.clone().requires_grad_())
    (place,) = the(report, "aten::exp").places
    assert place.endswith(line) and the(report, "aten::exp").count == 2
    # The gradient of exp is a product.
    assert the(report, "aten::mul.Tensor").places == ["(backward)"]

    def step(x: torch.Tensor) -> None:
        nonlocal line
        _, line = x.exp().sum().backward(), here()

    (place,) = the(repdl.audit(step, X.clone().requires_grad_()), "aten::mul.Tensor").places
    assert place.endswith(f"{line} (backward)")
    layer = repdl.audit(nn.Linear(6, 2), X)
    assert the(layer, "aten::addmm").places[0].startswith("torch/nn/modules/linear.py:")


def test_backward_and_what_it_leaves() -> None:
    model = nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
    model[0].weight.grad = grad = torch.ones(3, 6)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    report = repdl.audit(model, X)
    assert {"aten::addmm", "aten::native_batch_norm_backward", "aten::mm"} <= {row.op for row in report}
    assert model[0].weight.grad is grad and same_bits(grad, torch.ones(3, 6))
    assert model[0].bias.grad is None
    assert all(same_bits(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())
    assert "aten::mm" not in repdl.audit(model, X, backward=False)


def test_it_computes_what_enable_computes_and_gives_torch_back() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        results.append((x @ x.T).exp().sum())
        return results[-1]

    results: list[torch.Tensor] = []
    stock = torch.exp(X)
    with repdl.reproducible():
        f(X)
    for order in ("blocked", "sequential"):
        with repdl.order(order):
            repdl.audit(f, X)
    assert same_bits(results[0], results[1])
    assert same_bits(torch.exp(X), stock)


def test_within_an_enabled_program() -> None:
    with repdl.reproducible(order="sequential"):
        report = repdl.audit(lambda x: (without_kernel(x), x @ x.T), X)
        assert {row.op: row.kind for row in report}["aten::mm"] == "reproducible"
        assert not report.ok
        assert repdl.is_enabled() and repdl.get_order() == "sequential"
        with pytest.raises(repdl.NotReproducibleError):
            without_kernel(X)
    # A program that enables itself is not stopped by what it calls either.
    with_enable = repdl.reproducible()(without_kernel)
    assert not repdl.audit(with_enable, X).ok


def test_permissions_are_told() -> None:
    def plot(x: torch.Tensor) -> None:
        with repdl.allow_native("a plot"):
            without_kernel(x)

    report = repdl.audit(plot, X)
    row = the(report, WITHOUT_KERNEL)
    assert (row.kind, row.permission, report.ok) == ("not", "a plot", True)
    assert "permitted: a plot" in " ".join(str(report).split())


def test_parts_of_our_kernels_are_told_only_if_they_are_not_reproducible() -> None:
    report = repdl.audit(lambda x: torch.layer_norm(x, (6,)), X)
    assert "aten::native_layer_norm" in report and "aten::sub.Tensor" not in report
    target = torch.arange(4)
    report = repdl.audit(lambda x: nn.functional.nll_loss(x, target), X, backward=False)
    assert {row.op for row in report} == {"aten::nll_loss_forward"}
    # Nor is the number told that is made a tensor.
    assert {row.op for row in repdl.audit(lambda x: x * 2, X)} == {"aten::mul.Tensor"}
    # Of complex numbers this one is not.
    report = repdl.audit(at_places)
    assert "not" in [row.kind for row in report]


def test_ops_of_other_libraries_and_other_layouts() -> None:
    library = torch.library.Library("test_audit", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    report = repdl.audit(lambda x: torch.ops.test_audit.twice(x), X)
    row = the(report, "test_audit::twice")
    assert (row.kind, row.dtypes) == ("guarded", {"float32"}) and row.places[0].startswith("tests")
    sparse = torch.eye(4).to_sparse()
    assert not repdl.audit(lambda: torch.hspmm(sparse, torch.eye(4)), backward=False).ok


def test_compiled_functions_are_told_and_run_eagerly() -> None:
    compiled = torch.compile(torch.exp, backend="eager")

    @torch.compile(backend="eager")
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = repdl.audit(lambda x: (function(x), function(x), compiled(x)), X)
    assert the(report, "aten::exp").count == 3
    assert [count for name, count in report.compiled.items() if "function" in name] == [2]
    assert sum(report.compiled.values()) == 3
    assert "is compiled" in str(report)


def test_one_notice_of_compiled_functions() -> None:
    calls = []

    def backend(graph: Any, inputs: Any) -> Any:
        calls.append(graph)
        return graph.forward

    @torch.compile(backend=backend)
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    settings.forget_notice()
    with warnings.catch_warnings(record=True) as caught, repdl.reproducible():
        warnings.simplefilter("always")
        results = [function(X), function(X)]
        torch.compiler.set_stance("default")
        results.append(function(X))
    notices = [str(w.message) for w in caught if "eagerly" in str(w.message)]
    assert len(notices) == 1 and "function" in notices[0]
    assert caught[0].filename == __file__
    assert not calls
    assert all(same_bits(result, repdl.ops.exp(X)) for result in results)
    function(X)
    assert len(calls) == 1


def test_settings_that_change_bits() -> None:
    torch.set_float32_matmul_precision("high")
    try:
        report = repdl.audit(torch.exp, X)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert not report.ok and "matmul_precision" in report.settings[0]


def test_threads_are_recorded_and_failures_pass_through() -> None:
    def in_thread(x: torch.Tensor) -> None:
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()

    assert the(repdl.audit(in_thread, X), "aten::exp").count == 1

    def fails(x: torch.Tensor) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        repdl.audit(fails, X)
    with pytest.raises(RuntimeError, match="running already"):
        repdl.audit(lambda x: repdl.audit(torch.exp, x), X)
    assert repdl.audit(torch.exp, X).ok


def test_table_and_json() -> None:
    report = repdl.audit(lambda x: (without_kernel(x), x @ x.T, x * 2), X)
    lines = str(report).splitlines()
    assert lines[1].startswith(WITHOUT_KERNEL[:20])
    assert "Not reproducible: 1 not, 1 reproducible" in lines[-1]
    values = json.loads(report.to_json())
    assert not values["ok"] and values["compiled"] == {} and values["settings"] == []
    assert [op["class"] for op in values["ops"]] == [row.kind for row in report]
    assert values["ops"][0]["op"] == WITHOUT_KERNEL and values["ops"][0]["dtypes"] == ["float32"]
    assert len(report) == len(values["ops"])


def test_outputs_of_any_structure() -> None:
    model = nn.Linear(6, 2)
    report = repdl.audit(lambda x: {"a": [model(x), (x.long(), None)], "b": 3}, X)
    assert "aten::mm" in report
    assert model.weight.grad is None
