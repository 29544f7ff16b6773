# SPDX-License-Identifier: MIT
"""Installs wheels and source distributions in clean environments, without torch and with it, and tries them there.

    python tools/check_wheel.py dist/*.whl dist/*.tar.gz

Each file gets a virtual environment of its own, into which pip installs it as a user would; a source distribution is
compiled. There `repdl conformance` runs, before torch is installed and after it, and then a first step of training.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

CONSTRAINTS = Path(__file__).resolve().parent.parent / "requirements/constraints.txt"

WITHOUT_TORCH = """
import sys
import numpy as np
import repdl
assert "torch" not in sys.modules
x = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
y = repdl.ops.softmax(repdl.ops.mm(x, x, transB=True), dim=-1)
assert (repdl.ops.mm(x[1:2], x, transB=True) == repdl.ops.mm(x, x, transB=True)[1:2]).all()
"""

TRAINING = """
import hashlib
import torch
import repdl
repdl.enable()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.GELU(), torch.nn.Linear(50, 3))
optimizer = torch.optim.AdamW(model.parameters())
loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 20)), torch.tensor([0, 1, 2, 0, 1, 2, 0, 1]))
loss.backward()
optimizer.step()
weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
print(hashlib.sha256(weights).hexdigest())
"""
"""It prints a digest of the weights, which is the same everywhere."""


def run(python: Path, *arguments: str) -> str:
    """Runs the interpreter of an environment outside of the checkout; returns what it prints, or ends the program."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with tempfile.TemporaryDirectory() as elsewhere:
        result = subprocess.run(
            [python, *arguments], capture_output=True, text=True, check=False, cwd=elsewhere, env=clean
        )
    if result.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(file: Path, folder: Path, say: Console) -> str:
    """Tries one file in an environment made in `folder`; returns the digest of the trained weights."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin/python"

    def install(what: str) -> None:
        say.print(f"{file.name}: pip install {what}")
        run(python, "-m", "pip", "--disable-pip-version-check", "install", "-c", str(CONSTRAINTS), what)

    install(str(file.resolve()))
    run(python, "-c", WITHOUT_TORCH)
    run(python, "-m", "repdl", "conformance")
    install("torch")
    run(python, "-m", "repdl", "conformance")
    return run(python, "-c", TRAINING).strip()


def main(files: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Wheels and .tar.gz.")]) -> None:
    """Installs each file in a clean environment, without torch and with it, and runs conformance and training there."""
    say = Console()
    digests = {}
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            digests[file.name] = check(file, Path(folder), say)
        say.print(f"{file.name}: conformance passes without and with torch; trained weights {digests[file.name]}")
    if len(set(digests.values())) > 1:
        raise SystemExit(f"the trained weights differ: {digests}")


if __name__ == "__main__":
    typer.run(main)
