# SPDX-License-Identifier: MIT
"""`repdl.experiments`: what is planted is named in its own kind and in no other, and what is invariant in none."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import planted_ops
import repdl
from repdl.cli.main import app
from repdl.experiments import (
    KINDS,
    Difference,
    Engine,
    Measurement,
    Trial,
    UntriedError,
    difference,
    mending,
    take,
    wire,
)
from repdl.experiments.program import measuring
from repdl.experiments.rows import RULES
from repdl.experiments.settings import threads
from repdl.experiments.variations import HERE, RUN
from repdl.experiments.workers import instruction_sets
from repdl.interception.machine import CAPABILITIES
from support import same_bits

aten = torch.ops.aten
X = torch.linspace(-3, 3, 24).reshape(6, 4)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One for all, since its processes load torch."""
    with Engine() as engine:
        yield engine


def kinds_found(engine: Engine, op: Any, *args: Any, **kwargs: Any) -> set[str]:
    return {kind for kind, outcome in engine.trial(take(op, args, kwargs)).items() if outcome.found}


@pytest.mark.parametrize("function", planted_ops.KINDS, ids=lambda function: function.__name__)
def test_a_fault_is_named_in_its_own_kind(engine: Engine, function: Callable[..., Any]) -> None:
    kind = planted_ops.KINDS[function]
    if kind == "instructions" and len(CAPABILITIES) == 1:
        pytest.skip("torch has one instruction set on this CPU")
    op = getattr(torch.ops.planted_ops, function.__name__).default
    before = torch.get_float32_matmul_precision(), torch.get_num_threads(), torch.get_rng_state()
    if kind == "precision":
        torch.set_float32_matmul_precision("medium")
    try:
        assert kinds_found(engine, op, X) == ({kind} if kind else set())
    finally:
        torch.set_float32_matmul_precision(before[0])
    assert before[1] == torch.get_num_threads() and torch.equal(before[2], torch.get_rng_state())
    assert same_bits(X, torch.linspace(-3, 3, 24).reshape(6, 4))


def test_another_process_is_told_if_it_cannot_make_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(planted_ops.PARENT, str(os.getpid()))
    with Engine(["process"]) as engine:
        trial = engine.trial(take(torch.ops.planted_ops.ends_elsewhere.default, (X,), {}))
        assert trial["process"].refused == ["another process"] and not trial["process"].tried
        # A new one takes its place.
        assert engine.trial(take(aten.add.Tensor, (X, X), {}))["process"].same == ["another process"]


TIES = torch.tensor([1.0, 0.0, -0.0, 1.0, float("nan"), 0.0] * 700).reshape(70, 60)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (aten.add.Tensor, (X, X)),
        (aten.add_.Tensor, (X, 2)),
        (aten.relu.default, (TIES,)),
        (aten.cat.default, ([X, X.mul(2)], 1)),
        (aten.sort.stable, (TIES,), ),
        (aten.maximum.default, (TIES, TIES.flip(0))),
        (aten.index_select.default, (X, 0, torch.tensor([3, 3, 0]))),
        (aten.native_dropout.default, (torch.ones(3000), 0.5, True)),
        (aten.mul.Tensor, (X.expand(5, 6, 4), torch.complex(X, X))),
        (aten.sum.default, (torch.arange(5000),)),
        (aten._embedding_bag.default, (X[:, :3].contiguous(), torch.arange(6), torch.arange(0, 6, 2))),
        (aten._ctc_loss.default, (X[:, None].expand(6, 2, 4), torch.ones(2, 2, dtype=torch.long), [3, 5], [1, 2])),
        (aten.rrelu_with_noise.default, (X, torch.empty(6, 4))),
    ],
    ids=lambda value: str(value) if isinstance(value, torch._ops.OpOverload) else "",
)  # fmt: skip
def test_what_is_invariant_is_not_named(engine: Engine, op: Any, args: tuple[Any, ...]) -> None:
    kwargs = {"stable": True} if op is aten.sort.stable else {}
    trial = engine.trial(take(op, args, kwargs))
    assert {kind for kind, outcome in trial.items() if outcome.found} == set()
    tried = {kind for kind, outcome in trial.items() if outcome.tried}
    assert {"run to run", "threads", "process", "instructions"} <= tried
    assert ("batch" in tried) == (torch.Tag.pointwise in op.tags and op is not aten.native_dropout.default)


def test_what_mends_is_told_and_what_does_not_is_not(engine: Engine) -> None:
    found = {("threads", "threads"): take(torch.ops.planted_ops.threads.default, (X,), {})}
    with threads(2):
        assert mending(engine, found) == {("threads", "threads"): ["torch.set_num_threads(1)"]}
    with threads(1):
        assert mending(engine, found) == {("threads", "threads"): []}
    found = {("batch", "batch"): take(torch.ops.planted_ops.batch.default, (X,), {})}
    assert mending(engine, found) == {("batch", "batch"): []}


def test_a_race_that_few_threads_hide_is_none_of_their_number(engine: Engine) -> None:
    op = torch.ops.planted_ops.racy_among_many.default
    with threads(2):
        trial = engine.trial(take(op, (X,), {}))
        assert set(trial) == {RUN} and list(trial[RUN].found) == ["run 2 with 7 threads"]
        assert mending(engine, {("racy", RUN): take(op, (X,), {})}) == {("racy", RUN): ["torch.set_num_threads(1)"]}
        assert kinds_found(engine, torch.ops.planted_ops.threads.default, X) == {"threads"}
    with threads(1):
        assert kinds_found(engine, op, X) == {"threads"}


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 24, 0.1, batch_first=True)
        self.conv = nn.Conv2d(1, 2, 3)
        self.out = nn.Linear(16, 20)

    def forward(self, i: torch.Tensor) -> torch.Tensor:
        x = self.layer(self.embed(i))
        return self.out(x).log_softmax(-1).sum() + self.conv(x[:, None]).sigmoid().mean()


def step() -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = Block()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.arange(12).reshape(2, 6)).backward()
    optimizer.step()
    return [torch.rand(3), *model.state_dict().values()]


def measured(engine: Engine, function: Callable[[], Any], times: int = 1) -> tuple[Measurement, Any]:
    with measuring(engine, times) as measurement:
        result = function()
    return measurement, result


def test_a_step_of_stock_torch(engine: Engine) -> None:
    """It runs to its end with the results that it has otherwise, and what is known to vary is found."""
    expected = step()
    measurement, got = measured(engine, step)
    assert all(same_bits(a, b) for a, b in zip(expected, got, strict=True))
    ops = measurement.ops
    assert {"aten::addmm", "aten::embedding_dense_backward", "aten::convolution_backward"} <= ops.keys()
    assert (
        not {"aten::t", "aten::view", "aten::transpose.int", "aten::detach", "aten::empty.memory_format"} & ops.keys()
    )
    assert all(measured.tried or measured.untried for measured in measurement)
    assert ops["aten::addmm"].layer.startswith("Block.") and "test_experiments.py:" in ops["aten::addmm"].line
    backward = ops["aten::embedding_dense_backward"]
    assert backward.layer == "Block.embed" and backward.line.endswith("(backward)")
    read = json.loads(measurement.to_json())
    assert read["ok"] == measurement.ok and {op["op"] for op in read["ops"]} == set(ops)
    assert measurement.summary() in str(measurement)
    for op in measurement:
        for varies in op.varies.values():
            assert varies.line and varies.calls and f"{varies.kind}" in str(measurement)


def test_nothing_varies_under_enable(engine: Engine) -> None:
    """Our kernels, in all that is tried: no false alarm."""
    with repdl.reproducible():
        measurement, _ = measured(engine, step, times=2)
    assert measurement.ok, str(measurement)
    assert measurement.tried > 50
    assert not torch.is_inference_mode_enabled() and not repdl.is_enabled()
    tried = {kind for op in measurement for kind, count in op.kinds.items() if count}
    assert tried == set(KINDS) - measurement.not_tried.keys() and measurement.not_tried.keys() <= {
        "precision",
        "device",
    }


def test_alike_calls_are_made_again_a_few_times(engine: Engine) -> None:
    def calls() -> None:
        for i in range(9):
            X.add(1.5 + i)
            X.t().add(1.5)

    measurement, _ = measured(engine, calls, times=3)
    assert (measurement.ops["aten::add.Tensor"].calls, measurement.ops["aten::add.Tensor"].tried) == (18, 6)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without other processes, which are tried above."""
    monkeypatch.setattr("repdl.experiments.Engine", lambda: Engine(HERE))
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch\nimport planted_ops\nx = torch.ones(6)\n(x + x).relu()\nsys.exit(len(sys.argv[1]))\n"
    )
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", sys.argv)
    command = ["audit", "--measure", "--json", "out.json", "script.py"]
    assert run(app, [*command, "abc"]).exit_code == 3
    good = run(app, [*command, ""])
    assert (good.exit_code, "All gave the same bits in every way that was tried." in good.output) == (0, True), (
        good.output
    )
    script.write_text("import torch\nimport planted_ops\ntorch.ops.planted_ops.racy(torch.ones(3))\n")
    bad = run(app, command)
    assert bad.exit_code == 1 and "1 ops vary: run to run 1" in bad.output and "script.py:3" in bad.output
    assert json.loads((tmp_path / "out.json").read_text())["ok"] is False
    for wrong in (["--order", "blocked"], ["--rng", "torch"]):
        assert run(app, ["audit", "--measure", *wrong, "script.py"]).exit_code == 2
    assert run(app, ["audit", "--times", "3", "script.py"]).exit_code == 2


def test_a_program_that_forks_and_goes_elsewhere(tmp_path: Path) -> None:
    """The processes that it forks run as they would, and the report is of the first alone."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "script.py").write_text(
        "import os, sys, torch\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "x = torch.ones(4, 4).exp()\n"
        "if os.fork() == 0:\n"
        "    x.sin()\n"
        "    sys.exit()\n"
        "os.wait()\n"
        "if os.fork() == 0:\n"
        "    os._exit(int(x.sum() > 0))\n"
        "print('status', os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "for (rows,) in DataLoader(TensorDataset(x), 2, num_workers=1):\n"
        "    print(tuple(rows.shape))\n"
        "os.chdir('elsewhere')\n"
        "if os.fork() > 0:\n"
        "    os.wait()\n"
        "    sys.stdout.flush()\n"
        "    os._exit(6)\n"  # on which Python unwinds nothing
    )
    command = [sys.executable, "-m", "repdl", "audit", "--measure", "--json", "out.json", "script.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False)
    assert (result.returncode, result.stderr) == (6, "")
    assert result.stdout.startswith("status 1\n(2, 4)\n(2, 4)\n") and result.stdout.count("were made again") == 1
    ops = {measured["op"]: measured["calls"] for measured in json.loads((tmp_path / "out.json").read_text())["ops"]}
    assert ops["aten::exp"] == 1 and "aten::sin" not in ops


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, NAN], [1.0, NAN], None),
        ([0.0], [-0.0], Difference(1, 1, 0)),
        ([1.0, 2.0], [1.0 + 2**-23, 2.0], Difference(1, 2, 1)),
        ([-1e-45], [1e-45], Difference(1, 1, 2)),
        ([NAN, 3.0], [1.0, 3.0], Difference(1, 2, None)),
        ([INF], [-INF], Difference(1, 1, 2 * 0x7F800000)),
        ([3.4028235e38], [INF], Difference(1, 1, 1)),
    ],
)
def test_differences(a: list[float], b: list[float], expected: Difference | None) -> None:
    assert difference([torch.tensor(a)], [torch.tensor(b)]) == expected
    if expected is None or expected.ulps is None or expected.ulps < 1 << 20:
        assert difference([torch.tensor(a).t(), 3], [torch.tensor(b), 3]) == (
            expected and Difference(expected.elements, expected.of + 1, expected.ulps)
        )


def test_differences_of_other_types() -> None:
    other_nan = torch.tensor([0x7FC00001, 0x7F800001], dtype=torch.int32).view(torch.float32)
    assert difference([torch.full((2,), NAN)], [other_nan]) is None
    most = torch.tensor([1.7976931348623157e308], dtype=torch.float64)
    assert difference([most], [-most]) == Difference(1, 1, 2 * 0x7FEFFFFFFFFFFFFF)
    one = torch.tensor(1.0, dtype=torch.bfloat16)
    assert difference([one], [one + 2**-7]) == Difference(1, 1, 1)
    assert difference([torch.tensor([1 + 0j])], [torch.tensor([complex(1, -0.0)])]) == Difference(1, 1, 0)
    assert difference([torch.tensor([True])], [torch.tensor([False])]) == Difference(1, 1, None)
    assert difference([torch.ones(2)], [torch.ones(3)]) == Difference(3, 2, None)
    y = X.clone()
    y[2, 1] = 7
    for x, other, first in (
        (X, y, (1, [2, 1], str(X[2, 1].item()), "7.0")),
        (torch.tensor([1 + 2j, 3]), torch.tensor([1 + 2j, 4]), (1, [1], "(3+0j)", "(4+0j)")),
        (torch.tensor(5), torch.tensor(6), (1, [], "5", "6")),
        (X[:2], X[:3], None),
    ):
        found = difference([X, x], [X, other])
        assert found is not None and found.first == first
    assert difference([torch.ones(2)], [torch.ones(2, dtype=torch.float64)]) == Difference(2, 2, None)
    assert difference([NAN, None], [NAN, None]) is None
    assert difference([], []) is None


def test_a_call_keeps_memory_as_it_lies(tmp_path: Path) -> None:
    whole = torch.arange(40.0)
    a, b = whole[3:39:2], whole[20:38]
    call = take(aten.add.Tensor, (a, b.view(18)), {"alpha": 2})
    whole.zero_()
    x, y = call.tensors()
    assert x.stride() == (2,) and x.data_ptr() % 64 == 12 and y.data_ptr() - x.data_ptr() == 4 * 17
    (result,) = call.run()
    assert same_bits(result, torch.arange(3.0, 39, 2) + 2 * torch.arange(20.0, 38))
    values = [
        call.args,
        call.kwargs,
        call.memory,
        torch.float16,
        torch.strided,
        torch.device("cpu"),
        1j,
        NAN,
        "x",
        None,
    ]
    with (tmp_path / "values").open("w+b") as file:
        written = wire.write(file, [*values, torch.ones(2, 0), torch.tensor(True)])
        read = wire.read(file.fileno(), json.loads(json.dumps(written)))
    assert repr(read[:2]) == repr(values[:2]) and repr(read[3:10]) == repr(values[3:])
    assert torch.equal(read[2][0], call.memory[0]) and read[10].shape == (2, 0) and read[11].item() is True


def test_what_an_op_writes_and_gives_counts_once() -> None:
    x, out = torch.ones(3), torch.empty(3)
    assert [y.tolist() for y in take(aten.add_.Tensor, (x, 2), {}).run()] == [[3, 3, 3]]
    assert [y.tolist() for y in take(aten.add.out, (x, x), {"out": out}).run()] == [[2, 2, 2]]
    running = {"running_mean": torch.zeros(3), "running_var": torch.ones(3)}
    call = take(
        aten._native_batch_norm_legit.default, (torch.ones(2, 3), None, None, *running.values(), True, 0.5, 1e-5), {}
    )
    assert len(call.run()) == 3 + len(running)


def test_calls_that_are_not_tried() -> None:
    for tensor in (X.to_sparse(), torch.empty(2, device="meta"), torch.complex(X, X).conj()):
        with pytest.raises(UntriedError):
            take(aten.neg.default, (tensor,), {})


def test_results_that_are_not_plain_are_not_tried(engine: Engine) -> None:
    call = take(aten._to_sparse.default, (X,), {})
    assert engine.trial(call) == {}
    measurement, sparse = measured(engine, lambda: X.to_sparse())
    assert sparse.is_sparse and measurement.tried == 0
    assert "no plain tensors" in str(measurement)


def test_an_op_may_refuse_by_any_exception(engine: Engine) -> None:
    assert engine.trial(take(torch.ops.planted_ops.asserts.default, (X,), {}))["layout"].refused


def test_processes_are_not_of_the_group_that_a_terminal_interrupts(engine: Engine) -> None:
    engine.trial(take(aten.exp.default, (X,), {}))
    groups = {os.getpgid(worker.process.pid) for worker in engine.workers.workers if worker.process is not None}
    assert groups and os.getpgrp() not in groups


def test_an_interrupt_while_lines_are_tried(engine: Engine) -> None:
    def interrupt(what: str, /, so_far: Measurement) -> None:
        if what.startswith("repdl"):
            raise KeyboardInterrupt

    block = measuring(engine, progress=interrupt)
    measurement = block.__enter__()
    torch.ops.planted_ops.racy(X)
    with pytest.raises(KeyboardInterrupt):
        block.__exit__(None, None, None)
    assert measurement.seconds > 0 and "not tried" in str(measurement)


def test_a_program_without_ops() -> None:
    assert str(Measurement()) == "The program called no op of torch."


def test_the_function() -> None:
    """`measure`, with its own processes, of which there are none here; compiled functions run eagerly."""
    model = nn.Linear(4, 2)
    compiled = torch.compile(model, backend="eager")
    measurement = repdl.experiments.measure(lambda x: compiled(x), X, kinds=["run to run"])
    assert measurement.ok and model.weight.grad is not None
    assert {"aten::addmm", "aten::mm"} <= measurement.ops.keys()
    assert measurement.ops["aten::addmm"].kinds == {"run to run": 1}
    assert "Ran eagerly: Linear" in str(measurement)
    with pytest.raises(ValueError, match="no kind 'colour'"):
        repdl.experiments.measure(model, X, kinds=["colour"])


def test_a_generator_of_its_own_is_given_back(engine: Engine) -> None:
    generator = torch.Generator().manual_seed(3)
    assert kinds_found(engine, aten.rand.generator, [50], generator=generator) == set()
    assert torch.equal(generator.get_state(), torch.Generator().manual_seed(3).get_state())


def test_rows_are_of_ops_that_torch_has() -> None:
    for name in RULES:
        packet, _, overload = name.partition(".")
        op = getattr(aten, packet)
        schemas = [getattr(op, overload or name)._schema for name in ([overload] if overload else op.overloads())]
        arguments = {a.name for schema in schemas for a in schema.arguments}
        assert {*RULES[name].batched, *RULES[name].broadcast} <= arguments, name


def test_where_entries_have_to_do_with_each_other_there_is_no_batch(engine: Engine) -> None:
    def trial(op: Any, args: tuple[Any, ...]) -> Trial:
        return engine.trial(take(op, args, {}), ["batch"])

    for op, args in (
        (aten.native_batch_norm.default, (X, None, None, None, None, True, 0.1, 1e-5)),
        (aten._softmax.default, (X, 0, False)),
        (aten.sum.dim_IntList, (X, [0])),
        (aten.sum.dim_IntList, (X, [])),
        (aten.mm.default, (X[:1], X.t())),
    ):
        assert "batch" not in {k for k, outcome in trial(op, args).items() if outcome.tried}
    for op, args in (
        (aten.native_batch_norm.default, (X, None, None, torch.ones(4), torch.ones(4), False, 0.1, 1e-5)),
        (aten._softmax.default, (X, 1, False)),
        (aten.sum.dim_IntList, (X, [-1])),
        (aten.addmm.default, (X @ X.t(), X, X.t())),
    ):
        found = trial(op, args)
        assert set(found) == {RUN, "batch"} and found["batch"].tried and not found["batch"].refused


def test_settings_are_those_of_this_cpu() -> None:
    names = [setting.environment.get("ATEN_CPU_CAPABILITY") for setting in instruction_sets()]
    assert [name for name in names if name] == list(CAPABILITIES[:-1])
