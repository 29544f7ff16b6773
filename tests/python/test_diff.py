# SPDX-License-Identifier: MIT
"""`repdl diff`: of equal runs no difference; of a fault, the first op that it shows in."""

from __future__ import annotations

import ctypes
import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from typer.testing import CliRunner

import repdl
from faults import FAULTS, compared
from repdl.cli.main import app
from repdl.runs import difference
from repdl.runs.columns import COLLECTIVE
from repdl.runs.recorder import recording
from repdl.runs.run import Run
from repdl.runs.sentence import sentence
from runs import Program, Transformer, recorded, train_convolutions, train_transformer
from support import CAPABILITIES, ROOT, run_with_capability


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


def test_the_generator_that_was_in_another_state_is_named(tmp_path: Path) -> None:
    def program(seed: int, is_own: bool) -> Program:
        def run() -> None:
            own = torch.Generator().manual_seed(seed if is_own else 0)
            torch.manual_seed(0 if is_own else seed)
            torch.rand(2, generator=own if is_own else None)

        return run

    for is_own, name in ((True, "the generator that it was given"), (False, "torch's generator")):
        _, text = compared(tmp_path, program(1, is_own), program(2, is_own))
        assert f"but {name} was in another state" in text


def test_a_collective_is_no_source(tmp_path: Path) -> None:
    run = recorded(tmp_path / "a", lambda: torch.ones(3).exp())
    (exp,) = [call for call in run.calls_from(0) if call.name == "aten::exp"]
    a = replace(exp, name="c10d::allreduce_", phase=COLLECTIVE)
    b = replace(a, outputs=(a.outputs[0]._replace(hash=b"b" * 16),))
    text = sentence(difference.Difference("result", a, b, [(a, b)], 0), run, run)
    assert "source" not in text and text.endswith(
        "its inputs were equal here and output 0 (float32[3]) differs; it combines data of other ranks, so compare the "
        "records of those too."
    )


def test_what_ops_leave_for_their_gradients_is_no_difference(tmp_path: Path) -> None:
    def left(number: int) -> None:
        sizes = (72, 128, 512, 1024, 2048, 8192, 28672, 65536)
        [torch.full((size,), number, dtype=torch.uint8) for size in sizes for _ in range(12)]

    def program() -> None:
        nn.LSTM(4, 4)(torch.randn(3, 2, 4))[0].sum().backward()
        scores = torch.randn(9, 2, 5, requires_grad=True).log_softmax(-1)
        targets, lengths, of_targets = torch.tensor([[1, 2, 0], [1, 2, 3]]), torch.tensor([6, 9]), torch.tensor([2, 3])
        nn.functional.ctc_loss(scores, targets, lengths, of_targets).backward()
        nn.functional.rrelu(torch.randn(16, 8, requires_grad=True)).sum().backward()

    runs = []
    for name, number in (("a", 0x11), ("b", 0x77)):
        left(number)
        runs.append(recorded(tmp_path / name, program))
    assert sentence(difference.find(*runs), *runs).startswith("No difference")
    found = {call.name: call for call in runs[0].calls_from(0)}
    assert [bool(int.from_bytes(x.hash)) for x in found["aten::mkldnn_rnn_layer"].outputs] == [True, True, True, False]
    assert [bool(int.from_bytes(x.hash)) for x in found["aten::_ctc_loss.Tensor"].outputs] == [True, False]
    assert [bool(int.from_bytes(x.hash)) for x in found["aten::rrelu_with_noise"].outputs] == [False, True]


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


def test_nothing_is_said_of_what_a_run_that_was_cut_off_has_not_told(tmp_path: Path) -> None:
    with recording(tmp_path / "a", quiet=True) as recorder:
        for batch in DataLoader(torch.rand(4, 2), batch_size=2):
            batch.sinh()
            recorder.log.write()
    a = Run(tmp_path / "a")
    for name, count in (("head", 1), ("half", 3)):
        ends = [frame.offset + frame.packed for frame in a.reader.frames()]
        (tmp_path / name).write_bytes((tmp_path / "a").read_bytes()[: ends[count - 1]])
        for one, other in (("a", name), (name, "a")):
            runs = Run(tmp_path / one), Run(tmp_path / other)
            found = difference.find(*runs)
            assert found is not None and found.kind == "end"
            assert not found.settings and not found.generators, sentence(found, *runs)


def test_ops_are_counted_as_the_summary_counts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "ab":
        with repdl.record(tmp_path / name):
            torch.ones(3).sinh()
    assert " has 2 ops in 0 whole steps" in capsys.readouterr().err
    a, b = Run(tmp_path / "a"), Run(tmp_path / "b")
    assert sentence(difference.find(a, b), a, b) == "No difference: 2 ops in 1 step are equal."


def test_other_samplings_are_refused(tmp_path: Path) -> None:
    recorded(tmp_path / "a", train_transformer)
    recorded(tmp_path / "b", train_transformer, every=2)
    result = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), str(tmp_path / "b")])
    assert result.exit_code == 2 and "record both alike" in result.output


def test_a_difference_in_the_terminal_as_json_and_as_a_page(tmp_path: Path) -> None:
    fault = FAULTS["one bit"]
    _, text = compared(tmp_path, fault.a, fault.b)
    paths = str(tmp_path / "a"), str(tmp_path / "b")
    shown = CliRunner().invoke(app, ["diff", *paths, "--html", str(tmp_path / "page.html")])
    assert shown.exit_code == 1 and shown.stdout.splitlines()[0] == text
    values = json.loads(CliRunner().invoke(app, ["diff", *paths, "--json"]).stdout)
    assert values["sentence"] == text and values["inputs_equal"] is True and values["a"]["op"] == "aten::addmm"
    assert values["a"]["outputs"] != values["b"]["outputs"] and values["a"]["inputs"] == values["b"]["inputs"]
    page = (tmp_path / "page.html").read_text()
    assert "encoder.layers.0.attn.out" in page and "id=first" in page
    for path, text in (("/dev/full", "No space left on device"), (paths[0], "is what the command reads")):
        result = CliRunner().invoke(app, ["diff", *paths, "--html", path])
        assert result.exit_code == 2 and f"--html: {path}" in result.output and text in result.output


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
    said = sentence(found, *runs)
    assert "so this op is the source" in said
    assert "capability (" in said and "build (" not in said


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
