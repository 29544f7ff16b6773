# SPDX-License-Identifier: MIT
"""`repdl bisect`: the op is found with few runs, and what cannot be compared is said."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from typer.testing import CliRunner

from repdl.cli.main import app
from repdl.runs import bisect
from repdl.runs.bisect import Bisected, Bisection
from repdl.runs.command import Command
from repdl.runs.file import RecordError
from repdl.runs.recorder import recording
from repdl.runs.run import Run
from repdl.runs.sentence import place, sentence
from repdl.runs.stretch import Stretch
from repdl.runs.window import Window
from runs import Program


class LeftError(BaseException):
    """In the place of the end of a process."""


class Leaving(Stretch):
    def leave(self) -> None:
        raise LeftError


class Here(Command):
    """Runs a program in this process."""

    program_here: Program

    def record(self, path: Path, steps: range, window: Window) -> int:
        torch.manual_seed(0)
        try:
            with recording(path, steps, quiet=True, kind=Leaving, window=window):
                self.program_here()
        except LeftError:
            return 0
        except RuntimeError:
            return 1
        return 0


def here(program: Program) -> Here:
    command = Here("", {}, (), False, ("program.py",))
    object.__setattr__(command, "program_here", program)
    return command


def bisected(folder: Path, good: Program, bad: Program) -> tuple[Bisected, str, Bisection]:
    bisection = Bisection({"good": here(good), "bad": here(bad)}, folder, lambda text: None)
    result = bisection.find()
    return result, sentence(result.found, result.a.run, result.b.run), bisection


def trained(fault: Callable[[int, nn.Module, torch.Tensor], torch.Tensor] = lambda step, model, x: x) -> Program:
    def program() -> None:
        model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(6):
            model.train()
            optimizer.zero_grad()
            fault(step, model, model(torch.randn(5, 4))).square().sum().backward()
            optimizer.step()
        model.eval()(torch.ones(1, 4)).sum().item()

    return program


def at_step(number: int, change: Callable[..., torch.Tensor]) -> Program:
    return trained(lambda step, model, x: change(model, x) if step == number else x)


def scaled_statistics(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    model.get_buffer("1.running_mean").data.mul_(2)
    return x


def failing(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    raise RuntimeError


def test_ops_of_two_steps_are_enough(tmp_path: Path) -> None:
    result, text, bisection = bisected(tmp_path, trained(), at_step(3, lambda model, x: x.mul(1.0001)))
    assert text.startswith(
        "The first difference is in step 3, forward, aten::mul.Tensor at tests/python/test_bisect.py"
    )
    assert bisection.runs == 4 and result.notes == []
    for run in (result.a.run, result.b.run):
        assert run.end is not None and run.end["status"] == "reached"
        assert {call.step for call in run.calls_from(0) if call.name == "aten::addmm"} == {2, 3}
    outline = Run(tmp_path / "good1")
    assert not [call for call in outline.calls_from(0) if call.name == "aten::addmm"] and outline.steps == 7


def test_what_shows_late_is_found_where_it_was_written(tmp_path: Path) -> None:
    result, text, bisection = bisected(tmp_path, trained(), at_step(1, scaled_statistics))
    assert "is in step 1, forward, aten::detach at" in text and "run B has this op and the 1 after it" in text, text
    assert bisection.runs == 6 and result.notes == []


def test_before_the_first_step(tmp_path: Path) -> None:
    _, text, bisection = bisected(tmp_path, trained(), lambda: [torch.rand(1), trained()()])
    assert "in step 0, forward, aten::rand at" in text and bisection.runs == 4


def test_equal_commands(tmp_path: Path) -> None:
    result, text, bisection = bisected(tmp_path, trained(), trained())
    assert result.found is None and bisection.runs == 4 and result.notes == []
    assert re.fullmatch(r"No difference: \d{3} ops in 7 steps are equal\.", text)


def test_long_commands_are_compared_whole_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that differs, of which the program reads nothing."""
    monkeypatch.setattr(bisect, "SAMPLED", 50)
    monkeypatch.setattr(bisect, "SHORT", 1)
    good, bad = (at_step(3, lambda model, x, factor=factor: [x, x.sum().mul(factor)][0]) for factor in (2, 3))
    result, text, bisection = bisected(tmp_path, good, bad)
    assert result.found is None and bisection.runs == 2
    assert text.startswith("No difference: the batches, parameters, optimizers,") and text.endswith("in 7 steps.")
    assert result.notes == ["Of ops the result of one in 50 was compared: `repdl bisect --every-op` compares each."]
    thorough = Bisection({"good": here(good), "bad": here(bad)}, tmp_path, lambda text: None, is_thorough=True).find()
    assert thorough.found is not None and place(thorough.found.call).startswith("step 3, forward, aten::mul.Tensor at")


def test_what_no_read_number_shows_is_found_in_short_commands(tmp_path: Path) -> None:
    result, text, bisection = bisected(tmp_path, trained(), at_step(3, lambda model, x: [x, x.sum().mul(3)][0]))
    assert "is in step 3, forward, aten::sum at" in text and bisection.runs == 5 and result.notes == []


def test_a_command_that_fails(tmp_path: Path) -> None:
    result, text, _ = bisected(tmp_path, trained(), at_step(2, failing))
    assert "in step 2, forward, aten::pow.Tensor_Scalar" in text and "run B ended and run A went on" in text
    assert result.notes == ["The bad command ended with exit status 1."]
    both, text, _ = bisected(tmp_path, at_step(2, failing), at_step(2, failing))
    assert both.found is None and len(both.notes) == 2
    nothing = Command("", {}, ("/bin/false",), False, ("program.py",))
    with pytest.raises(RecordError, match="the good command could not be run: it ended with exit status 1"):
        Bisection({"good": nothing, "bad": here(trained())}, tmp_path, lambda text: None).find()


@pytest.mark.parametrize("name", ["good", "bad"])
def test_a_command_that_differs_from_itself(tmp_path: Path, name: str) -> None:
    runs = itertools.count()

    def racing() -> None:
        factor = 1 + next(runs) % 3
        at_step(4, lambda model, x: torch.Tensor.mul(x, torch.tensor(factor)))()

    def other() -> None:
        at_step(4, lambda model, x: torch.Tensor.mul(x, torch.tensor(1)))()

    programs = (racing, at_step(4, lambda model, x: x.neg())) if name == "good" else (other, racing)
    next(runs)
    result, text, _ = bisected(tmp_path, *programs)
    assert "in step 4, forward, aten::" in text
    if name == "good":
        assert result.notes == ["The good command differs from itself: A and B are two runs of it."]
        assert "aten::lift_fresh" in text
    else:
        assert any("The bad command differs from itself" in note for note in result.notes)


def test_commands_that_both_fail_at_once(tmp_path: Path) -> None:
    def fails() -> None:
        raise RuntimeError

    with pytest.raises(RecordError, match=r"neither command could be run: before any op the good one .* status 1 and"):
        bisected(tmp_path, fails, fails)


def test_other_exit_statuses_are_a_difference(tmp_path: Path) -> None:
    def program(fails: bool) -> Program:
        def run() -> None:
            torch.ones(2).exp()
            if fails:
                raise RuntimeError

        return run

    result, _, _ = bisected(tmp_path, program(False), program(True))
    assert not result.is_equal and "The bad command ended with exit status 1." in result.notes
    result, _, _ = bisected(tmp_path, program(True), program(True))
    assert result.is_equal


def test_programs_without_steps_and_modules(tmp_path: Path) -> None:
    def program(factor: float) -> Program:
        return lambda: (torch.ones(3) * factor).exp()

    result, text, bisection = bisected(tmp_path, program(1), program(2))
    assert "aten::mul.Tensor" in text and bisection.runs == 5 and result.found is not None
    assert bisected(tmp_path, program(1), program(1))[0].found is None
    count = itertools.count()
    result, text, _ = bisected(tmp_path, lambda: program(next(count))(), program(2))
    assert result.notes == ["The good command differs from itself: A and B are two runs of it."]


beside = np.zeros((2, 4), "f")
"""Memory that programs write past torch."""


def without_steps(change: Callable[[int, torch.Tensor], object], has_model: bool) -> Program:
    """40 rounds of 14 ops, some of memory that nothing has written."""

    def program() -> None:
        model = nn.Linear(4, 4)
        beside[:] = 0
        x, kept = torch.ones(2, 4), torch.from_numpy(beside)
        for number in range(40):
            torch.empty(1000).view(10, 100).t()[:5].fill_(number)
            change(number, kept)
            y = model(x) if has_model else x @ model.weight
            x = y.detach().tanh() + (kept if number == 25 else y.detach()).sin()

    return program


@pytest.mark.parametrize("has_model", [False, True])
def test_programs_without_optimizers_are_narrowed_down(
    tmp_path: Path, has_model: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bisect, "SAMPLED", 20)

    def nothing(number: int, kept: torch.Tensor) -> None:
        pass

    def another_op(number: int, kept: torch.Tensor) -> object:
        return number == 23 and kept.add_(1)

    def past_torch(number: int, kept: torch.Tensor) -> object:
        return number == 3 and beside.__setitem__(0, 1)

    def compared(change: Callable[[int, torch.Tensor], object]) -> tuple[str, int, int]:
        programs = [without_steps(each, has_model) for each in (nothing, change)]
        result, text, bisection = bisected(tmp_path, *programs)
        ops = [call for call in result.a.run.calls_from(0) if "::" in call.name]
        assert result.notes == [] or result.found is None
        return text, len(ops), bisection.runs

    text, ops, runs = compared(another_op)
    assert "in step 0, forward, aten::add_.Tensor at" in text and runs == 4 and 15 < ops < 70, text
    text, ops, runs = compared(past_torch)
    assert "differed already, and no recorded op has written it" in text, text
    assert runs == 6 and 200 < ops < 450
    text, ops, runs = compared(nothing)
    assert text.startswith("No difference") and runs == (2 if has_model else 4)


COMMANDS = {
    "train.py --lr '1 2'": ({}, (sys.executable,), False, ("train.py", "--lr", "1 2")),
    "A=1 B='x y' python3.12 -u -W ignore -m pkg.train -m": (
        *({"A": "1", "B": "x y"}, (sys.executable, "-u", "-W", "ignore")),
        *(True, ("pkg.train", "-m")),
    ),
    "/env/bin/python train.py A=1": ({}, ("/env/bin/python",), False, ("train.py", "A=1")),
}


@pytest.mark.parametrize("text", COMMANDS)
def test_commands(text: str) -> None:
    assert Command.read(text) == Command(text, *COMMANDS[text])


def test_the_whole_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(
        "import os, sys, torch\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "for step in range(int(sys.argv[1])):\n"
        "    (w * float(os.environ.get('FACTOR', 1))).sum().backward()\n"
        "    torch.optim.SGD([w], 0.1).step()\n"
        "print('whole')\n"
    )
    options = ["--json", "--html", "page.html", "-o", "kept", "--capture", "tensors"]
    shown = CliRunner().invoke(
        app, ["bisect", "--good", "program.py 2", "--bad", "FACTOR=2 python -u program.py 2", *options]
    )
    assert shown.exit_code == 1, shown.output
    values = json.loads(shown.stdout)
    assert values["sentence"].startswith(
        "The first difference is in step 0, forward, aten::mul.Tensor at program.py:4:"
    )
    assert values["runs_made"] == 4 and values["notes"] == [] and "program.py:4" in Path("page.html").read_text()
    assert Run(Path("kept", "bad4")).steps == 1
    tensors = load_file("tensors")
    assert tensors["A.input.self"].tolist() == [1, 1] and "1.0 in A and 2.0 in B" in values["captured"]["sentence"]
    assert (tensors["A.output.0"].tolist(), tensors["B.output.0"].tolist()) == ([1, 1], [2, 2])
    for wrong in ("", "-c pass", "A=1", "'", "none.py"):
        result = CliRunner().invoke(app, ["bisect", "--good", wrong, "--bad", "program.py 1"])
        assert result.exit_code == 2 and "Traceback" not in result.output


def test_a_bisection_that_is_ended_leaves_nothing_that_runs(tmp_path: Path) -> None:
    begun, records = tmp_path / "begun", tmp_path / "temporary"
    records.mkdir()
    text = f"import os, time\nopen({str(begun)!r}, 'x').write(str(os.getpid()))\ntime.sleep(600)\n"
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, "-m", "repdl", "bisect", "--good", "program.py", "--bad", "program.py"]
    environment = os.environ | {"TMPDIR": str(records)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.05)
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM and list(records.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
