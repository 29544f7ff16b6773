# SPDX-License-Identifier: MIT
"""A trainer proves to a verifier how a model was trained, and trainers that cheat are caught at the step.

    python examples/proof_of_training.py

The trainer runs `train`, below, and hands over a receipt, checkpoints and the model. The verifier has another machine,
with other threads and another instruction set. It compares the model with the receipt, verifies steps that it draws at
random, and then all. Who cheats changes a line of the program, and forges the receipt to name the program as it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from rich.console import Console
from safetensors.torch import load_model, save_model
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import repdl


def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2))


def train(path: Path) -> None:
    """The program that both parties have agreed on. `Resumable` lets the verifier begin at any step."""
    repdl.manual_seed(0)
    points = torch.randn(200, 2)
    labels = (points.square().sum(1) < 1).long()
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    sampler = repdl.checkpoint.ResumableBatchSampler(len(points), batch_size=20, seed=0)
    loader = DataLoader(TensorDataset(points, labels), batch_sampler=sampler)
    resumable = repdl.receipts.Resumable(model=model, optimizer=optimizer, sampler=sampler)
    while sampler.epoch < 3:
        for inputs, targets in sampler.batches(loader):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            resumable.step()
    save_model(model, str(path))


PROGRAM = Path(__file__).resolve()
OTHER_MACHINE = {"REPDL_TARGET": "scalar", "ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "3"}
"""The verifier's: its threads and instruction set stand for all in which machines differ."""


@dataclass(frozen=True)
class Cheat:
    """A line of `train`, what a trainer puts before it, and where the verifier finds that out."""

    line: str
    before: str
    step: int
    what: str


CHEATS = {
    "skips a step": Cheat(
        "            optimizer.zero_grad()", "            if sampler.epoch == 1 and sampler.batch == 8: continue",
        step=17, what="batches",
    ),
    "trains on other data": Cheat(
        "    model = make_model()", "    labels[7] = 1 - labels[7]",
        step=7, what="batches",
    ),
    "edits a weight": Cheat(
        "            resumable.step()", "            if sampler.epoch == 2: model[0].weight.data[0, 0] += 0.001",
        step=21, what="states",
    ),
}  # fmt: skip


def command(*arguments: str | Path, folder: Path, **environment: str) -> str:
    """Runs `repdl`, as from a shell in a folder; returns what it prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "repdl", *map(str, arguments)],
        cwd=folder, env=os.environ | environment, text=True, check=False, capture_output=True,
    )  # fmt: skip
    if ran.returncode not in (0, 1):
        raise RuntimeError(ran.stderr)
    return ran.stdout


def run(program: Path, folder: Path) -> Path:
    """The trainer's part: a receipt, beside checkpoints and the model."""
    receipt = folder / "receipt"
    options = ("--receipt", receipt, "--checkpoints", folder / "checkpoints")
    command("run", *options, program, "--train", "model.safetensors", folder=folder)
    return receipt


def verify(receipt: Path, *options: str | Path) -> dict[str, Any]:
    """The verifier's part, on its machine, with its copy of the program."""
    with TemporaryDirectory() as folder:
        arguments = ("verify", receipt, "--json", "--program", PROGRAM, *options)
        verdict: dict[str, Any] = json.loads(command(*arguments, folder=Path(folder), **OTHER_MACHINE))
    return verdict


def forge(receipt: Path) -> None:
    """Has the receipt of any program name this one. Links and checksum are no secret: anybody can make them anew."""
    lines = [json.loads(line) for line in receipt.read_text().splitlines()]
    lines[0]["program"]["sha256"] = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    link, whole = "", ""
    for line in lines:
        (kind,) = line.keys() - {"about", "link", "sha256"}
        link = line["link"] = sha256(link + as_json({kind: line[kind]}))
        if kind == "end":
            del line["sha256"]
            line["sha256"] = sha256(whole + as_json(line))
        whole += as_json(line) + "\n"
    receipt.write_text(whole)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def cheating(cheat: Cheat, folder: Path) -> Path:
    """What the cheating trainer hands over."""
    folder.mkdir()
    program = folder / PROGRAM.name
    program.write_text(PROGRAM.read_text().replace(cheat.line, f"{cheat.before}\n{cheat.line}", 1))
    receipt = run(program, folder)
    forge(receipt)
    return receipt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=Path, metavar="FILE", help="only train, and write the model into FILE")
    parser.add_argument("--cheat", choices=CHEATS, action="append", help="only this one; may be given again")
    options = parser.parse_args()
    if options.train is not None:
        train(options.train)
        return 0

    console = Console(highlight=False, soft_wrap=True)
    is_as_expected = True

    def report(who: str, is_right: bool, text: str) -> None:
        nonlocal is_as_expected
        is_as_expected = is_as_expected and is_right
        console.print(f"{who:<30} [{'green' if is_right else 'red'}]{text}[/]")

    with TemporaryDirectory() as temporary, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(temporary)
        receipt = run(PROGRAM, folder)
        some = pool.submit(verify, receipt, "--steps", "2", "--checkpoints", folder / "checkpoints")
        all_steps = pool.submit(verify, receipt)
        names = options.cheat or list(CHEATS)
        caught = [pool.submit(lambda name: verify(cheating(CHEATS[name], folder / name)), name) for name in names]

        verdict = some.result()
        report("The trainer, some steps:", verdict["confirmed"], verdict["sentence"])
        verdict = all_steps.result()
        report("The trainer, all steps:", verdict["confirmed"], verdict["sentence"])
        load_model(model := make_model(), folder / "model.safetensors")
        is_model = repdl.utils.get_hash(model) == verdict["parameters"]
        report("The trainer's model:", is_model, f"{'It is' if is_model else 'It is not'} the one of the receipt.")
        for name, verdict in zip(names, (future.result() for future in caught), strict=True):
            is_caught = verdict["step"] == CHEATS[name].step and CHEATS[name].what in verdict["what"]
            report(f"One that {name}:", is_caught, verdict["sentence"])
    return 0 if is_as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
