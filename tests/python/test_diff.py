# SPDX-License-Identifier: MIT
"""`repdl diff`: of equal runs no difference; of a fault, the first op that it shows in."""

from __future__ import annotations

import ctypes
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset
from typer.testing import CliRunner

import repdl
from repdl.cli.main import app
from repdl.interception.native import native_of
from repdl.interception.registration import register
from repdl.runs import difference
from repdl.runs.difference import Difference
from repdl.runs.run import Run
from repdl.runs.sentence import sentence
from runs import Transformer, recorded, train_convolutions, train_transformer
from support import CAPABILITIES, ROOT, run_with_capability

Program = Callable[[], object]


def compared(folder: Path, a: Program, b: Program) -> tuple[Difference | None, str]:
    runs = recorded(folder / "a", a), recorded(folder / "b", b)
    found = difference.find(*runs)
    return found, sentence(found, *runs)


@pytest.mark.parametrize("train", [train_transformer, train_convolutions])
def test_equal_runs_have_no_difference(tmp_path: Path, train: Program) -> None:
    found, text = compared(tmp_path, train, train)
    assert found is None and re.fullmatch(r"No difference: \d+ ops in 4 steps are equal\.", text)


@pytest.mark.parametrize("train", [train_transformer, train_convolutions])
def test_threads_make_no_difference_when_enabled(tmp_path: Path, train: Program) -> None:
    def with_threads(threads: int) -> Program:
        def program() -> None:
            before = repdl.get_num_threads()
            repdl.set_num_threads(threads)
            try:
                with repdl.reproducible():
                    train()
            finally:
                repdl.set_num_threads(before)

        return program

    assert compared(tmp_path, with_threads(1), with_threads(3))[0] is None


@contextmanager
def changed(name: str, change: Callable[[torch.Tensor], None], call: int = 0) -> Iterator[None]:
    """torch's kernel, but one of its results is changed."""
    native, calls = native_of(name), iter(range(1000))

    def kernel(*args: Any) -> torch.Tensor:
        result: torch.Tensor = native(*args)
        if next(calls) == call:
            change(result)
        return result

    library = register({"CPU": {name: kernel}})
    try:
        yield
    finally:
        library._destroy()


def one_ulp(result: torch.Tensor) -> None:
    result.view(torch.int32).view(-1)[3] ^= 1


def minus_zero(result: torch.Tensor) -> None:
    result[result == 0] = -0.0


class Noisy(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(np.random.rand(3).astype("f")) + index


def seed_worker(number: int) -> None:
    np.random.seed(number)


def seed_second_worker_otherwise(number: int) -> None:
    np.random.seed(7 * number)


def load(worker_init: Callable[[int], None]) -> Program:
    return lambda: [batch.sum() for batch in DataLoader(Noisy(), 2, num_workers=2, worker_init_fn=worker_init)]


def shuffled(seed: int) -> Program:
    order = torch.Generator().manual_seed(seed)
    return lambda: list(DataLoader(torch.arange(12.0), 3, shuffle=True, generator=order))


def stepped(before_step: Callable[[nn.Module, torch.optim.Optimizer], object], steps: int = 2) -> Program:
    def program() -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        x = torch.randn(5, 3)
        for step in range(steps):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            if step == 1:
                before_step(model, optimizer)
            optimizer.step()

    return program


def drop_gradient(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model.get_parameter("0.bias").grad = None


def lower_rate(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.param_groups[0]["lr"] = 0.25


def change_momentum(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    parameter = model.get_parameter("2.weight")
    ctypes.c_float.from_address(optimizer.state[parameter]["momentum_buffer"].data_ptr()).value += 1  # past torch


def applied(function: Callable[[torch.Tensor], object]) -> Program:
    return lambda: function(torch.linspace(-2, 2, 24).reshape(4, 6))


def of_garbage(byte: int) -> Program:
    def program() -> None:
        x = torch.empty(8)
        ctypes.memset(x.data_ptr(), byte, 32)  # as memory that is handed out may hold anything
        x.add(1)

    return program


def checkpointed(preserve: bool) -> Program:
    def program() -> None:
        layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        x = torch.randn(3, 4, requires_grad=True)
        checkpoint(layer, x, use_reentrant=False, preserve_rng_state=preserve).sum().backward()

    return program


def with_fault(fault: Callable[[], AbstractContextManager[None]], program: Program) -> Program:
    def faulty() -> None:
        with fault():
            program()

    return faulty


def seeded(seed: int) -> Program:
    def program() -> None:
        torch.manual_seed(seed)
        torch.randn(3)

    return program


def given(array: list[float]) -> Program:
    return lambda: torch.from_numpy(np.array(array)).exp()


NOTHING = stepped(lambda *_: None)
RELU = applied(lambda x: F.relu(x).exp())

FAULTS: dict[str, tuple[Program, Program, str, str, str]] = {
    # two programs; of the first difference the kind, the op, and what is said
    "seed": (seeded(1), seeded(2), "result", "aten::randn", "torch's generator was in another state"),
    "seed of a worker": (
        load(seed_worker),
        load(seed_second_worker_otherwise),
        *("result", "batch of DataLoader", "output 0 (float32[2, 3]) of the batch differs, made by the dataset"),
    ),
    "shuffled batches": (
        shuffled(1),
        shuffled(2),
        *("result", "aten::random_", "torch's generator was in another state"),
    ),
    "dropped gradient": (
        NOTHING,
        stepped(drop_gradient),
        *("arguments", "options of SGD", "it had parameter 1 without gradient in B"),
    ),
    "learning rate": (NOTHING, stepped(lower_rate), "arguments", "options of SGD", "lr=0.25"),
    "state of the optimizer": (
        NOTHING,
        stepped(change_momentum),
        *("input", "aten::mul_.Tensor", "differed already, and it was equal when aten::"),
    ),
    "sign of zero": (
        RELU,
        with_fault(lambda: changed("relu", minus_zero), RELU),
        "result",
        "aten::relu",
        "is the source",
    ),
    "one bit": (
        train_transformer,
        with_fault(lambda: changed("addmm", one_ulp, 9), train_transformer),
        *(
            "result",
            "aten::addmm",
            "step 1, forward, module encoder.layers.0.attn.out, aten::addmm at tests/python/runs",
        ),
    ),
    "one bit of a backward pass": (
        train_transformer,
        with_fault(lambda: changed("mm", one_ulp, 4), train_transformer),
        *("result", "aten::mm", "step 0, backward, module encoder.layers.1."),
    ),
    "another op": (
        applied(lambda x: (x * x).sum()),
        applied(lambda x: x.square().sum()),
        *("path", "aten::mul.Tensor", "run A has this op, where run B has aten::pow.Tensor_Scalar at"),
    ),
    "missing op": (
        applied(lambda x: x.exp().relu().sum()),
        applied(lambda x: x.exp().sum()),
        *("path", "aten::relu", "run A has this op, run B does not"),
    ),
    "ops that are more": (
        applied(lambda x: x.exp().sum()),
        applied(lambda x: x.exp().relu().neg().sum()),
        *("path", "aten::relu", "run B has this op and the 1 after it, run A does not"),
    ),
    "other shape": (
        applied(lambda x: x[:3].sum(0)),
        applied(lambda x: x[:2].sum(0)),
        *("arguments", "aten::slice.Tensor", "end=3"),
    ),
    "other dtype": (
        applied(lambda x: x.exp().double().sum()),
        applied(lambda x: x.exp().bfloat16().sum()),
        *("arguments", "aten::_to_copy", "torch.float64"),
    ),
    "other number": (applied(lambda x: x * 0.5), applied(lambda x: x * 0.25), "arguments", "aten::mul.Tensor", "0.25"),
    "uninitialised memory": (
        of_garbage(0x40),
        of_garbage(0x41),
        *("result", "aten::add.Tensor", "it read memory that nothing had written (input 0)"),
    ),
    "checkpoint without its generator": (
        checkpointed(True),
        checkpointed(False),
        *("result", "aten::bernoulli_.float", "backward, module 1, aten::bernoulli_.float"),
    ),
    "data from outside": (given([1, 2]), given([1, 3]), "input", "aten::lift_fresh", "no recorded op has written it"),
    "fewer steps": (NOTHING, stepped(lambda *_: None, 1), "end", "aten::t", "run B ended and run A went on"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(tmp_path: Path, fault: str) -> None:
    a, b, kind, name, said = FAULTS[fault]
    found, text = compared(tmp_path, a, b)
    assert found is not None
    assert (found.kind, found.call.name) == (kind, name), text
    assert said in text, text
    assert found.call.line.startswith("tests/python/") or found.call.line == "", text


def test_memory_that_nobody_has_written_is_no_difference(tmp_path: Path) -> None:
    def program(byte: int) -> Program:
        def run() -> None:
            rows = torch.empty(4, 8)
            ctypes.memset(rows.data_ptr(), byte, 128)
            for row in range(4):
                rows[row] = torch.ones(8) * row
            out = torch.empty(8)
            ctypes.memset(out.data_ptr(), byte, 32)
            torch.sum(rows, 0, out=out)
            out.exp()

        return run

    assert compared(tmp_path, program(0x40), program(0x41))[0] is None


def test_long_runs_that_differ_late(tmp_path: Path) -> None:
    def program(last: float) -> Program:
        def run() -> None:
            x = torch.zeros(2)
            for _ in range(5000):
                x = x + 1
            (x * last).exp()

        return run

    found, text = compared(tmp_path, program(2), program(3))
    assert found is not None and found.call.number > 5000 and "aten::mul.Tensor" in text
    missing, text = compared(tmp_path, program(2), lambda: [program(2)(), torch.ones(1)])
    assert missing is not None and "run A ended and run B went on" in text


def test_other_samplings_are_refused(tmp_path: Path) -> None:
    recorded(tmp_path / "a", NOTHING)
    recorded(tmp_path / "b", NOTHING, every=2)
    result = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), str(tmp_path / "b")])
    assert result.exit_code == 2 and "record both alike" in result.output


def test_a_difference_in_the_terminal_as_json_and_as_a_page(tmp_path: Path) -> None:
    a, b, *_ = FAULTS["one bit"]
    _, text = compared(tmp_path, a, b)
    paths = str(tmp_path / "a"), str(tmp_path / "b")
    shown = CliRunner().invoke(app, ["diff", *paths, "--html", str(tmp_path / "page.html")])
    assert shown.exit_code == 1 and shown.stdout.splitlines()[0] == text
    values = json.loads(CliRunner().invoke(app, ["diff", *paths, "--json"]).stdout)
    assert values["sentence"] == text and values["inputs_equal"] is True and values["a"]["op"] == "aten::addmm"
    assert values["a"]["outputs"] != values["b"]["outputs"] and values["a"]["inputs"] == values["b"]["inputs"]
    page = (tmp_path / "page.html").read_text()
    assert "encoder.layers.0.attn.out" in page and "id=first" in page and "width=device-width" in page
    assert not re.search(r"""(src|href)=|url\(|https?://|<script""", page)


def test_a_page_has_no_markup_of_a_program(tmp_path: Path) -> None:
    def program(number: int) -> Program:
        evil = type("<script>alert(1)</script>", (nn.Module,), {"forward": lambda self, x: x * number})
        return lambda: evil()(torch.ones(2))

    compared(tmp_path, program(1), program(2))
    CliRunner().invoke(app, ["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--html", str(tmp_path / "page")])
    assert "&lt;script&gt;" in (page := (tmp_path / "page").read_text()) and "<script>" not in page


REAL = """
import sys
sys.path.insert(0, {tests!r})
import torch
from runs import Transformer, recorded
def program():
    model = Transformer()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(p.numel()).reshape(p.shape) % 17 / 7 - 1)
    model(torch.arange(20).reshape(4, 5) % 11).exp().sum().backward()
from pathlib import Path
recorded(Path(sys.argv[1]), program)
"""


@pytest.mark.skipif(len(CAPABILITIES) < 2, reason="this CPU runs one target only")
def test_instruction_sets_of_stock_torch(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(REAL.format(tests=str(ROOT / "tests" / "python")))
    runs = []
    for capability in ("default", "avx2"):
        path = tmp_path / capability
        run_with_capability(capability, str(tmp_path / "program.py"), str(path), timeout=300)
        runs.append(Run(path))
    found = difference.find(*runs)
    assert found is not None and found.kind == "result" and found.inputs_equal
    assert "so this op is the source" in sentence(found, *runs)


def test_the_first_model_has_plain_names(tmp_path: Path) -> None:
    run = recorded(
        tmp_path / "a", lambda: [model(torch.zeros(1, 2, dtype=torch.long)) for model in (Transformer(), Transformer())]
    )
    modules = {call.module for call in run.calls_from(0)}
    assert {"encoder.layers.0.attn.qkv", "Transformer.encoder.layers.0.attn.qkv"} <= modules


def test_the_speed_of_workers_makes_no_difference(tmp_path: Path) -> None:
    class Slow(Dataset[torch.Tensor]):
        def __init__(self, slow: int) -> None:
            self.slow = slow

        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(0.3 if index == self.slow else 0)
            return torch.full((2,), float(index))

    def program(slow: int) -> Program:
        return lambda: [batch.sum() for batch in DataLoader(Slow(slow), 1, shuffle=True, num_workers=2)]

    assert compared(tmp_path, program(0), program(3))[0] is None
