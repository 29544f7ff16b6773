# SPDX-License-Identifier: MIT
"""What a program may choose for torch's kernels: it is read by any of torch's names, tried, and given back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import planted_ops
import repdl
from repdl.experiments import Engine, mending, take
from repdl.experiments.program import measuring
from repdl.experiments.settings import State
from repdl.interception import choices
from repdl.runs import cause, difference, settings
from runs import Program, again, recorded
from support import run_python

planted = torch.ops.planted_ops
X = torch.linspace(-3, 3, 24).reshape(6, 4)


@pytest.fixture(autouse=True)
def _given_back() -> Iterator[None]:
    before = [choice.now() for choice in choices.CHOICES]
    yield
    after = [choice.now() for choice in choices.CHOICES]
    torch.set_float32_matmul_precision("highest")
    assert before == after


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Without other processes."""
    with Engine(["run to run", "threads", "layout", "precision", "device"], hashing=True) as engine:
        yield engine


@pytest.fixture
def newer_names() -> Iterator[None]:
    """As a program uses them, after which torch does not tell the precision by the older name."""
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("this torch has no newer names")
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
        torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision("highest")


def test_a_program_that_uses_the_newer_names(tmp_path: Path, newer_names: None, engine: Engine) -> None:
    run = recorded(tmp_path / "a", lambda: X.exp())
    (state,) = {call.text for call in run.calls_from(0) if call.name == "random generators"}
    told = settings.read(state)["precision of float32 products"]
    assert told.startswith("cuda.matmul=tf32 ") and "mkldnn.matmul=" in told and choices.float32_precision() == told
    with measuring(engine, 1) as measurement:
        X.exp()
    assert measurement.ops["aten::exp"].kinds["precision"] == 1
    state_now = State.now()
    assert state_now.precision == told
    with choices.PRECISION.made("highest"):
        assert torch.get_float32_matmul_precision() == "highest"
    assert choices.float32_precision() == told
    with pytest.raises(ValueError, match=r"cuda\.matmul\.fp32_precision is 'tf32', which lets .* fewer bits; set it"):
        repdl.enable()
    assert not repdl.is_enabled()


def test_each_choice_is_made_and_given_back() -> None:
    for on_device in (False, True):
        for choice, now in choices.of_calls(on_device):
            assert now == choice.now() and choice.on != ("cpu" if on_device else "device")
            for value in choice.values:
                with choice.made(value):
                    assert choice.now() == value
                assert choice.now() == now
    names = [choice.name for choice, _ in choices.of_calls(True)]
    assert len(set(names)) == len(names) and "torch.backends.cudnn.allow_tf32" in names
    assert not [name for name in names if name.endswith("fp32_precision")]  # which are the same by another name
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with choices.DETERMINISTIC.made(True):
            assert not torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_choices_are_made_where_a_program_lets_nobody_set_them() -> None:
    """As torch's own tests do, for the rest of the process."""
    code = """
import torch
from repdl.interception import choices
torch.backends.disable_global_flags()
for choice, now in choices.of_calls(True) + choices.of_calls(False):
    for value in choice.values:
        with choice.made(value):
            assert choice.now() == value, choice
    assert choice.now() == now, choice
try:
    torch.backends.mkldnn.enabled = False
except RuntimeError:
    print("still refused")
"""
    assert run_python(code).strip() == "still refused"


def made(choice: choices.Choice, value: Any, op: Any) -> Program:
    def program() -> None:
        with choice.made(value):
            torch.ones(3).exp()
            op(X)

    return program


@pytest.mark.parametrize(
    ("op", "name", "value", "says"),
    [
        ("precision", "set_float32_matmul_precision", "medium", 'the precision: made again with torch.{}("medium")'),
        (
            "deterministic",
            "use_deterministic_algorithms",
            True,
            "the choice of torch's algorithms: made again with torch.{}(True)",
        ),
        (
            "onednn",
            "backends.mkldnn.enabled",
            False,
            "the choice of torch's algorithms: made again with torch.{} = False",
        ),
    ],
)
def test_choices_of_b_are_the_cause(tmp_path: Path, engine: Engine, op: str, name: str, value: Any, says: str) -> None:
    (choice,) = [choice for choice in choices.CHOICES if choice.name == f"torch.{name}"]
    plain, other = (made(choice, x, getattr(planted, op)) for x in (choice.now(), value))
    found = difference.find(recorded(tmp_path / "a", plain), recorded(tmp_path / "b", other))
    assert found is not None and found.a is not None and found.b is not None and found.kind == "result"
    assert len(found.settings) == 1
    sentence = cause.read(again(tmp_path, plain, found.a, engine, None, found.b), found.a, found.b).sentence
    assert sentence.startswith(f"The cause is {says.format(name)} it gives B's result"), sentence
    backwards = difference.find(recorded(tmp_path / "a", other), recorded(tmp_path / "b", plain))
    assert backwards is not None and backwards.a is not None and backwards.b is not None
    sentence = cause.read(
        again(tmp_path, other, backwards.a, engine, None, backwards.b), backwards.a, backwards.b
    ).sentence
    assert sentence.startswith(f"The cause is {says.partition(':')[0]}: "), sentence


def test_what_cannot_be_tried_is_named(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no kind is claimed of which nothing was tried."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    trial = engine.trial(take(torch.ops.aten.neg.default, (X,), {}))
    assert not trial["device"].tried and trial["device"].refused == []
    with measuring(engine, 1) as measurement:
        X.neg()
    assert measurement.ok and "in every way that was tried." in str(measurement)
    assert "Nothing is said of device: torch sees no GPU on this machine." in str(measurement)
    assert "Nothing is said of precision: torch allows no fewer bits than all." in str(measurement)
    assert "Nothing is said of process: that was not asked for." in str(measurement)
    not_tried = json.loads(measurement.to_json())["not_tried"]
    assert list(not_tried) == ["batch", "process", "instructions", "precision", "device"]

    def racing(first: float) -> Program:
        def program() -> None:
            monkeypatch.setattr(planted_ops, "_calls", iter([first, *[0.0] * 100]))
            planted.racy(X)

        return program

    found = difference.find(recorded(tmp_path / "a", racing(0.0)), recorded(tmp_path / "b", racing(0.7)))
    assert found is not None and found.a is not None and found.b is not None
    unknown = cause.read(again(tmp_path, racing(0.0), found.a, engine, None, found.b), found.a, found.b)
    assert not unknown.found
    assert unknown.sentence.endswith("; nothing is said of the device, since torch sees no GPU on this machine.")
    assert "the device" not in unknown.sentence.partition("; nothing is said")[0]
    assert unknown.as_json()["not_tried"] == {"device": "torch sees no GPU on this machine"}


def test_a_line_that_leaves_no_fewer_bits_mends(engine: Engine) -> None:
    with choices.PRECISION.made("medium"):
        lines = mending(engine, {("op", "precision"): take(planted.precision.default, (X,), {})})
    assert lines == {("op", "precision"): ['torch.set_float32_matmul_precision("highest")']}
