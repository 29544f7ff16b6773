# SPDX-License-Identifier: MIT
"""`repdl diff --cause`: what is planted is named as the cause, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

import planted_ops
from repdl._content import UNHASHED
from repdl.cli.main import app
from repdl.cli.record import command
from repdl.experiments import Engine
from repdl.experiments.compare import Answer
from repdl.experiments.settings import threads
from repdl.runs import capture, cause, difference
from repdl.runs.again import unlike
from repdl.runs.cause import Cause, Way
from repdl.runs.columns import Call, Value
from repdl.runs.difference import Difference
from repdl.runs.run import Run
from runs import Program, again, of_script, recorded, with_threads

planted = torch.ops.planted_ops
aten = torch.ops.aten


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Without other processes."""
    with Engine(["run to run", "threads", "layout", "precision"], hashing=True) as engine:
        yield engine


def called(op: Any, *args: Any) -> Program:
    """A program in which one op is called after others."""

    def program() -> None:
        torch.ones(3).exp()
        op(*args or (torch.linspace(-3, 3, 24).reshape(6, 4),))

    return program


def first_difference(folder: Path, a: Program, b: Program) -> Difference:
    found = difference.find(recorded(folder / "a", a), recorded(folder / "b", b))
    assert found is not None and found.kind == "result"
    return found


def cause_of(folder: Path, a: Program, b: Program, engine: Engine, of_b: dict[str, Any] | None = None) -> Cause:
    found = first_difference(folder, a, b)
    assert found.a is not None and found.b is not None
    return cause.read(again(folder, a, found.a, engine, of_b, found.b), found.a, found.b)


def ways(found: Cause, gives: str) -> set[str]:
    return {way.name for way in found.ways if way.gives == gives}


def test_an_op_that_depends_on_threads(tmp_path: Path, engine: Engine) -> None:
    program = called(planted.threads)
    found = cause_of(tmp_path, with_threads(1, program), with_threads(2, program), engine)
    assert (
        found.here == "A" and ways(found, "B") == {"2 threads"} and ways(found, "other") == {"3 threads", "7 threads"}
    )
    assert found.sentence.startswith(
        "The cause is the number of threads: made again with 2 threads it gives B's result"
    )
    assert (
        "24 of 24 numbers differ" in found.sentence and "[0, 0] of output 0, -2.0 in A and -1.0 in B" in found.sentence
    )
    assert {"run 1", "run 4", "transposed", "misaligned"} <= ways(found, "A")


def test_an_op_that_depends_on_the_run(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(first: int) -> Program:
        def program() -> None:
            monkeypatch.setattr(planted_ops, "_calls", iter(range(first, 1000)))
            called(planted.racy)()

        return program

    # The program's own call is the first, 0; whole of the experiments and of the engine 1 and 2, and so on.
    found = cause_of(tmp_path, counting(0), counting(4), engine)
    assert found.here == "A" and ways(found, "B") == {"run 3"}
    assert "The cause is the op itself, which varies from run to run: made again with nothing changed, run 3," in (
        found.sentence
    )
    assert {way.kind for way in found.ways} == {"run to run"}
    found = cause_of(tmp_path, counting(0), counting(500), engine)
    assert found.sentence == "Nothing that was tried gives B's result; its bits vary, to others, with the run."


def test_an_op_that_was_replaced(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def one_bit_off() -> None:
        monkeypatch.setattr(planted_ops, "_calls", iter([0.5]))
        called(planted.racy)()

    def constant() -> None:
        monkeypatch.setattr(planted_ops, "_calls", iter([0.0] * 100))
        called(planted.racy)()

    found = cause_of(tmp_path, constant, one_bit_off, engine)
    assert found.here == "A" and not found.found
    assert found.sentence == (
        "Nothing that was tried gives B's result; its bits do not depend on the run, the choice of torch's "
        "algorithms, the number of threads or the layout of its inputs."
    )


def test_where_the_program_gives_the_result_of_the_other_run(tmp_path: Path, engine: Engine) -> None:
    """Run A was on another machine, whose settings this one does not have by itself."""
    program = called(planted.threads)
    found = first_difference(tmp_path, with_threads(3, program), with_threads(1, program))
    assert found.a is not None and found.b is not None
    here = cause.read(again(tmp_path, with_threads(1, program), found.a, engine), found.a, found.b)
    assert here.here == "B" and ways(here, "A") == {"3 threads"}
    assert here.sentence.startswith(
        "In A's program, run again on this machine, it gives B's result. The cause is the n"
    )
    assert "with 3 threads it gives A's result" in here.sentence and ", 0.0 in A and -2.0 in B" in here.sentence


def test_threads_that_only_run_b_has(tmp_path: Path) -> None:
    program = called(planted.threads)
    a, b = with_threads(1, program), with_threads(5, program)
    with Engine(["run to run"], hashing=True) as engine:
        found = cause_of(tmp_path, a, b, engine, {"threads": 5})
    assert ways(found, "B") == {"5 threads"} and "The cause is the settings of the runs: made again" in found.sentence


def test_a_setting_that_is_told_twice_is_tried_once(tmp_path: Path) -> None:
    program = called(planted.threads)
    of_b = {"threads": 5, "capability": "default", "environment": {"ATEN_CPU_CAPABILITY": "default"}}
    with Engine(["run to run"], hashing=True) as engine:
        found = cause_of(tmp_path, with_threads(1, program), with_threads(5, program), engine, of_b)
    together = "5 threads and ATEN_CPU_CAPABILITY=default"
    assert together in ways(found, "B")
    assert {way.name for way in found.ways if way.kind == "settings"} <= {
        "5 threads",
        "ATEN_CPU_CAPABILITY=default",
        together,
    }


def test_all_results_that_are_known_must_be_those_of_a_run() -> None:
    def call(*hashes: bytes) -> Call:
        return Call(0, 0, "op", "", "forward", "", "", (), tuple(Value("x", h) for h in hashes), None, False, b"")

    one, two, three = (bytes([n]) * 16 for n in (1, 2, 3))
    a, b = call(one, two, UNHASHED), call(one, three, UNHASHED)
    for hashes, name in (
        ([one, two, one], "A"),
        ([one, three, two], "B"),
        ([None, three, None], "B"),
        ([one, one, one], "other"),
        ([two, three, one], "other"),
    ):
        assert cause.gives([h and h.hex() for h in hashes], a, b) == name
    told = {"untried": "", "here": [one.hex(), None, None], "ways": []}
    assert "what differs of its results cannot be made again" in cause.read(told, a, b).sentence


def test_the_simplest_is_named() -> None:
    ways = [
        Way("settings", "5 threads", Answer(), "A"),
        Way("settings", "5 threads and repdl.enable()", Answer(), "B"),
        Way("threads", "2 threads", Answer(), "B"),
        Way("threads", "3 threads", Answer(refused="it does not run"), "refused"),
        Way("instructions", "ATEN_CPU_CAPABILITY=default", Answer(), "B"),
    ]
    assert Cause("", "A", ways).sentence == (
        "The cause is the number of threads or the instruction set: made again with 2 threads or with "
        "ATEN_CPU_CAPABILITY=default it gives B's result."
    )
    assert (
        "the settings of the runs: made again with 5 threads and repdl.enable() it" in Cause("", "A", ways[:2]).sentence
    )
    assert Cause("", "other", ways[:1]).sentence == (
        "In A's program, run again on this machine, it gives the result of neither run. Nothing that was tried "
        "gives B's result; its bits vary, to others, with the settings of the runs."
    )


CALLS = {
    "batch norm": (
        aten.native_batch_norm.default, torch.ones(4, 2), None, None, torch.zeros(2), torch.ones(2), True, 0.1, 1e-5,
    ),
    "in place": (aten.addcmul_.default, torch.ones(3), torch.ones(3), torch.full((3,), 2.0)),
    "lists": (aten._foreach_mul_.Scalar, [torch.ones(2), torch.ones(3)], 3.0),
    "tuple": (aten.max.dim, torch.arange(6.0).reshape(2, 3), 1),
    "drawn": (aten.native_dropout.default, torch.ones(50), 0.5, True),
    "no tensor": (aten.equal.default, torch.ones(2), torch.ones(2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_hashes_are_those_of_the_record(tmp_path: Path, name: str) -> None:
    op, *args = CALLS[name]

    def program() -> None:
        op(*[[x.clone() for x in a] if isinstance(a, list) else a.clone() if hasattr(a, "clone") else a for a in args])

    run = recorded(tmp_path / "a", program)
    (call,) = [call for call in run.calls_from(0) if call.name.startswith(op._schema.name)]
    with Engine(["run to run"], hashing=True) as engine:
        told = again(tmp_path, program, call, engine)
    hashes = [value.hash.hex() for value in call.outputs]
    for given in [told["here"], *(way["answer"]["hashes"] for way in told["ways"])]:
        assert given == [None if name == "batch norm" and i < 2 else h for i, h in enumerate(hashes)]
    assert not call.outputs or cause.gives(told["here"], call, call) == "A"


def test_a_call_that_cannot_be_made_again(tmp_path: Path, engine: Engine) -> None:
    def program(x: float) -> Program:
        return called(aten.mul.Tensor, torch.eye(3).to_sparse(), torch.tensor(x))

    run = recorded(tmp_path / "a", program(2.0))
    (call,) = [call for call in run.calls_from(0) if call.name == "aten::mul.Tensor"]
    told = again(tmp_path, program(2.0), call, engine)
    assert cause.read(told, call, call).sentence == (
        "The cause was not looked for: the call cannot be made again: a tensor is not plain: sparse, nested, "
        "quantized or lazily conjugated."
    )


def test_the_command_of_one_process_of_several_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert command("a.py", ["--x"], True) == {"program": ["a.py", "--x"], "is_module": True, "directory": os.getcwd()}
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert command("a.py", ["--x"], True) == {}


def test_the_whole_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A program that is run again in another process, and an op that depends on what libraries may use."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    script = tmp_path / "script.py"
    script.write_text(
        "import planted_ops, torch\n"
        "print('of the program')\n"
        "w = torch.full((3,), 0.5, requires_grad=True)\n"
        "for _ in range(2):\n"
        "    w.mul(2).sum().backward()\n"
        "    torch.optim.SGD([w], 0.1).step()\n"
        "torch.ops.planted_ops.libraries(w.detach())\n"
        "open('went on', 'w').close()\n"
    )
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")  # below it there are no others to be tried
    monkeypatch.chdir(tmp_path)
    of_script(tmp_path / "a", script)
    with monkeypatch.context() as patch:
        patch.setenv("MKL_CBWR", "COMPATIBLE")
        of_script(tmp_path / "b", script)
    (tmp_path / "went on").unlink()
    capfd.readouterr()
    result = CliRunner().invoke(app, ["diff", "a", "b", "--cause", "--json", "--html", "page.html"])
    assert result.exit_code == 1, result.output
    values = json.loads(result.stdout)
    named = (
        "The cause is the instruction set: made again with MKL and oneDNN held back it gives B's result; 3 of 3 numbers"
    )
    assert values["cause"]["sentence"].startswith(named) and values["sentence"].endswith(values["cause"]["sentence"])
    assert {way["way"] for way in values["cause"]["ways"] if way["gives"] == "B"} == {
        "MKL and oneDNN held back",
        "MKL_CBWR=COMPATIBLE",
    }
    assert {"another process", "3 threads"} <= {way["way"] for way in values["cause"]["ways"] if way["gives"] == "A"}
    assert "MKL and oneDNN held back" in (tmp_path / "page.html").read_text()
    printed = capfd.readouterr()
    assert "of the program" in printed.err and "of the program" not in printed.out
    assert not (tmp_path / "went on").exists()


def test_captured_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two programs that are run again in other processes."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    for name, threads_of in (("a", 1), ("b", 2)):
        script = tmp_path / f"{name}.py"
        script.write_text(
            f"import planted_ops, torch\ntorch.set_num_threads({threads_of})\n"
            "torch.ops.planted_ops.threads(torch.ones(2, 3).t())\n"
        )
        with threads(1):
            of_script(tmp_path / name, script)
    paths = str(tmp_path / "a"), str(tmp_path / "b")
    file = tmp_path / "tensors"
    shown = CliRunner().invoke(app, ["diff", *paths, "--capture", str(file), "--json"])
    assert shown.exit_code == 1, shown.output
    captured = json.loads(shown.stdout)["captured"]["sentence"]
    assert captured.startswith(
        f"The tensors of that op are in {file}. Of its results 6 of 6 numbers differ, by at most "
    )
    assert captured.endswith("first [0, 0] of output 0, 2.0 in A and 3.0 in B.")
    tensors = load_file(file)
    assert {name: x.tolist() for name, x in tensors.items()} == {
        "A.input.x": [[1.0] * 2] * 3,
        "B.input.x": [[1.0] * 2] * 3,
        "A.output.0": [[2.0] * 2] * 3,
        "B.output.0": [[3.0] * 2] * 3,
    }
    (tmp_path / "b.py").unlink()
    file.unlink()
    found = difference.find(Run(tmp_path / "a"), Run(tmp_path / "b"))
    assert found is not None
    problems = capture.capture(found, Run(tmp_path / "b"), Run(tmp_path / "b"), file).sentence
    assert problems.startswith("No tensors were captured. Run A cannot be run again, since there is no")


def test_a_program_that_does_not_run_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    script = tmp_path / "script.py"
    script.write_text("import planted_ops, torch\ntorch.ops.planted_ops.threads(torch.rand(3))\n")
    for name, count in (("a", 1), ("b", 2)):
        torch.manual_seed(12)
        with threads(count):
            of_script(tmp_path / name, script)
    shown = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--cause"])
    assert shown.exit_code == 1
    first = shown.stdout.splitlines()[0]
    assert (
        "not looked for: A's program does not run alike when it is run again: in step 0, forward, aten::rand at"
        in first
    )
    assert first.endswith("/script.py:2, torch's generator is in another state.")
    script.unlink()
    shown = CliRunner().invoke(app, ["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--cause"])
    assert f"run A cannot be run again, since there is no {script}." in shown.stdout


def test_how_a_program_may_not_run_alike(tmp_path: Path) -> None:
    ones, zeros = np.ones(3), np.zeros(3)  # which no op writes

    def program(values: Any, count: int, factor: int) -> Program:
        return with_threads(count, lambda: planted.threads(torch.from_numpy(values)).mul(factor))

    a = recorded(tmp_path / "a", program(ones, 1, 2))
    programs: dict[str, Program] = {
        "ended before that op, with exit status 3": with_threads(1, lambda: planted.threads(torch.from_numpy(ones))),
        "the inputs are other ones": program(zeros, 1, 2),
        "the result is another one": program(ones, 2, 2),
        "it has other arguments": program(ones, 1, 3),
        "another op is called": lambda: torch.from_numpy(ones).exp(),
    }
    for text, other in programs.items():
        recorded(tmp_path / "again", other)
        assert text in unlike("A", a, tmp_path / "again", 3), text
    assert unlike("A", a, tmp_path / "none", 3).endswith("could not be run again, it ended with exit status 3")


def test_runs_of_which_no_cause_is_looked_for(tmp_path: Path) -> None:
    program = called(planted.threads)
    first_difference(tmp_path, with_threads(1, program), with_threads(2, program))
    paths = str(tmp_path / "a"), str(tmp_path / "b")
    shown = CliRunner().invoke(app, ["diff", *paths, "--cause", "--json"])
    assert shown.exit_code == 1
    told = json.loads(shown.stdout)["cause"]
    assert told["ways"] == [] and told["untried"].startswith(
        "run A cannot be run again, since it is of `with repdl.rec"
    )
    recorded(tmp_path / "b", lambda: torch.ones(3).sin())
    shown = CliRunner().invoke(app, ["diff", *paths, "--cause"])
    assert shown.exit_code == 1 and "not looked for: experiments find it only of an op" in shown.stdout
    shown = CliRunner().invoke(app, ["diff", paths[0], paths[0], "--cause"])
    assert shown.exit_code == 0 and "cause" not in shown.stdout


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """In the process that runs the program again, which ends there."""
    (tmp_path / "part").symlink_to("/dev/full")
    program = (
        "import sys; from pathlib import Path; from repdl.runs.rerun import _answer; _answer(Path(sys.argv[1]), {})"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "answer cannot be written: No space left on device" in result.stderr
    assert not (tmp_path / "answer").exists()
