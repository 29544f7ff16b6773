# SPDX-License-Identifier: MIT
"""`repdl status`: what is planted is named in its own kind and in no other, and a slice of torch's ops."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from planted_entries import FAULTS
from repdl import status
from repdl.cli.main import app
from repdl.conformance.torch_sweep.database import entries
from repdl.conformance.torch_sweep.outcome import Run
from repdl.status import COLUMNS, KINDS, Cell, FormatError, Row, Status, trial, worker
from repdl.status.calls import Calls
from repdl.status.table import DEVICE

RUN = Run("0123456789ab", "2026-01-01", "a CPU", ("another process",))
Found = dict[str, Row]


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted entries, in other processes."""
    folder = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", folder, prepend=os.pathsep)


@pytest.fixture(scope="module")
def planted() -> Found:
    """With both other processes, since they load torch once for all."""
    source = "planted_entries:entries"
    known = entries(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        patch.setattr(worker.devices, "at_hand", lambda: "cpu")  # stands for a GPU
        measurer = worker.Measurer(known, RUN, worker.settings(), source)
        return {pair[0]: row for pair, row in measurer.measure([(name, "float32") for name in known])}


@pytest.mark.parametrize("function", FAULTS, ids=lambda function: function.__name__)
def test_a_fault_is_named_in_its_own_kind(planted: Found, function: object) -> None:
    fault = FAULTS[function]  # type: ignore[index]
    for direction, column, cell in planted[function.__name__]:  # type: ignore[attr-defined]
        varies = {(direction, kind) for kind in KINDS if cell.varies(kind)}
        assert varies == ({fault} if fault and fault[0] == direction else set()), (column, cell)
        assert cell.calls and not cell.raises


def test_what_is_sound_was_tried_in_every_way(planted: Found) -> None:
    for direction, column, cell in planted["held"]:
        assert cell.kinds == dict.fromkeys(KINDS), (direction, column)
    assert {column for _, column, _ in planted["held"]} == set(COLUMNS)
    seeded = planted["seeded"].cells["forward"]["torch"]
    assert "batch" not in seeded.kinds and DEVICE in seeded.kinds  # rows of random numbers are none alone


@pytest.fixture(scope="module")
def some_of_torch() -> Found:
    """Without other processes."""
    names = ["sum", "nn.functional.layer_norm", "mm", "put", "native_batch_norm", "argwhere"]
    measurer = worker.Measurer(entries(), RUN, ())
    return {pair[0]: row for pair, row in measurer.measure([(name, "float32") for name in names])}


@pytest.mark.parametrize(
    ("op", "direction", "kind"),
    [
        ("sum", "forward", "threads"),
        ("sum", "forward", "layout"),
        ("nn.functional.layer_norm", "backward", "threads"),
        ("mm", "forward", "batch"),
    ],
)
def test_what_is_known_of_torch_is_found(some_of_torch: Found, op: str, direction: str, kind: str) -> None:
    cells = some_of_torch[op].cells[direction]
    assert cells["torch"].varies(kind) and cells["deterministic"].varies(kind)
    assert kind in cells["repdl"].kinds


def test_nothing_varies_with_this_library(some_of_torch: Found) -> None:
    for op, row in some_of_torch.items():
        assert row.cells and not any(cell.seen for _, column, cell in row if column == "repdl"), op
        assert {kind for _, _, cell in row for kind in cell.kinds} <= {*KINDS} - {"instruction set", DEVICE}
    refused = some_of_torch["put"].cells["forward"]["deterministic"]
    assert refused.raises and "deterministic" in refused.refusal


def test_calls_are_small_and_above_the_sizes_of_forks() -> None:
    calls = Calls(entries()["nn.functional.layer_norm"], "float32")
    sizes = {form: [calls.make(label) for label in calls.labels(form)] for form in ("", "tiled", "rows")}
    for form, samples in sizes.items():
        most = max(x.numel() for sample in samples if sample is not None for x in sample.tensors())
        assert most < 100 if form == "" else 2**15 < most < 2**19, form
    tiled = sizes["tiled"][-1]
    assert tiled is not None and tiled.tensors()[1].shape == tiled.args[1]  # the weight has the normalized shape
    rows = next(sample for sample in sizes["rows"] if sample is not None).tensors()[0]
    assert not torch.equal(rows[0], rows[len(rows) // 2])  # rows alike would be like the mean of all of them
    assert calls.make("0") is not None and torch.equal(calls.plain["0"].tensors()[0], calls.make("0").tensors()[0])  # type: ignore[union-attr]


def test_a_process_that_ends_is_told_and_the_rest_goes_on() -> None:
    source, told, kept = "planted_entries:entries_that_end", [], []
    result = status.measure(
        source=source,
        alone=True,
        progress=lambda done, total, what: told.append((done, total, what)),
        partial=lambda result: kept.append(len(result.rows)),
    )
    assert [done for done, _, _ in told] == [1, 2, 3] and told[0][1] == 3
    assert result.of == {"float32": 3, "bfloat16": 0, "float64": 0} and not result.left
    ended = result.rows["ending"]["float32"]
    assert ended.fates and all(fate.startswith("crashes: repdl: 0") for fate in ended.fates)
    assert 0 < ended.cells["forward"]["repdl"].calls < ended.cells["forward"]["torch"].calls
    raising = result.rows["raising"]["float32"].cells["forward"]["repdl"]
    assert (raising.raises and raising.refusal.startswith("[repdl]")) or "linear_combination" in raising.refusal
    text = status.page(result)
    assert "ending of float32, crashes: repdl: 0" in text
    # What is known is not measured again, and another torch's is not gone on from.
    again = status.measure(source=source, alone=True, earlier=result, progress=lambda *_: pytest.fail("measured again"))
    assert again is result
    result.torch = "1.0"
    with pytest.raises(FormatError, match=r"of torch 1\.0"):
        status.measure(source=source, alone=True, earlier=result)


@pytest.fixture
def table() -> Status:
    cells = {
        "forward": {
            "torch": Cell(3, 0, {"run to run": None, "threads": 2, "layout": "x"}, {"threads": "0, 7 threads"}),
            "deterministic": Cell(3, 3, refusal="RuntimeError: none"),
            "repdl": Cell(3, 1, {"run to run": None, "threads": None}, refusal="no"),
        }
    }
    other = {"forward": {column: Cell(2, 0, {"threads": None}) for column in COLUMNS}}
    rows = {"sum": {"float32": Row(RUN, cells, cut=2)}, "abs": {"float32": Row(RUN, other), "float64": Row(RUN, other)}}
    return Status(torch.__version__, {"float32": 3, "float64": 2, "bfloat16": 0}, 61.0, rows)


def test_a_file_brings_back_what_was_measured(table: Status, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    table.save(path)
    again = Status.load(path)
    again.rows["sum"]["float32"].cells["forward"]["torch"].seen["layout"] = ""
    table.rows["sum"]["float32"].cells["forward"]["torch"].seen["layout"] = ""
    assert {op: dict(of) for op, of in again.rows.items()} == table.rows
    assert (again.torch, again.of, again.seconds, again.runs) == (table.torch, table.of, 61, table.runs)
    for text in ("", "[]", "{}", '{"format": "repdl status 0"}', '{"format": "repdl status 1"}'):
        path.write_text(text)
        with pytest.raises(FormatError, match=str(path)):
            Status.load(path)
    with pytest.raises(FormatError, match="cannot be read"):
        Status.load(tmp_path / "none.json")


def test_the_page_has_a_mark_for_each_column(table: Status) -> None:
    text = status.page(table, "a.json", "b.md")
    assert "| sum | ✓ / raises / ✓ | 2 / raises / ✓ | – / raises / – | x / raises / – |" in text
    assert "| abs | – | ✓ | – |" in text
    assert "| threads | 1 of 2 | 0 of 1 | 0 of 2 |" in text
    assert "| raise in all calls | 0 | 1 | 0 |" in text and "| raise in some | 0 | 0 | 1 |" in text
    assert "Not measured: 1 of 3 ops of float32, 1 of 2 ops of float64." in text
    assert "`use_deterministic_algorithms` raises, in some calls or all, of: sum." in text
    assert "repdl status --json a.json --page b.md" in text and "not measured: this machine has no GPU" in text
    assert "Under `repdl.enable()` no bit differed." in text
    table.rows["sum"]["float32"].cells["forward"]["repdl"].note("layout", 5, "0, stepped")
    assert "- sum of float32, forward: layout: 0, stepped, 5 ulp" in status.page(table)


@pytest.fixture
def measured(table: Status, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Arguments of `measure`, which gives the table."""
    given: list[object] = []

    def measure(ops: object, dtypes: object, **more: object) -> Status:
        given.extend([ops, dtypes, more["earlier"]])
        return table

    monkeypatch.setattr(status, "measure", measure)
    return given


def test_the_command_writes_what_it_measured(table: Status, measured: list[object], tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.json", "b.md")]
    arguments = ["status", "sum", "abs", "--dtype", "float32", "--json", files[0], "--page", files[1]]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert measured == [["sum", "abs"], ["float32"], None]
    assert "threads" in result.output and "sum" in result.output
    assert Path(files[1]).read_text() == status.page(Status.load(Path(files[0])), *files)
    table.rows["sum"]["float32"].cells["forward"]["repdl"].note("layout", 5, "0, stepped")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and "VARIES" in result.output
    assert isinstance(measured[-1], Status)


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    result = CliRunner().invoke(app, ["status", "sum", "--json", str(path)])
    assert result.exit_code == 2 and str(path) in result.output
    result = CliRunner().invoke(app, ["status", "summ"])
    assert result.exit_code == 2 and "did you mean" in result.output
    assert "no folder" in CliRunner().invoke(app, ["status", "--page", "none/at/all.md"]).output


def test_a_refusal_of_one_direction_leaves_the_other() -> None:
    known = entries("broken_entries:entries")["held"]
    (sample,) = known.samples("float32")

    class NoGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x + 1

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("no gradient here")

    found = trial.Trial(trial.Call(replace(sample, function=NoGradient.apply), True))
    assert set(found.refused) == {"backward"} and "no gradient here" in found.refused["backward"]
    assert set(found.results) == {"forward"}
