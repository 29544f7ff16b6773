# SPDX-License-Identifier: MIT
"""`repdl audit --measure` and `repdl diff --cause` with a device at hand: each call is made there and on the CPU."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support_cuda import bits, to_cuda

import repdl
from repdl.experiments import Engine, Trial, UntriedError, difference, mending, take
from repdl.experiments.program import measuring
from repdl.interception import choices
from repdl.runs import cause, difference as differences
from runs import again, recorded

aten = torch.ops.aten
X = torch.linspace(-3, 3, 24).reshape(6, 4)
KINDS = ("run to run", "threads", "layout", "batch", "precision", "device")

_calls = itertools.count()


def place(x: torch.Tensor) -> torch.Tensor:
    """Depends on the device, and on nothing else."""
    return x * (1 if x.is_cpu else -1)


def racy(x: torch.Tensor) -> torch.Tensor:
    return x * 0 + next(_calls)


def benchmark(x: torch.Tensor) -> torch.Tensor:
    return x * (-1 if torch.backends.cudnn.benchmark else 1)


def tf32(x: torch.Tensor) -> torch.Tensor:
    return x * (-1 if torch.backends.cudnn.allow_tf32 else 1)


def drawn(x: torch.Tensor) -> torch.Tensor:
    return torch.rand_like(x)


library = torch.library.Library("planted_on_device", "DEF")
for function in (place, racy, benchmark, tf32, drawn):
    tag = torch.Tag.nondeterministic_seeded if function is drawn else torch.Tag.pointwise
    library.define(f"{function.__name__}(Tensor x) -> Tensor", tags=(tag,))
    library.impl(function.__name__, function, "CPU")
    library.impl(function.__name__, function, "CUDA")
planted = torch.ops.planted_on_device


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Without other processes, which have no device on the host."""
    with Engine(KINDS, hashing=True) as engine:
        yield engine


@pytest.fixture(autouse=True)
def _told(monkeypatch: pytest.MonkeyPatch) -> None:
    """How torch was built, which one cannot tell that was given its device on the host."""
    monkeypatch.setattr(torch.__config__, "show", lambda: "")


def trial(engine: Engine, op: Any, *args: Any, **kwargs: Any) -> Trial:
    return engine.trial(take(op, args, kwargs))


def found(trial: Trial) -> dict[str, list[str]]:
    return {kind: [*outcome.found] for kind, outcome in trial.items() if outcome.found}


def tried(trial: Trial) -> set[str]:
    return {kind for kind, outcome in trial.items() if outcome.tried}


def test_a_call_of_the_cpu_is_made_on_the_device(engine: Engine) -> None:
    assert "device" not in engine.without
    assert found(trial(engine, planted.place.default, X)) == {"device": ["cuda"]}
    same = trial(engine, aten.neg.default, X)
    assert found(same) == {} and same["device"].same == ["cuda"]
    assert {"run to run", "threads", "layout", "batch", "device"} <= tried(same)


def test_a_call_of_the_device_is_made_on_the_cpu(engine: Engine) -> None:
    x = to_cuda(X)
    other = trial(engine, planted.place.default, x)
    assert found(other) == {"device": ["cpu"]} and other["device"].found["cpu"].elements == 24
    same = trial(engine, aten.add.Tensor, x, torch.tensor(2.0))  # a number, which lies on the CPU
    assert found(same) == {} and tried(same) == {"run to run", "layout", "batch", "precision", "device"}
    assert bits(x) == bits(X)
    made = trial(engine, aten.arange.default, 5, device=torch.device("cuda"))
    assert found(made) == {} and made["device"].same == ["cpu"]
    assert take(aten.arange.default, (5,), {"device": torch.device("cuda")}).device == "cuda"


def test_what_varies_on_the_device_by_itself_says_nothing_of_the_cpu(engine: Engine) -> None:
    assert set(trial(engine, planted.racy.default, to_cuda(X))) == {"run to run"}


def test_random_numbers_begin_with_one_seed(engine: Engine, enabled: None) -> None:
    generators = torch.default_generator, torch.cuda.default_generators[0]
    for seed, generator in enumerate(generators):
        generator.manual_seed(5 + seed)
    before = [g.get_state() for g in generators]
    for x in (X, to_cuda(X)):
        drawn_there = trial(engine, planted.drawn.default, x)
        assert found(drawn_there) == {} and len(drawn_there["device"].same) == 1
    after = [g.get_state() for g in generators]
    assert all(map(torch.equal, before, after))


def test_fewer_bits_that_a_device_is_allowed(engine: Engine) -> None:
    """cuDNN's TF32 is on from the first; what is found, and which line mends it."""
    x = to_cuda(X)
    line = "torch.backends.cudnn.allow_tf32 = False"
    assert found(trial(engine, planted.tf32.default, x)) == {"precision": [line]}
    assert found(trial(engine, planted.tf32.default, X)) == {}
    lines = mending(engine, {("tf32", "precision"): take(planted.tf32.default, (x,), {})})
    assert lines == {("tf32", "precision"): [line]} and torch.backends.cudnn.allow_tf32
    with choices.OF_CUDA[0].made(False):
        assert "precision" not in found(trial(engine, planted.tf32.default, x))


def test_tensors_on_several_devices_are_not_tried() -> None:
    for other in ("cuda:1", "meta"):
        with pytest.raises(UntriedError, match="they are"):
            take(aten.arange.default, (5,), {"device": torch.device(other), "out": to_cuda(X)})


def test_a_program_of_both(engine: Engine) -> None:
    def program() -> None:
        planted.place(X)
        planted.place(to_cuda(X))
        X.to("cuda").neg()

    with measuring(engine) as measurement:
        program()
    op = measurement.ops["planted_on_device::place"]
    assert (op.tried, op.varies["device"].calls) == (2, 2) and op.varies["device"].mends == []
    assert "aten::_to_copy" in measurement.ops and "device" not in measurement.not_tried
    assert "device" in str(measurement)


def test_a_step_on_the_device_has_the_bits_of_the_cpu(engine: Engine, enabled: None) -> None:
    """Under `repdl.enable()` no op is found that depends on the device."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Dropout(0.3))
    with measuring(engine, 1) as measurement:
        model(X).softmax(-1).square().sum().backward()
    assert measurement.ok, str(measurement)
    assert sum(op.kinds.get("device", 0) for op in measurement) > 10


def cause_of(folder: Path, a: Callable[[], object], b: Callable[[], object], engine: Engine) -> cause.Cause:
    there = differences.find(recorded(folder / "a", a), recorded(folder / "b", b))
    assert there is not None and there.a is not None and there.b is not None and there.kind == "result"
    return cause.read(again(folder, a, there.a, engine, None, there.b), there.a, there.b)


def with_choice(choice: choices.Choice, value: Any, program: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        with choice.made(value):
            program()

    return run


def test_causes_on_the_device(tmp_path: Path, engine: Engine) -> None:
    x = to_cuda(X)
    by_name = {choice.name: choice for choice in choices.CHOICES}
    for op, name, noun, line in (
        (planted.benchmark, "torch.backends.cudnn.benchmark", "the choice of torch's algorithms", "benchmark = True"),
        (planted.tf32, "torch.backends.cudnn.allow_tf32", "the precision", "allow_tf32 = False"),
    ):
        other = not by_name[name].now()
        b = with_choice(by_name[name], other, lambda op=op: op(x))
        named = cause_of(tmp_path, lambda op=op: op(x), b, engine)
        assert named.sentence.startswith(
            f"The cause is {noun}: made again with torch.backends.cudnn.{line} it gives B's"
        )
        backwards = cause_of(tmp_path, b, lambda op=op: op(x), engine)
        assert backwards.sentence.startswith(f"The cause is {noun}: made again with torch.backends.cudnn.{line[:-5]}")
    settings = differences.find(*(recorded(tmp_path / n, p) for n, p in (("a", lambda: op(x)), ("b", b))))
    assert settings is not None
    assert settings.settings["torch.backends.cudnn.allow_tf32"] == ("True", "False")


def test_the_device_as_a_cause(tmp_path: Path, engine: Engine) -> None:
    """The same call, of tensors that lie elsewhere: hashes do not show it."""

    def on(x: torch.Tensor) -> Callable[[], object]:
        return lambda: planted.place(x)

    here = cause_of(tmp_path, on(X.clone()), on(to_cuda(X)), engine)
    assert here.sentence.startswith("The cause is the device: made again on cuda it gives B's result; 24 of 24 numbers")
    there = cause_of(tmp_path, on(to_cuda(X)), on(X.clone()), engine)
    assert there.sentence.startswith("The cause is the device: made again on cpu it gives B's result")


def test_hashes_do_not_depend_on_the_device(tmp_path: Path) -> None:
    from repdl._content import of

    for x in (X, X.t(), X[::2, 1:], X.bfloat16(), torch.tensor([0.0, -0.0, float("nan")]), torch.empty(0, 3)):
        assert of(to_cuda(x)) == of(x)
    assert difference([to_cuda(X)], [X]) is None
    assert repdl.is_enabled() is False
