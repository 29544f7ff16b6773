# SPDX-License-Identifier: MIT
"""Receipts: the same chain on every machine; who forges one, or trained in another way, is named with the step."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import repdl
from repdl import _core
from repdl.cli.main import app
from repdl.experiments.settings import threads
from repdl.receipts import (
    ReceiptError,
    Resumable,
    digests,
    entries,
    file,
    processes,
    rerun,
    resumable,
    stretches,
    verifying,
)  # fmt: skip
from repdl.receipts.difference import Difference, judge
from repdl.receipts.file import Receipt
from repdl.receipts.program import Program
from repdl.receipts.rerun import Comparison
from repdl.receipts.stretches import Stretch
from repdl.receipts.writing import writing
from repdl.utils import hash_of_all
from support import ROOT, TARGETS

sys.path.insert(0, str(ROOT / "examples"))

import proof_of_training

SITE = Path(repdl.__file__).parent / "cli" / "site"

TRAIN = """
import random, sys
import numpy, torch
import repdl
from torch.utils.data import DataLoader, TensorDataset

repdl.manual_seed(7)
data = TensorDataset(torch.randn(12, 6), torch.randint(3, (12,)))
layers = [torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 3)]
model = torch.nn.Sequential(*layers)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)
sampler = repdl.checkpoint.ResumableBatchSampler(len(data), 4, seed=3)
loader = DataLoader(data, batch_sampler=sampler)
resumable = repdl.receipts.Resumable(model=model, optimizer=optimizer, scheduler=scheduler, sampler=sampler)
while sampler.epoch < 3:
    for x, y in sampler.batches(loader):
        step = resumable.iterations
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x + random.random() / 10), y).backward()
        optimizer.step()
        scheduler.step()
        resumable.step()
        # end of the step
model.eval()
accuracy = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, 6))
"""
STEPS = 9


@pytest.fixture(autouse=True, scope="module")
def enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


class StopError(BaseException):
    """In the place of the end of a process."""


def begin_generators() -> None:
    """As those of a process that begins: Python's and NumPy's are other ones each time."""
    random.seed(os.urandom(8))
    np.random.seed()
    torch.manual_seed(67280421310721)


class Party:
    """A folder with a program and its receipt, made and verified in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "train.py"
        self.path, self.checkpoints = folder / "receipt", folder / "checkpoints"
        self.program = Program("train.py", [], False, folder)
        folder.mkdir(exist_ok=True)
        self.checkpoints.mkdir(exist_ok=True)

    def run(self, text: str = TRAIN, every: int = 0) -> dict[str, Any]:
        """The program's names."""
        self.script.write_text(text)
        names: dict[str, Any] = {}
        begin_generators()
        try:
            with writing(self.path, self.program, every, self.checkpoints if every else None):
                names = runpy.run_path(str(self.script), run_name="__main__")
        except (SystemExit, ZeroDivisionError):
            pass
        return names

    @property
    def receipt(self) -> Receipt:
        return file.read(self.path)

    def verify(self, parts: list[Stretch] | None = None) -> tuple[int, Difference | None]:
        """As `verifying.verify` does, but for the processes."""
        receipt, answers = self.receipt, []
        parts = [stretches.whole(receipt)] if parts is None else parts
        for part in parts:
            answers.append(self._answer(receipt, part))
            if answers[-1]["at"] != part.stop:
                break
        return judge(receipt, parts, answers)

    def _answer(self, receipt: Receipt, part: Stretch) -> dict[str, Any]:
        told: list[dict[str, Any]] = []

        def tell(answer: dict[str, Any]) -> NoReturn:
            told.append(json.loads(json.dumps(answer)))
            raise StopError

        begin_generators()
        comparison = Comparison(receipt, part, tell)
        try:
            with comparison.follower.followed(self.program.folder()):
                runpy.run_path(str(self.script), run_name="__main__")
        except (StopError, SystemExit, ZeroDivisionError):
            pass
        return told[0] if told else {"at": part.first, "status": 0}

    def between_checkpoints(self) -> list[Stretch]:
        return stretches.with_steps(self.receipt, [s["number"] for s in self.receipt.steps], self.checkpoints)


@pytest.fixture
def party(tmp_path: Path) -> Party:
    return Party(tmp_path / "party")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Party:
    """Changed by no test."""
    made = Party(tmp_path_factory.mktemp("honest"))
    made.run(every=2)
    return made


def copied(party: Party, folder: Path) -> Party:
    """Its receipt and checkpoints, with the program as it was."""
    copy = Party(folder)
    copy.script.write_text(TRAIN)
    copy.path.write_bytes(party.path.read_bytes())
    for path in party.checkpoints.iterdir():
        (copy.checkpoints / path.name).write_bytes(path.read_bytes())
    return copy


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def write_chain(path: Path, lines: list[dict[str, Any]]) -> None:
    """What a forger does: all links and the checksum are made anew."""
    link, whole = "", ""
    for line in lines:
        (kind,) = line.keys() - {"about", "link", "sha256"}
        link = line["link"] = hashlib.sha256((link + as_json({kind: line[kind]})).encode()).hexdigest()
        if line.pop("sha256", None) is not None:
            line["sha256"] = hashlib.sha256((whole + as_json(line)).encode()).hexdigest()
        whole += as_json(line) + "\n"
    path.write_text(whole)


# What a receipt says.


def test_a_receipt_says_what_ran(honest: Party) -> None:
    receipt = honest.receipt
    assert receipt.program == {
        "format": "repdl receipt 2",
        "script": "train.py",
        "is_module": False,
        "arguments": [],
        "sha256": hashlib.sha256(TRAIN.encode()).hexdigest(),
        "arithmetic": repdl.arithmetic_version,
        "order": "blocked",
        "rng": "philox",
        "strict": "error",
        "hash_seed": os.environ.get("PYTHONHASHSEED") or None,
        "checkpoint_every": 2,
    }
    begun, ended = receipt.about
    assert begun["path"] == "train.py" and begun["directory"] == str(honest.folder)
    assert begun["machine"]["threads"] == repdl.get_num_threads()
    assert {"Python", "repdl", "torch", "numpy"} <= ended["versions"].keys()
    assert [content["number"] for content in receipt.steps] == list(range(STEPS))
    assert all(len(content["batches"]) == 1 for content in receipt.steps) and len(receipt.end["batches"]) == 2
    assert [content["before"] for kind, content in receipt.entries if kind == entries.CHECKPOINT] == [0, 2, 4, 6, 8]
    assert (receipt.end["status"], receipt.end["steps"], receipt.end["sources"]) == (0, STEPS, {})
    assert lines_of(honest.path)[-1]["link"] == receipt.link
    names = {f"step-0000000{step}.safetensors" for step in (2, 4, 6, 8)}
    assert {path.name for path in honest.checkpoints.iterdir()} == names


@pytest.mark.parametrize(("target", "count"), [(target, 1 + i % 3) for i, target in enumerate(TARGETS)])
def test_the_chain_is_the_same_everywhere(honest: Party, party: Party, target: str, count: int) -> None:
    before = _core.active_target()
    try:
        _core.set_target(target)
        with threads(count):
            party.run(every=2)
            assert party.verify() == (STEPS, None)
    finally:
        _core.set_target(before)
    assert party.receipt.link == honest.receipt.link
    assert party.receipt.entries == honest.receipt.entries


def test_the_program_stays_as_it_is(party: Party) -> None:
    with_receipt = party.run(every=1)
    drawn = torch.rand(()), np.random.random()
    plain = runpy.run_path(str(party.script))
    assert repdl.utils.get_hash(plain["model"]) == repdl.utils.get_hash(with_receipt["model"])
    assert drawn == (torch.rand(()), np.random.random())
    assert party.receipt.steps[-1]["parameters"] == repdl.utils.get_hash(plain["model"])
    assert resumable.active is None


def test_an_unchanged_script(party: Party) -> None:
    """Two optimizers, numbers of each kind in batches, and an exit status; no Resumable."""
    text = """
import sys, torch
torch.manual_seed(3)
a, b = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
optimizers = torch.optim.SGD(a.parameters(), 0.1, momentum=0.9), torch.optim.AdamW(b.parameters())
data = [{"x": torch.rand(3), "n": i, "s": str(i)} for i in range(4)]
for batch in torch.utils.data.DataLoader(data, 2, shuffle=True):
    for model, optimizer in zip((a, b), optimizers):
        optimizer.zero_grad()
        model(batch["x"]).square().mean().backward()
        optimizer.step()
sys.exit(5)
"""
    party.run(text)
    assert [len(content["batches"]) for content in party.receipt.steps] == [1, 0, 1, 0]
    assert party.receipt.end["status"] == 5
    assert party.verify() == (4, None)
    with pytest.raises(ReceiptError, match="it has no checkpoints to begin at"):
        party.between_checkpoints()


def test_a_loop_without_steps(party: Party) -> None:
    party.run("x = 1\n")
    assert party.receipt.steps == [] and party.verify() == (0, None)
    assert stretches.drawn(party.receipt, 3, 0) == [0]


def test_imported_sources_are_named(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(party.folder))
    (party.folder / "inner_of_receipts").mkdir()
    inner = party.folder / "inner_of_receipts" / "part.py"
    inner.write_text("x = 1\n")
    party.run("import inner_of_receipts.part\n")
    named = party.receipt.end["sources"]
    assert named == {"inner_of_receipts/part.py": hashlib.sha256(b"x = 1\n").hexdigest()}
    assert verifying.place_of(party.receipt, None) == Program("train.py", [], False, party.folder)
    inner.write_text("x = 2\n")
    with pytest.raises(ReceiptError, match=r"inner_of_receipts/part.py is not what the receipt is of: it has the SHA"):
        verifying.place_of(party.receipt, None)
    inner.unlink()
    with pytest.raises(ReceiptError, match=r"there is no .*inner_of_receipts/part.py, which the program imported"):
        verifying.place_of(party.receipt, None)


def test_modules_are_found_without_being_imported(tmp_path: Path) -> None:
    package = tmp_path / "package_of_receipts" / "inner"
    package.mkdir(parents=True)
    for name in ("__init__", "__main__", "part"):
        (package / f"{name}.py").write_text("raise AssertionError\n")

    def found(name: str) -> Path | None:
        return Program(name, [], True, tmp_path).file()

    assert found("package_of_receipts.inner.part") == package / "part.py"
    assert found("package_of_receipts.inner") == package / "__main__.py"
    for name in (
        "package_of_receipts",
        "package_of_receipts.none",
        "none.inner",
        "sys",
        "package_of_receipts.inner.part.x",
    ):
        assert found(name) is None
    assert Program(str(package), [], False, tmp_path).file() == package / "__main__.py"


# Who trained in another way.

OTHERWISE: dict[str, tuple[str, str, int, str]] = {
    "another number": ("layers = ", "data.tensors[0][5, 2] += 1", 2, "batches"),
    "another label": ("layers = ", "data.tensors[1][5] = (data.tensors[1][5] + 1) % 3", 2, "batches"),
    "a step is left out": (
        "        optimizer.zero_grad()", "        if step == 3 and sampler.batch == 1: continue", 3, "batches",
    ),
    "a step without a change": (
        "        optimizer.step()", "        if step == 6: optimizer.param_groups[0]['lr'] = 0.0", 6, "parameters",
    ),
    "a gradient is changed": (
        "        optimizer.step()", "        if step == 7: layers[3].bias.grad[0] *= -1", 7, "parameters",
    ),
    "a weight is edited": (
        "        optimizer.step()", "        if step == 4: layers[0].weight.data[0, 0] += 1e-3", 4, "parameters",
    ),
    "a weight is edited between steps": (
        "        # end", "        if step == 4: layers[0].weight.data[0, 0] += 1e-3", 5, "parameters",
    ),
    "the sign of a zero is changed": (
        "        # end", "        if step == 2: optimizer.state[layers[3].bias]['exp_avg'][:] = -0.0", 3, "optimizer",
    ),
    "statistics are edited": (
        "        # end", "        if step == 2: layers[1].running_mean[1] += 1", 3, "buffers",
    ),
    "Python draws more": ("        optimizer.step()", "        if step == 5: random.random()", 5, "generators"),
    "NumPy draws more": ("        optimizer.step()", "        if step == 5: numpy.random.rand()", 5, "generators"),
    "torch draws more": ("        optimizer.step()", "        if step == 5: torch.rand(())", 5, "generators"),
    "it reads more": ("        optimizer.step()", "        if step == 4: next(iter(loader))", 4, "batches"),
    "other data at last": ("model.eval()", "data.tensors[0][0, 0] = 9", 9, "batches"),
    "another exit status": ("model.eval()", "sys.exit(3)", 9, "status"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_was_done_otherwise_is_named(party: Party, name: str) -> None:
    """The receipt is of a program that was changed, and the one that it claims to be of runs again."""
    line, before, step, what = OTHERWISE[name]
    party.run(TRAIN.replace(line, f"{before}\n{line}", 1))
    party.script.write_text(TRAIN)
    confirmed, found = party.verify()
    assert confirmed == 0 and found is not None
    assert found.step == step and what in found.what, found
    where = "at the end" if step == STEPS else f"in step {step}"
    assert found.sentence.startswith(f"{where} the run differs in ")


ENDS = {
    "1 / 0": "the program ended with exit status 1 in step 4",
    "sys.exit(7)": "the program ended with exit status 7 in step 4",
    "optimizer.step()": "in step 4 the run differs in ",
    "import os; os.environ.clear(); sys.exit(1)": "the program ended with exit status 1 in step 4",
}


@pytest.mark.parametrize("text", ENDS)
def test_a_program_that_does_not_come_so_far(party: Party, text: str) -> None:
    party.run()
    party.script.write_text(
        TRAIN.replace("        optimizer.zero", f"        if step == 4: {text}\n        optimizer.zero")
    )
    _, found = party.verify()
    assert found is not None and found.step == 4 and found.sentence.startswith(ENDS[text])


def test_a_program_that_goes_on(party: Party) -> None:
    party.run()
    party.script.write_text(TRAIN.replace("epoch < 3", "epoch < 4"))
    _, found = party.verify()
    assert found is not None and found.sentence == "at the end the program takes a step; the receipt has the end"


@pytest.mark.parametrize("name", proof_of_training.CHEATS)
def test_the_cheats_of_the_example(party: Party, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cheat, text = proof_of_training.CHEATS[name], proof_of_training.PROGRAM.read_text()
    monkeypatch.setattr(sys, "argv", ["train.py", "--train", str(party.folder / "model")])
    party.run(text.replace(cheat.line, f"{cheat.before}\n{cheat.line}", 1), every=1)
    party.script.write_text(text)
    confirmed, found = party.verify()
    assert found is not None and found.step == cheat.step and cheat.what in found.what
    some = stretches.with_steps(party.receipt, [0, cheat.step, cheat.step - 1], party.checkpoints)
    confirmed, found = party.verify(some)
    assert confirmed < 3 and found is not None and abs(found.step - cheat.step) < 2


# From checkpoints.


def test_each_stretch_is_confirmed_alone(honest: Party) -> None:
    parts = honest.between_checkpoints()
    assert [[path.name for path in part.checkpoints.values()] for part in parts] == [
        [],
        *([f"step-0000000{step}.safetensors"] for step in (2, 4, 6, 8)),
    ]
    assert [honest.verify([part]) for part in parts] == [(2, None)] * 4 + [(1, None)]
    assert honest.verify(parts) == (STEPS, None)
    assert honest.verify(stretches.with_steps(honest.receipt, [3, 8, 2], honest.checkpoints)) == (3, None)


def test_batches_that_workers_fetch_again_are_of_no_step(party: Party) -> None:
    """Where a run goes on within an epoch, its sampler throws away those that were had."""
    party.run(TRAIN.replace("batch_sampler=sampler", "batch_sampler=sampler, num_workers=1"), every=2)
    within = party.between_checkpoints()[1]
    assert [path.name for path in within.checkpoints.values()] == ["step-00000002.safetensors"]
    assert party.verify([within]) == (2, None)


def test_steps_are_drawn_from_a_seed(honest: Party) -> None:
    draws = [stretches.drawn(honest.receipt, 3, seed) for seed in range(50)]
    assert all(draw[0] == 0 and len({*draw}) == 4 and draw == sorted(draw) for draw in draws)
    assert {step for draw in draws for step in draw} == {*range(STEPS)}
    assert draws == [stretches.drawn(honest.receipt, 3, seed) for seed in range(50)]
    assert stretches.drawn(honest.receipt, 100, 0) == list(range(STEPS))


def test_checkpoints_that_are_not_of_the_chain(honest: Party, tmp_path: Path) -> None:
    party = copied(honest, tmp_path / "copy")
    first, second, *_ = sorted(party.checkpoints.iterdir())
    whole = second.read_bytes()
    parts = party.between_checkpoints()
    second.write_bytes(first.read_bytes())
    confirmed, found = party.verify(parts)
    assert confirmed == 2 + 2 and found is not None and found.is_of_checkpoint and found.step == 4
    assert found.sentence == (
        "the checkpoint before step 4 differs from the receipt in the generators of Python and torch and the state "
        "of model, optimizer, sampler and scheduler"
    )
    second.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    _, found = party.verify(parts)
    assert found is not None and "is damaged: its bytes have the SHA-256" in found.sentence and found.step == 4
    for hostile in (b"", pickle.dumps(print), whole[:100]):
        second.write_bytes(hostile)
        _, found = party.verify(parts)
        assert found is not None and "[checkpoint] " in found.sentence and found.step == 4
    repdl.checkpoint.save(second, model=torch.nn.Linear(1, 1))
    _, found = party.verify(parts)
    assert found is not None and "it has no state of optimizer" in found.sentence and found.is_of_checkpoint
    second.unlink()
    with pytest.raises(ReceiptError, match=r"there is no checkpoint .*step-00000004.safetensors"):
        party.between_checkpoints()
    with pytest.raises(ReceiptError, match="--steps needs --checkpoints"):
        stretches.with_steps(party.receipt, [0], None)


def test_a_loop_that_goes_by_more_than_its_parts(party: Party) -> None:
    party.run(TRAIN.replace("scheduler=scheduler, ", ""), every=1)
    assert party.verify() == (STEPS, None)
    _, found = party.verify(party.between_checkpoints())
    assert (
        found is not None
        and found.has_resumed
        and not found.is_of_checkpoint
        and found.sentence == "before step 4 the run differs in the state of optimizer"
    )


def test_a_program_that_never_comes_to_its_loop(honest: Party, tmp_path: Path) -> None:
    party = copied(honest, tmp_path / "copy")
    party.script.write_text("")
    _, found = party.verify(party.between_checkpoints()[1:])
    assert found is not None and found.sentence == "the program ended with exit status 0, unverified from step 2 on"


def test_steps_and_batches_before_the_loop(party: Party) -> None:
    """They are told of when the run begins, and not when it goes on from a checkpoint."""
    warm = "model(next(iter(loader))[0]).sum().backward(); optimizer.step(); next(iter(loader))\nresumable = "
    party.run(TRAIN.replace("resumable = ", warm, 1), every=3)
    assert [kind for kind, _ in party.receipt.entries[:4]] == [
        entries.STEP,
        entries.READ,
        entries.CHECKPOINT,
        entries.STEP,
    ]
    assert party.verify() == (STEPS + 1, None)
    parts = party.between_checkpoints()
    assert [party.verify([part]) for part in parts] == [(4, None), (3, None), (3, None)]


def test_modules_that_are_called_now_and_then(party: Party) -> None:
    """Their buffers are of the step, and none is there twice or after a checkpoint."""
    line = "        if step in (1, 3): torch.nn.BatchNorm1d(6)(data.tensors[0])\n        # end"
    party.run(TRAIN.replace("        # end", line), every=3)
    assert [party.verify([part]) for part in party.between_checkpoints()] == [(3, None)] * 3


def test_a_generator_is_a_part(party: Party) -> None:
    text = """
import torch, repdl
generator = torch.Generator().manual_seed(3)
weight = torch.nn.Parameter(torch.zeros(3))
optimizer = torch.optim.SGD([weight], 0.1)
resumable = repdl.receipts.Resumable(generator=generator, weight=torch.nn.ParameterList([weight]))
for _ in range(resumable.iterations, 4):
    weight.grad = torch.rand(3, generator=generator)
    optimizer.step()
    resumable.step()
"""
    party.run(text, every=1)
    parts = party.between_checkpoints()
    assert len(parts) == 4 and [party.verify([part]) for part in parts] == [(1, None)] * 4
    party.script.write_text(text.replace("generator=generator, ", ""))
    _, found = party.verify(parts[1:])
    assert found is not None and "it has states of generator too" in found.sentence
    _, found = party.verify()
    assert found is not None and found.sentence == "before step 0 the run differs in the state of generator"


def test_a_part_that_draws_when_asked_for_its_state(party: Party) -> None:
    text = TRAIN.replace("resumable = ", "sampler.__class__ = Drawing\nresumable = ").replace(
        "repdl.manual_seed(7)",
        "class Drawing(repdl.checkpoint.ResumableBatchSampler):\n"
        "    def state_dict(self):\n"
        "        torch.rand(())\n"
        "        return super().state_dict()\n"
        "repdl.manual_seed(7)",
    )
    party.run(text, every=2)
    assert party.verify() == (STEPS, None)
    assert [party.verify([part]) for part in party.between_checkpoints()[1:3]] == [(2, None)] * 2


def test_resumable_by_itself() -> None:
    loop = Resumable(model=torch.nn.Linear(1, 1))
    loop.step()
    loop.step()
    assert loop.iterations == 2
    for part in (3, None, {"a": 1}, torch.nn.Linear):
        with pytest.raises(TypeError, match=r"\[Resumable\] part must have state_dict and load_state_dict, got"):
            Resumable(part=part)


def test_a_run_has_one_loop(party: Party) -> None:
    names = party.run(
        TRAIN + "try:\n    repdl.receipts.Resumable()\nexcept RuntimeError as error:\n    text = str(error)\n"
    )
    assert names["text"] == "[Resumable] a run has one; this is the second"


# Generators of random numbers.

UNSEEDED = """
import random, sys
import numpy, torch, repdl
torch.manual_seed(5)
weight = torch.nn.Parameter(torch.rand(3))
optimizer = torch.optim.SGD([weight], 0.1)
resumable = repdl.receipts.Resumable(weight=torch.nn.ParameterList([weight]))
for step in range(resumable.iterations, 6):
    weight.grad = torch.rand(3)
    # here
    optimizer.step()
    resumable.step()
"""


@pytest.mark.parametrize(
    ("line", "confirmed", "sentence"),
    [
        ("", 6, None),
        ("if step == 3: numpy.random.seed(5); random.seed(5); numpy.random.rand(); random.random()", 6, None),
        ("if step == 3: numpy.random.rand()", 3, "in step 3 the run differs in the generator of NumPy"),
        ("if step == 2: random.random()", 2, "in step 2 the run differs in the generator of Python"),
        (
            "if step == 4: weight.grad += numpy.random.rand()",
            4,
            "differs in the generator of NumPy and the parameters; ",
        ),
        (
            "if step == 1: random.random(); numpy.random.shuffle([1, 2, 3])",
            1,
            "in step 1 the run differs in the generators of NumPy and Python",
        ),
    ],
)
def test_a_generator_counts_once_it_is_used(party: Party, line: str, confirmed: int, sentence: str | None) -> None:
    """From checkpoints too, which have states of generators that nobody has drawn from."""
    party.run(UNSEEDED.replace("# here", line), every=1)
    assert party.receipt.steps[0]["generators"].keys() == {"torch"}
    _, found = party.verify()
    assert (found is None) is (sentence is None) and (found is None or found.step == confirmed)
    assert sentence is None or sentence in (found or Difference("", 0)).sentence
    parts = party.between_checkpoints()
    assert [party.verify([part])[0] for part in parts[:confirmed]] == [1] * confirmed
    if found is not None:
        _, of_part = party.verify([parts[confirmed]])
        assert of_part is not None and (of_part.sentence, of_part.step) == (found.sentence, found.step)


# Several processes.

RANKS = """
import multiprocessing, os, sys, torch
import torch.distributed as dist
from torch.utils.data import DataLoader

def work(rank):
    dist.init_process_group("gloo", init_method="file://" + STORE, rank=rank, world_size=2)
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.arange(18.0).reshape(6, 3) * (rank + 1)
    # here
    for step, batch in enumerate(DataLoader(data, 2)):
        optimizer.zero_grad()
        model(batch).sum().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        # then
        optimizer.step()
    dist.destroy_process_group()

if os.path.exists(STORE):
    os.remove(STORE)
ranks = [multiprocessing.get_context("fork").Process(target=work, args=(rank,)) for rank in range(2)]
for process in ranks:
    process.start()
"""


def of_ranks(party: Party, **lines: str) -> str:
    text = RANKS.replace("STORE", repr(str(party.folder / "store")))
    for name, line in lines.items():
        text = text.replace(f"# {name}", line or f"# {name}")
    return text


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> Party:
    """Changed by no test but for its script."""
    party = Party(tmp_path_factory.mktemp("ranks"))
    party.run(of_ranks(party))
    return party


def test_each_rank_has_a_chain(of_two: Party) -> None:
    receipt = of_two.receipt
    assert receipt.processes == ["rank 0", "rank 1"] and receipt.end["steps"] == 0
    places = [(step["number"], step["process"]) for step in receipt.steps]
    assert places == [(step, f"rank {rank}") for step in range(3) for rank in range(2)]
    assert len({step["parameters"] for step in receipt.steps}) == 3
    assert len({batch for step in receipt.steps for batch in step["batches"]}) == 6
    assert "REPDL_RECEIPT" not in os.environ
    with pytest.raises(ReceiptError, match="it has no checkpoints to begin at"):
        of_two.between_checkpoints()


OF_RANKS = {
    "": ("", "", None),
    "other data in one rank": ("data[3] += rank", "", "in step 1 of rank 1 the run differs in the batches"),
    "an edit in one rank": ("", "if step == 1 and rank == 0: p.grad += 1", "in step 1 of rank 0 the run differs in"),
    "a generator in both": ("", "if step == 2: torch.rand(())", "in step 2 of rank 0 the run differs in the gen"),
    "a step less": ("data = data[:4]", "", "the receipt has step 2 of rank 0, and the run has none"),
    "a step more": ("data = torch.cat([data, data[:2]])", "", "the run has step 3 of rank 0, and the receipt has none"),
    "killed": ("", "if step == 2 and rank == 1: os._exit(0)", "the receipt has step 2 of rank 1, and the run has none"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_RANKS)
def test_a_rank_that_differs_is_named(of_two: Party, name: str) -> None:
    here, then, sentence = OF_RANKS[name]
    of_two.script.write_text(of_ranks(of_two, here=here, then=then))
    confirmed, found = of_two.verify()
    if sentence is None:
        assert (confirmed, found) == (6, None), found
        of_two.script.write_text(of_ranks(of_two, here="pass"))
        _, found = of_two.verify()
        assert found is not None and found.what == ["sources"]
        assert found.sentence == "at the end the run differs in the sources that were imported (train.py)", found
    else:
        assert found is not None and found.process is not None, found
        assert found.sentence.startswith(sentence) and found.process in sentence


def test_processes_that_are_made_up(of_two: Party, tmp_path: Path) -> None:
    """A rank that is left out is missed when the program runs; parts in another order are no receipt."""
    lines = lines_of(of_two.path)
    other = Party(tmp_path / "other")
    other.script.write_text(of_ranks(of_two))

    def of(name: str, line: dict[str, Any]) -> bool:
        return name in (line.get("step", {}).get("process"), line.get("process", {}).get("process"))

    write_chain(other.path, [line for line in lines if not of("rank 1", line)])
    _, found = other.verify()
    assert found is not None and found.sentence == "the run has step 0 of rank 1, and the receipt has none"
    swapped = [lines[0], lines[2], lines[1], *lines[3:]]
    later = [*lines[:7], lines[8], lines[7], lines[9]]
    renamed = json.loads(json.dumps(lines).replace("rank 1", "rank 2"))
    half = [line for line in lines if line.get("step", {}) == {} or not of("rank 1", line)]
    for wrong, text in (
        (swapped, "line 3 is out of order"),
        (later, "line 9 is out of order"),
        (half, "line 6 is out of order"),
        ([*lines[:8], lines[9]], "line 9 is out of order"),
    ):
        write_chain(other.path, json.loads(json.dumps(wrong)))
        with pytest.raises(ReceiptError, match=text):
            file.read(other.path)
    write_chain(other.path, renamed)
    _, found = other.verify()
    assert found is not None and found.sentence == "the run has step 0 of rank 1, and the receipt has none"


def test_a_process_that_is_killed(party: Party) -> None:
    party.run(of_ranks(party, then="if step == 2: os.kill(os.getpid(), 9)"))
    ends = [content for kind, content in party.receipt.entries if kind == entries.PROCESS]
    assert [(end["steps"], end["ended"]) for end in ends] == [(2, False)] * 2
    assert party.verify() == (4, None)
    party.script.write_text(of_ranks(party, then="if step == 2: sys.exit(0)"))
    _, found = party.verify()
    assert found is not None and found.sentence.startswith("at the end of rank 0 the run differs in the batches ")


def test_processes_without_ranks(party: Party) -> None:
    """They have the numbers that multiprocessing counts them by, among all that this process has started."""
    party.run(
        "import multiprocessing, torch\n"
        "def work():\n"
        "    torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1).step()\n"
        "for _ in range(2):\n"
        "    multiprocessing.get_context('fork').Process(target=work).start()\n"
        "work()\n"
    )
    assert all(name.startswith("process ") for name in party.receipt.processes) and len(party.receipt.processes) == 2
    assert [step["number"] for step in party.receipt.steps] == [0, 0, 0]


RESUMED_RANKS = """
import multiprocessing, os, sys, torch, repdl
import torch.distributed as dist
from torch.utils.data import DataLoader

def work(rank):
    dist.init_process_group("gloo", init_method="file://" + STORE, rank=rank, world_size=2)
    torch.manual_seed(rank)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], 0.01, momentum=0.9)
    data = torch.arange(36.0).reshape(12, 3) * (rank + 1)
    sampler = repdl.checkpoint.ResumableBatchSampler(12, 2, seed=rank)
    loader = DataLoader(data, batch_sampler=sampler)
    parts = {"weight": torch.nn.ParameterList([weight]), "optimizer": optimizer, "sampler": sampler}
    resumable = repdl.receipts.Resumable(**parts)
    for batch in sampler.batches(loader):
        step = resumable.iterations
        weight.grad = batch.mean(0) + torch.rand(3)
        dist.all_reduce(weight.grad)
        # then
        optimizer.step()
        # last
        resumable.step()
    dist.destroy_process_group()

if os.path.exists(STORE):
    os.remove(STORE)
ranks = [multiprocessing.get_context("fork").Process(target=work, args=(rank,)) for rank in range(2)]
for process in ranks:
    process.start()
"""


def of_resumed_ranks(party: Party, then: str = "", last: str = "") -> str:
    text = RESUMED_RANKS.replace("STORE", repr(str(party.folder / "store")))
    return text.replace("# then", then).replace("# last", last)


def sentence_of(party: Party, parts: list[Stretch]) -> str:
    _, found = party.verify(parts)
    assert found is not None and found.has_resumed
    return found.sentence


def test_ranks_go_on_from_their_checkpoints(party: Party) -> None:
    """Each from its own, and only up to the next one."""
    party.run(of_resumed_ranks(party, last="if step == 3: next(iter(loader))"), every=2)
    names = [f"step-0000000{step}.rank-{rank}.safetensors" for step in (2, 4, 6) for rank in range(2)]
    assert sorted(path.name for path in party.checkpoints.iterdir()) == names
    before, read = [
        [(content["before"], content["process"]) for kind, content in party.receipt.entries if kind == wanted]
        for wanted in (entries.CHECKPOINT, entries.READ)
    ]
    assert before == [(step, f"rank {rank}") for step in (0, 2, 4, 6) for rank in range(2)]
    assert read == [(4, "rank 0"), (4, "rank 1")]
    assert {step for seed in range(30) for step in stretches.drawn(party.receipt, 2, seed)} == {*range(6)}
    parts = party.between_checkpoints()
    assert [[path.name for path in part.checkpoints.values()] for part in parts] == [[], names[:2], names[2:4]]
    assert party.verify() == (12, None)
    reached = party.folder / "reached"
    line = f"open({str(reached)!r}, 'a').write(f'{{rank}}:{{step}} ')\n        "
    party.script.write_text(of_resumed_ranks(party, last=line + "if step == 3: next(iter(loader))"))
    assert party.verify([parts[1]]) == (4, None)
    assert sorted(reached.read_text().split()) == ["0:2", "0:3", "1:2", "1:3"]

    part = party.checkpoints / names[3]
    whole = part.read_bytes()
    part.write_bytes((party.checkpoints / names[1]).read_bytes())
    expected = (
        "the checkpoint before step 4 of rank 1 differs from the receipt in the generator of torch and the state of "
    )
    assert sentence_of(party, [parts[2]]) == expected + "optimizer, sampler and weight"
    part.write_bytes(whole[:-1])
    assert "rank 1: [checkpoint] " in sentence_of(party, [parts[2]])
    part.unlink()
    with pytest.raises(ReceiptError, match=r"there is no checkpoint .*step-00000004.rank-1.safetensors"):
        party.between_checkpoints()


def test_a_rank_that_was_changed_between_checkpoints(party: Party) -> None:
    party.run(of_resumed_ranks(party, last="if step == 3 and rank: weight.data[1] = -0.0"), every=2)
    party.script.write_text(of_resumed_ranks(party))
    parts = party.between_checkpoints()
    assert party.verify([parts[0]]) == (4, None)
    assert sentence_of(party, [parts[1]]) == "before step 4 of rank 1 the run differs in the state of weight"
    assert party.verify([parts[2]]) == (4, None)
    party.script.write_text(of_resumed_ranks(party, then="if step == 5 and not rank: os._exit(0)"))
    assert sentence_of(party, [parts[2]]) == "the receipt has step 5 of rank 0, and the run has none"


def test_ranks_that_cannot_go_on_together(party: Party) -> None:
    text = of_resumed_ranks(party)
    party.run(text.replace("step()\n    dist", "step() if rank or step < 3 else None\n    dist"), every=2)
    text = "rank 1 has a checkpoint before step 4, and rank 0 has none, so that they cannot begin there together"
    with pytest.raises(ReceiptError, match=text):
        party.between_checkpoints()
    one = "torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1).step()\n"
    party.run(of_resumed_ranks(party) + one, every=2)
    text = "the process that the program was started in has a step of its own beside those of rank 0 and rank 1"
    with pytest.raises(ReceiptError, match=text):
        party.between_checkpoints()
    party.run(of_resumed_ranks(party, then="if step in (2, 3): resumable.step(); continue"), every=1)
    with pytest.raises(ReceiptError, match="its processes have several checkpoints before one step"):
        party.between_checkpoints()


def test_a_first_process_that_waits_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all that it started have left, it is ended."""
    monkeypatch.setattr(rerun, "_GRACE", 0.1)
    (tmp_path / "receipt" / "parts").mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as process:
        (tmp_path / "receipt" / "parts" / "rank 0").write_text('["step", {}]\n["left", {}]\n')
        assert rerun.waited(process.pid, tmp_path) is None
    with subprocess.Popen(["sh", "-c", "exit 3"]) as process:
        assert rerun.waited(process.pid, tmp_path / "none") == 3


def run_rank_3(folder: Path, program: str, plan: processes.Plan) -> tuple[list[Any], dict[str, str]]:
    """As torchrun starts it; what it tells."""
    (folder / "train.py").write_text(program)
    Path(plan.parts).mkdir()
    plan.write(folder / "plan")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SITE), *filter(None, sys.path)]),
        "REPDL_RUN": '["error", "blocked", "philox"]',
        "REPDL_RECEIPT": str(folder / "plan"),
        "RANK": "3",
    }
    subprocess.run([sys.executable, "train.py"], cwd=folder, env=environment, check=True)
    return processes.gathered(Path(plan.parts))


def test_a_process_that_begins_afresh(tmp_path: Path) -> None:
    text = "import torch\ntorch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1).step()\n"
    told, sources = run_rank_3(tmp_path, text, processes.Plan(str(tmp_path / "parts"), str(tmp_path)))
    assert [(kind, content["process"]) for kind, content in told] == [("step", "rank 3"), ("process", "rank 3")]
    assert sources == {"train.py": hashlib.sha256((tmp_path / "train.py").read_bytes()).hexdigest()}
    assert told[0][1]["generators"] == {} and told[1][1]["ended"]


def test_a_process_that_begins_afresh_from_its_checkpoint(tmp_path: Path) -> None:
    """It ends at the next one, before the program does."""
    text = """
import torch, repdl
weight = torch.nn.Parameter(torch.zeros(2))
optimizer = torch.optim.SGD([weight], 0.5)
resumable = repdl.receipts.Resumable(weight=torch.nn.ParameterList([weight]))
for _ in range(resumable.iterations, 9):
    weight.grad = weight.detach().clone()
    optimizer.step()
    resumable.step()
raise AssertionError
"""
    part = torch.nn.ParameterList([torch.nn.Parameter(torch.full((2,), 8.0))])
    repdl.checkpoint.save(tmp_path / "state", weight=part)
    entry = {"before": 4, "iterations": 4, "generators": {}}
    resume = {"rank 3": (str(tmp_path / "state"), entry)}
    told, _ = run_rank_3(tmp_path, text, processes.Plan(str(tmp_path / "parts"), str(tmp_path), 2, None, resume, 6))
    places = [(kind, content.get("number", content.get("before"))) for kind, content in told]
    assert places == [("checkpoint", 4), ("step", 4), ("step", 5), ("checkpoint", 6), ("process", None)]
    assert told[0][1]["states"]["weight"] == digests.of(part.state_dict())
    with torch.no_grad():
        part[0].fill_(2.0)
    assert told[3][1]["states"]["weight"] == digests.of(part.state_dict()) and not told[4][1]["ended"]


def test_an_interrupt_leaves_nothing_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose files are about to be removed is waited for, and killed if it goes on."""
    nap = rerun.sleep

    def sleep(seconds: float) -> NoReturn:
        monkeypatch.setattr(rerun, "sleep", nap)
        raise KeyboardInterrupt

    monkeypatch.setattr(rerun, "sleep", sleep)
    monkeypatch.setattr(rerun, "_GRACE", -1.0)
    program = os.posix_spawn(sys.executable, [sys.executable, "-c", "import time; time.sleep(100)"], os.environ)
    with pytest.raises(KeyboardInterrupt):
        rerun.waited(program, tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(program, 0)

    waits = iter([KeyboardInterrupt, subprocess.TimeoutExpired("rerun", 1), 130])
    told: list[Any] = []

    class Process:
        def __init__(self, command: list[str], **options: Any) -> None:
            self.send_signal = told.append

        def wait(self, timeout: float | None = None) -> Any:
            if (outcome := next(waits)) != 130:
                raise outcome
            told.append(outcome)

    monkeypatch.setattr(verifying.subprocess, "Popen", Process)
    with pytest.raises(KeyboardInterrupt):
        verifying._run([], {})
    assert told == [signal.SIGINT, 130]


SHARDED = """
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    # then
    optimizer.step()
dist.destroy_process_group()
"""


def _leave_group() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_parameters_that_are_sharded(party: Party, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(_leave_group)  # which a program that differs does not come to
    parameters = [*party.run(SHARDED)["model"].parameters()]
    assert len({step["parameters"] for step in party.receipt.steps}) == 2
    assert party.receipt.steps[-1]["parameters"] == hash_of_all(p.to_local() for p in parameters)
    assert party.verify() == (2, None)
    party.script.write_text(SHARDED.replace("# then", "optimizer.param_groups[0]['params'][0].grad.to_local()[0] += 1"))
    _, found = party.verify()
    assert found is not None and found.step == 0 and found.what == ["optimizer", "parameters"]


def test_a_verification_that_is_ended_leaves_nothing_that_runs(party: Party) -> None:
    begun = party.folder / "begun"
    waits = "    open('begun', 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    party.run(f"import os, time\nif os.path.exists('begun'):\n{waits}")
    begun.touch()
    command = [sys.executable, "-m", "repdl", "verify", str(party.path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while not begun.read_text():
            sleep(0.05)
        process.terminate()
    assert process.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


def test_names_of_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without a name, or that takes no step, has no part; a second one of a rank is named as such."""
    for rank in ("", "2", "10", "2"):
        monkeypatch.setenv("RANK", rank)
        for kinds in ([entries.STEP, entries.END], [entries.END]):
            part = processes.Part(tmp_path)
            for kind in kinds:
                part.add(kind, {"number": 0, "batches": [], "sources": {}})
    told, _ = processes.gathered(tmp_path)
    assert [content["process"] for _, content in told] == ["rank 2", "rank 2 (2)", "rank 10"] * 2
    assert sorted(["rank 10", "process 1:2", "rank 2"], key=entries.process_order) == [
        "process 1:2",
        "rank 2",
        "rank 10",
    ]


# Who changes a receipt.


def test_no_byte_can_be_changed(honest: Party, tmp_path: Path) -> None:
    whole = honest.path.read_bytes()
    path = tmp_path / "changed"
    choose = np.random.RandomState(1)
    for place in {0, len(whole) - 1, *choose.randint(0, len(whole), 300).tolist()}:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << choose.randint(8))]) + whole[place + 1 :])
        with pytest.raises(ReceiptError):
            file.read(path)


def test_what_was_changed_is_named(honest: Party, tmp_path: Path) -> None:
    lines = honest.path.read_bytes().splitlines(keepends=True)
    path = tmp_path / "changed"

    def refused(changed: list[bytes]) -> str:
        path.write_bytes(b"".join(changed))
        with pytest.raises(ReceiptError) as caught:
            file.read(path)
        return str(caught.value)

    for kind, at in ((b'"optimizer"', 3), (b'"model"', 1), (b'"sha256"', 0)):
        place = lines[at].index(kind) + len(kind) + 2
        changed = lines[at][:place] + (b"1" if lines[at][place : place + 1] != b"1" else b"2") + lines[at][place + 1 :]
        assert "its link is not the hash" in refused([*lines[:at], changed, *lines[at:][1:]])
    assert "line 3, step 0: its link is not the hash" in refused([*lines[:2], *lines[3:]])
    assert "line 3, step 0: its link" in refused([*lines[:2], lines[3], lines[2], *lines[4:]])
    assert "line 5, step 2: its link" in refused([*lines[:4], lines[3], *lines[4:]])
    assert "comes after the end: it was added" in refused([*lines, lines[3]])
    assert "comes after the end: it was added" in refused([*lines, b"\n"])
    about = lines[0].replace(b'"about":{', b'"about":{"A":1,')
    assert "does not have the SHA-256 that its last line says" in refused([about, *lines[1:]])
    for count in range(1, len(lines)):
        text = refused(lines[:count])
        assert text.startswith(f"{path}: it has no end: the run was killed, or the file cut off, after ")
        assert f"line {count + 1} is cut off" in refused([*lines[:count], lines[count][:-1]])
    assert refused([]) == f"{path}: it is empty, not a receipt"


HOSTILE = {
    "text": b"hello\n",
    "pickle": pickle.dumps({"program": print}),
    "safetensors": b"\x10\0\0\0\0\0\0\0{}",
    "record": b"RepDLrun" + bytes(100),
    "list": b"[]\n",
    "null": b"null\n",
    "deep": b"[" * 100_000,
    "deep program": b'{"program":' + b"[" * 100_000,
    "long number": b'{"program":' + b"1" * 10_000 + b"}\n",
    "NaN": b'{"program":{"format":NaN}}\n',
    "twice": b'{"program":{"format":"repdl receipt 2","format":"repdl receipt 2"}}\n',
    "a long line": b" " * (1 << 24) + b"{}\n",
    "zeros": bytes(1000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_are_no_receipts(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(
        ReceiptError, match=r"file: it is no receipt: it does not begin as `repdl run --receipt` writes"
    ):
        file.read(path)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(ReceiptError, match=f"{path}: it is no file"):
            file.read(path)
    with pytest.raises(FileNotFoundError):
        file.read(tmp_path / "none")


MADE_UP: list[tuple[int, str, Any, str]] = [
    (0, "format", "repdl receipt 1", "it has the format 'repdl receipt 1'; this version of repdl reads"),
    (0, "arguments", "x", "line 1 has no right arguments"),
    (0, "arguments", [1], "line 1 has no right arguments"),
    (0, "script", "a\0b", "line 1 has no right script"),
    (0, "script", "\ud800", "line 1 has no right script"),
    (0, "hash_seed", "x", "line 1 has no right hash_seed"),
    (0, "arithmetic", True, "line 1 has no right arithmetic"),
    (0, "more", 1, "line 1 has other fields than a program has"),
    (1, "iterations", -1, "line 2 has no right iterations"),
    (1, "before", 3, "line 2 is out of order"),
    (1, "states", {"a b": "0" * 64}, "line 2 has no right states"),
    (1, "states", {"model": None}, "line 2 has no right states"),
    (2, "number", 1, "line 3, step 0 is out of order"),
    (2, "number", 1.0, "line 3, step 0 has no right number"),
    (2, "parameters", "A" * 64, "line 3, step 0 has no right parameters"),
    (2, "batches", {}, "line 3, step 0 has no right batches"),
    (2, "generators", "0" * 64, "line 3, step 0 has no right generators"),
    (2, "generators", {"another": "0" * 64}, "line 3, step 0 has no right generators"),
    (2, "process", "rank x", "line 3 has no right process"),
    (2, "process", "rank 1", "line 4, step 0 is out of order"),
    (2, "batches", [[]], "line 3, step 0 has no right batches"),
    (-1, "sources", {"../x.py": "0" * 64}, "has no right sources"),
    (-1, "sources", {"/x.py": "0" * 64}, "has no right sources"),
    (-1, "sources", {"x.py": 0}, "has no right sources"),
    (-1, "steps", 3, "is out of order"),
    (-1, "status", None, "has no right status"),
]


@pytest.mark.parametrize(("at", "name", "value", "text"), MADE_UP)
def test_entries_that_are_made_up(honest: Party, tmp_path: Path, at: int, name: str, value: Any, text: str) -> None:
    """By one who makes all links anew."""
    lines = lines_of(honest.path)
    (kind,) = lines[at].keys() - {"about", "link", "sha256"}
    lines[at][kind][name] = value
    write_chain(tmp_path / "made up", lines)
    with pytest.raises(ReceiptError) as caught:
        file.read(tmp_path / "made up")
    assert text in str(caught.value)


def test_a_source_is_named_without_what_a_terminal_obeys(honest: Party, tmp_path: Path) -> None:
    lines = lines_of(honest.path)
    lines[-1]["end"]["sources"] = {f"{number}\x1b[2J.py": "0" * 64 for number in range(9)}
    write_chain(tmp_path / "made up", lines)
    receipt = file.read(tmp_path / "made up")
    at = len(receipt.entries)
    answer = {"at": at, "found": ["end", receipt.end | {"sources": {}}]}
    _, found = judge(receipt, [stretches.whole(receipt)], [answer])
    assert found is not None and "\x1b" not in found.sentence
    assert "in the sources that were imported (0\\x1b[2J.py, 1" in found.sentence and "and 4 more)" in found.sentence


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    path, this = tmp_path / "pipe", Program(__file__, [], False, Path.cwd())
    os.mkfifo(path)
    with pytest.raises(OSError, match="it is a pipe that nobody reads"), writing(path, this):
        pass


def test_lines_that_are_made_up(honest: Party, tmp_path: Path) -> None:
    lines = lines_of(honest.path)
    path = tmp_path / "made up"
    write_chain(path, lines)
    assert path.read_bytes() == honest.path.read_bytes()
    for changed, text in (
        ([lines[2], *lines], "it is no receipt"),
        ([lines[0], *lines], "line 2 is out of order"),
        ([lines[0] | {"about": {"path": 3, "directory": "x"}}, *lines[1:]], "line 1 does not say where the program is"),
        ([lines[0], lines[1] | {"about": {}}, *lines[2:]], "line 2 is no entry of a receipt"),
        ([*lines[:-1], {k: v for k, v in lines[-1].items() if k != "about"}], "is no entry of a receipt"),
    ):
        write_chain(path, json.loads(json.dumps(changed)))
        with pytest.raises(ReceiptError, match=text):
            file.read(path)


@pytest.mark.parametrize("name", ["batches", "parameters", "buffers", "optimizer", "generators"])
def test_a_chain_that_is_forged_whole_is_caught_when_it_runs(honest: Party, tmp_path: Path, name: str) -> None:
    party = copied(honest, tmp_path / "copy")
    lines = lines_of(party.path)
    for line in lines:
        if line.get("step", {}).get("number", 0) >= 5:  # "parameters" of a better model, say, from here on
            value = hashlib.sha256(line["step"]["parameters"].encode()).hexdigest()
            line["step"][name] = {"batches": [value], "generators": {"torch": value}}.get(name, value)
    write_chain(party.path, lines)
    _, found = party.verify()
    assert found is not None and (found.step, found.what) == (5, [name])
    parts = stretches.with_steps(party.receipt, [0, 3], party.checkpoints)
    assert party.verify(parts) == (4, None)  # who draws others does not see it
    _, found = party.verify(stretches.with_steps(party.receipt, [4], party.checkpoints))
    assert found is not None and (found.step, found.what) == (5, [name])


def test_steps_that_were_never_taken(honest: Party, tmp_path: Path) -> None:
    party = copied(honest, tmp_path / "copy")
    lines = lines_of(party.path)
    last = next(i for i, line in enumerate(lines) if line.get("step", {}).get("number") == STEPS - 1)
    added = json.loads(json.dumps(lines[last]))
    added["step"]["number"] = lines[-1]["end"]["steps"] = STEPS
    lines[-1]["end"]["steps"] += 1
    lines.insert(last + 1, added)
    write_chain(party.path, lines)
    _, found = party.verify()
    assert found is not None and found.sentence == f"the program ended with exit status 0 in step {STEPS}"


# What may happen meanwhile.


def test_a_full_disk_ends_the_receipt_alone(party: Party, capsys: pytest.CaptureFixture[str]) -> None:
    ran = []
    with writing(Path("/dev/full"), Program(__file__, [], False, Path.cwd())) as writer:
        ran.append(1)
    assert ran and writer.failure is not None
    told = capsys.readouterr().err
    assert told == "repdl run: /dev/full ends here, since it cannot be written: No space left on device\n"


def test_a_process_that_is_forked_writes_nothing(party: Party) -> None:
    party.run(
        "import os, sys, torch\n"
        "optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1)\n"
        "if child := os.fork():\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    optimizer.step()\n"
        "else:\n"
        "    optimizer.step()\n"
        "    optimizer.step()\n"
        "    sys.stdout.flush()\n"
        "    try:\n"
        "        sys.exit(0)\n"
        "    finally:\n"
        "        os._exit(0)\n"
    )
    assert len(party.receipt.steps) == 1


def test_nothing_is_left_behind(party: Party) -> None:
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    take = _BaseDataLoaderIter.__next__
    party.run("1 / 0\n")
    assert party.receipt.end["status"] == 1 and _BaseDataLoaderIter.__next__ is take and resumable.active is None
    party.run(every=1)
    steps = len(party.receipt.steps)
    runpy.run_path(str(party.script))
    assert len(party.receipt.steps) == steps


def test_digests() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    assert digests.of(x) == digests.of(x.t().contiguous().t()) == digests.of(torch.nn.Parameter(x))
    values: list[Any] = [
        x, x.t(), x.double(), x.reshape(4, 3), [x], (x, x), {"a": x}, {"b": x}, [1, 23], [12, 3], [[1], 2], [[1, 2]],
        ["1", 2], [True, 2], 1, 1.0, True, "1", b"1", None, [], [[]], {}, 0.0, -0.0, torch.tensor(0.0),
        torch.tensor(-0.0), np.arange(3), np.arange(3.0), [None, None], ["", "ab"], ["a", "b"],
        torch.empty(3, device="meta"), torch.eye(2).to_sparse(),
    ]  # fmt: skip
    assert len({digests.of(value) for value in values}) == len(values)
    assert digests.of([1, 2]) == digests.of((1, 2)) and digests.of(object()) == digests.of(object())


# The commands.


@pytest.fixture
def _enabled_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """`repdl run` enables its process, and those that it starts, for good."""
    monkeypatch.setattr("repdl.cli.run.enable_program", lambda *_: None)


@pytest.mark.usefixtures("_enabled_alike")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--checkpoints", "x", "train.py"], "--checkpoints is of --receipt"),
        (["run", "--receipt", "x", "--checkpoint-every", "2", "train.py"], "--checkpoint-every is of --checkpoints"),
        (["run", "--receipt", "no/where", "train.py"], "--receipt: there is no folder"),
        (["run", "--receipt", "x", "-m", "sys"], "--receipt: sys has no source that a receipt could name"),
        (["verify", "train.py"], "train.py: it is no receipt: it does not begin as"),
        (["verify", "nowhere"], "repdl verify: nowhere: No such file or directory"),
        (["verify", "receipt", "--seed", "1"], "--seed and --checkpoints are of --steps"),
        (["verify", "receipt", "--steps", "2"], "--steps needs --checkpoints"),
        (["verify", "receipt", "--steps", "2", "--checkpoints", "other"], "there is no checkpoint other/step-0000000"),
        (["verify", "receipt", "--program", "other.py"], "other.py is not what the receipt is of: it has the SHA-256"),
        (["verify", "receipt", "--program", "none.py"], "there is no program none.py; say with --program where it is"),
    ],
)
def test_wrong_calls(
    honest: Party, tmp_path: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(honest, tmp_path / "copy").folder
    (folder / "other.py").write_text(TRAIN + "\n")
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert message in result.output.replace("\n", " ")


def test_a_receipt_of_elsewhere(honest: Party, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    party = copied(honest, tmp_path / "copy")
    lines = lines_of(party.path)
    lines[0]["about"]["directory"] = "/nowhere\x1b[31m"
    write_chain(party.path, lines)
    with pytest.raises(ReceiptError, match=r"there is no folder /nowhere\\x1b\[31m; say with --program where"):
        verifying.place_of(party.receipt, None)
    monkeypatch.chdir(tmp_path)
    found = verifying.place_of(party.receipt, Path("copy/train.py"))
    assert found == Program("copy/train.py", [], False, tmp_path) and found.folder() == party.folder
    lines[0]["program"]["arithmetic"] += 1
    write_chain(party.path, lines)
    with pytest.raises(ReceiptError, match="it was written with arithmetic version 2, and this version of repdl has 1"):
        verifying.place_of(party.receipt, Path("copy/train.py"))


@pytest.mark.usefixtures("_enabled_alike")
def test_one_process_of_several(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    party.script.write_text("")
    monkeypatch.setenv("WORLD_SIZE", "2")
    result = CliRunner().invoke(app, ["run", "--receipt", str(party.path), str(party.script)])
    assert result.exit_code == 2 and "--receipt is of a whole program, and WORLD_SIZE says" in result.output


def test_what_the_command_says(honest: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes in which the program runs again are those of test_examples.py."""
    asked: list[Stretch] = []
    answer: tuple[int, Difference | None] = (STEPS, None)

    def verify(receipt: Receipt, program: Program, parts: list[Stretch]) -> tuple[int, Difference | None]:
        asked[:] = parts
        return answer

    monkeypatch.setattr(verifying, "verify", verify)
    monkeypatch.setattr(verifying, "other_versions", lambda receipt: iter(["torch 1.0 (here 2.0)"]))

    def said(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["verify", str(honest.path), *options])
        assert f"repdl verify: in {honest.folder} runs again: train.py\n" in result.stderr
        return result.exit_code, result.stdout

    ends = f"chain       {honest.receipt.link}\nparameters  {honest.receipt.steps[-1]['parameters']}\n"
    assert said() == (0, f"Confirmed: all {STEPS} steps, and the end with status 0.\n{ends}")
    assert asked == [stretches.whole(honest.receipt)]
    answer = (3, None)
    chosen = stretches.drawn(honest.receipt, 2, 4)
    text = (
        f"Confirmed: steps {', '.join(map(str, chosen))}, drawn from seed 4, and those up to the next checkpoints, "
        f"3 of {STEPS} steps.\n"
    )
    options = ("--steps", "2", "--seed", "4", "--checkpoints", str(honest.checkpoints))
    assert said(*options) == (0, text + ends)
    assert asked == stretches.with_steps(honest.receipt, chosen, honest.checkpoints)
    answer = (2, Difference("in step 2 the run differs in the parameters", 2, ["parameters"], has_resumed=True))
    status, text = said(*options)
    assert status == 1 and text.splitlines()[:3] == [
        "Not confirmed: in step 2 the run differs in the parameters.",
        "The receipt has other versions: torch 1.0 (here 2.0).",
        "If the whole run is confirmed, the loop goes by something that is no part of its Resumable.",
    ]
    assert text.splitlines()[3:] == [f"{end}  (as the receipt has it)" for end in ends.splitlines()]
    of_checkpoint = Difference("", 2, ["generators"], has_resumed=True, is_of_checkpoint=True)
    answer = (2, of_checkpoint)  # says nothing of the program
    assert "generator" not in said(*options)[1] and "Resumable" not in said(*options)[1]
    answer = (2, Difference("in step 2 the run differs in the parameters", 2, ["parameters"], has_resumed=True))
    status, text = said("--json")
    values = json.loads(text)
    assert (status, values["confirmed"], values["step"], values["what"]) == (1, False, 2, ["parameters"])
    assert (values["steps"], values["verified"], values["link"]) == (STEPS, 2, honest.receipt.link)


def test_other_versions_are_named(honest: Party, tmp_path: Path) -> None:
    assert list(verifying.other_versions(honest.receipt)) == []
    lines = lines_of(honest.path)
    lines[-1]["about"]["versions"] |= {"torch": "1.0\x1b", "nowhere": "2", "Python": "2.7"}
    write_chain(tmp_path / "other", lines)
    found = list(verifying.other_versions(file.read(tmp_path / "other")))
    assert len(found) == 3 and "nowhere 2 (here none)" in found
    assert any(text.startswith(r"torch 1.0\x1b (here 2.") for text in found)
