# SPDX-License-Identifier: MIT
"""`repdl conformance`: it passes here, names what is broken, and compares what two machines gave."""

from __future__ import annotations

import binascii
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import repdl
from repdl import _core, conformance
from repdl._op import registry
from repdl.cli.main import app
from repdl.conformance import GOLDEN, IncomparableError, Report, ReportError, Result, compare
from support import TARGETS, has_bfloat16, results_of

CASE = "mm(input=normal[5, 3]#1, mat2=normal[3, 7]#2, order='blocked')"
"""Its 35 elements have a mark each."""


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["conformance", *map(str, arguments)], env={"COLUMNS": "200"})


def other(digit: str) -> str:
    return "0" if digit == "f" else "f"


def broken_golden(folder: Path, element: int | None) -> Path:
    """A folder with mm.txt, in which the digest of CASE is wrong, and the mark of one element if that is given."""
    lines = (GOLDEN / "mm.txt").read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith(f"  {CASE}"))
    digest, marks, text = lines[at].split("  ", 2)
    digest = other(digest[0]) + digest[1:]
    if element is not None:
        marks = marks[: 4 * element] + other(marks[4 * element]) + marks[4 * element + 1 :]
    lines[at] = "  ".join((digest, marks, text))
    (folder / "mm.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def report() -> Report:
    return conformance.run(["mm", "softmax", "max_pool2d_grad"])


def test_this_machine_passes_on_every_target(report: Report) -> None:
    assert report.passed
    assert not report.failures
    assert list(report.seconds) == _core.places()
    cases = sum(len(conformance.golden_lines(op)) for op in ("mm", "softmax", "max_pool2d_grad"))
    for target in TARGETS:
        assert report.counts(target) == {"passed": cases}
        assert report.ops(target) == ["max_pool2d_grad", "mm", "softmax"]


def test_the_command_runs_a_subset() -> None:
    result = call("--op", "relu", "--op", "div", "--target", "scalar", "--threads", 3)
    assert result.exit_code == 0, result.output
    cases = len(conformance.golden_lines("relu")) + len(conformance.golden_lines("div"))
    assert f"scalar    2     {cases}      {cases}       0          0" in result.output
    assert f"arithmetic version {repdl.arithmetic_version}, threads: 3" in result.output
    assert "avx2" not in result.output


def test_target_and_threads_are_as_before() -> None:
    before = _core.active_target(), repdl.get_num_threads()
    for target in TARGETS:
        conformance.run(["div"], targets=[target], threads=3)
        assert (_core.active_target(), repdl.get_num_threads()) == before


def test_devices_and_targets_name_places() -> None:
    assert list(conformance.run(["div"], devices=["cpu"]).seconds) == TARGETS
    assert list(conformance.run(["div"], devices=["cpu"], targets=["scalar"]).seconds) == ["scalar"]


@pytest.mark.parametrize("element", [0, 10, 34])
def test_a_broken_line_is_named_with_op_case_and_element(element: int, tmp_path: Path) -> None:
    result = call("--op", "mm", "--target", "scalar", "--golden", broken_golden(tmp_path, element))
    assert result.exit_code == 1
    value = _core.ops["mm"](**_core.read_case(CASE)[1]).flat[element]
    where = f"output 0 at ({element // 7}, {element % 7}); got 0x{value.view(np.uint32):08x} ({value:.9g})"
    assert f"FAILED on scalar: mm\n    {CASE}\n    first difference: {where}" in result.output
    assert f"1 of {len(conformance.golden_lines('mm'))} cases failed." in result.output


def test_a_broken_digest_with_good_marks_fails_too(tmp_path: Path) -> None:
    report = conformance.run(["mm"], golden=broken_golden(tmp_path, None))
    assert not report.passed
    assert {failure.case for failure in report.failures} == {CASE}
    assert {failure.place for failure in report.failures} == {*_core.places()}
    assert all("no mark differs" in failure.detail for failure in report.failures)


@pytest.mark.parametrize("op", ["max_pool2d", "softmax", "exp", "batch_norm"])
def test_marks_are_the_checksums_that_the_files_say(op: str) -> None:
    for _, marks, text in conformance.golden_lines(op):
        arguments = _core.read_case(text)[1]
        if has_bfloat16(arguments):
            continue
        elements: list[bytes] = []
        for array in results_of(registry[op], arguments):
            if array.dtype.kind == "f":
                array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
            elements += [value.tobytes() for value in array.flat]
        size = max(1, -(-len(elements) // 64))
        blocks = [b"".join(elements[i : i + size]) for i in range(0, len(elements), size)]
        assert marks == ("".join(f"{binascii.crc_hqx(block, 0):04x}" for block in blocks) or "-"), text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--op", "sofmax"], ["no op 'sofmax'", "did you mean softmax", "There are"]),
        (["--target", "avx"], ["no CPU target 'avx'", "scalar"]),
        (["--device", "cuda:99"], ["no device 'cuda:99' here. There are: cpu"]),
        (["--device", "tpu"], ["no device 'tpu'", "There are: cpu"]),
        (["--threads", "0"], ["--threads"]),
        (["--golden", "no/such"], ["there is no golden file no/such"]),
        (["--json", "no/such/file.json"], ["there is no folder"]),
        (["--ops", "mm"], ["--op"]),
        (["run"], ["run"]),
    ],
)
def test_a_wrong_call_says_what_there_is(arguments: list[str], words: list[str]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert all(word in result.output for word in words), result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "line", ["0123", "xyz  -  mm()", f"{'0' * 64}  mm()", f"{'g' * 64}  -  mm()", f"{'0' * 64}  12345  mm()"]
)
def test_a_golden_file_that_is_none_says_where(line: str, tmp_path: Path) -> None:
    (tmp_path / "mm.txt").write_text(f"# a comment\n{line}\n")
    with pytest.raises(ValueError, match=r"mm\.txt, line 2: not `<digest>"):
        conformance.run(["mm"], golden=tmp_path)
    (tmp_path / "mm.txt").write_text("# a comment\n")
    with pytest.raises(ValueError, match="holds no case"):
        conformance.run(["mm"], golden=tmp_path)


def test_a_case_that_raises_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "mm.txt").write_text(f"{'0' * 64}  -  mm(input=normal[2, 3]#1, mat2=normal[2, 3]#1)\n")
    report = conformance.run(["mm"], targets=["scalar"], golden=tmp_path)
    (failure,) = report.failures
    assert failure.digest is None
    assert failure.detail.startswith("ValueError: [mm] mat2")


def test_a_report_survives_its_file(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report.save(path)
    again = Report.load(path)
    key = lambda result: (result.place, result.op, result.case)  # noqa: E731
    assert sorted(again.results, key=key) == sorted(report.results, key=key)
    assert (again.machine, again.threads, again.seconds) == (report.machine, report.threads, report.seconds)
    assert again.arithmetic_version == repdl.arithmetic_version


def write(path: Path, *results: Result, version: int = 1) -> Path:
    Report({}, version, 2, list(results)).save(path)
    return path


def changed(path: Path, to: Path) -> Path:
    """A copy of a report in which one digest of one target is another."""
    report = Report.load(path)
    at = next(i for i, result in enumerate(report.results) if result.case == CASE)
    old = report.results[at]
    assert old.digest is not None
    report.results[at] = Result(old.op, old.case, old.place, "failed", old.digest[::-1], "broken")
    report.save(to)
    return to


def test_diff_finds_one_changed_digest(tmp_path: Path) -> None:
    left, subset = tmp_path / "left.json", tmp_path / "subset.json"
    assert call("--op", "mm", "--op", "div", "--json", left).exit_code == 0
    assert call("--op", "mm", "--target", "scalar", "--json", subset).exit_code == 0
    right = changed(left, tmp_path / "right.json")

    result = call("diff", left, right)
    assert result.exit_code == 1
    assert result.output.count("DIFFERENT") == 1
    assert f"DIFFERENT: mm\n    {CASE}\n" in result.output
    cases = len(conformance.golden_lines("mm")) + len(conformance.golden_lines("div"))
    assert f"equal {cases - 1}" in " ".join(result.output.split())

    result = call("diff", left, subset)
    assert result.exit_code == 0
    assert "div" in next(line for line in result.output.splitlines() if line.startswith("only in") and "left" in line)
    # Both may be wrong, as long as they are wrong alike.
    assert call("diff", right, right).exit_code == (1 if len(TARGETS) > 1 else 0)


def test_diff_refuses_what_cannot_be_compared(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", Result("mm", CASE, "scalar", "passed", "00"))
    two = write(tmp_path / "two.json", Result("mm", CASE, "scalar", "passed", "00"), version=2)
    result = call("diff", one, two)
    assert result.exit_code == 2
    assert "the arithmetic versions are 1 and 2: their bits are not comparable" in result.output
    with pytest.raises(IncomparableError):
        compare(Report.load(one), Report.load(two))
    none = write(tmp_path / "none.json", Result("mm", CASE, "cuda:0", "no kernel"))
    result = call("diff", one, none)
    assert result.exit_code == 2
    assert "no case has a digest in both" in result.output


GOOD = {"format": "repdl conformance 1", "arithmetic_version": 1, "threads": 1, "machine": {}, "seconds": {}, "ops": {}}
OUTCOME = {"status": "passed", "digest": "00", "detail": "", "places": ["scalar"]}


def with_outcome(**change: object) -> str:
    return json.dumps({**GOOD, "ops": {"mm": {CASE: [{**OUTCOME, **change}]}}})


def test_the_good_page_is_good(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_text(with_outcome())
    assert Report.load(tmp_path / "page.json").results == [Result("mm", CASE, "scalar", "passed", "00")]


@pytest.mark.parametrize(
    "page",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"format": 3}',
        json.dumps({**GOOD, "threads": "two"}),
        json.dumps({**GOOD, "ops": []}),
        json.dumps({**GOOD, "seconds": {"scalar": "fast"}}),
        json.dumps({**GOOD, "seconds": {"scalar": None}}),
        json.dumps({**GOOD, "ops": {"mm": []}}),
        json.dumps({**GOOD, "ops": {"mm": {CASE: {}}}}),
        json.dumps({**GOOD, "ops": {"mm": {CASE: [3]}}}),
        with_outcome(status="fine"),
        with_outcome(digest=3),
        with_outcome(places="scalar"),
        with_outcome(detail=None),
        "\xff\xfe",
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_foreign_files_are_an_error_with_their_name(page: str, tmp_path: Path) -> None:
    path = tmp_path / "page.json"
    path.write_bytes(page.encode("latin-1"))
    with pytest.raises(ReportError, match=r"page\.json"):
        Report.load(path)
    result = call("diff", path, path)
    assert result.exit_code == 2
    assert "page.json" in result.output


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = call("diff", tmp_path / "nothing.json", tmp_path)
    assert result.exit_code == 2
    assert "nothing.json cannot be read" in result.output


def test_missing_kernels_are_named_and_do_not_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_case = _core.run_case

    def without_div(text: str, place: str, threads: int) -> str:
        if text.startswith("div"):
            raise NotImplementedError("[div] has no kernel")
        return run_case(text, place, threads)

    monkeypatch.setattr(_core, "run_case", without_div)
    path = tmp_path / "report.json"
    result = call("--op", "div", "--op", "relu", "--target", "scalar", "--json", path)
    assert result.exit_code == 0
    assert "no kernel for scalar: div" in result.output
    assert Report.load(path).ops("scalar", "no kernel") == ["div"]
    assert Report.load(path).ops("scalar", "passed") == ["relu"]
    result = call("--op", "div", "--target", "scalar")
    assert result.exit_code == 1
    assert "No case could be run." in result.output


def test_help_reads_well() -> None:
    output = call("--help").output
    for word in ("--op", "--target", "--device", "--threads", "--json", "diff", "Exit status"):
        assert word in output
