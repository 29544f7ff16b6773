# SPDX-License-Identifier: MIT
"""Runs repdl_reference_lenet (tests/reference): LeNet trained with arithmetic that the library does not share."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def train(
    program: Path, arrays: dict[str, npt.NDArray[Any]], *, batch: int, order: str, lr: float = 0.01
) -> dict[str, str | float]:
    """Digests of a training run and its accuracy.

    `arrays` are the first weights ("start", float32), the samples of each step ("schedule", int64), and "images"
    (float32), "labels" (int64), "test-images" and "test-labels".
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), "--batch", str(batch), "--lr", str(lr), "--order", order, "--threads", "2"]
        for name, array in arrays.items():
            path = Path(folder) / name
            path.write_bytes(np.ascontiguousarray(array).tobytes())
            command += [f"--{name}", str(path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    values = dict(line.split(" ", 1) for line in output.strip().splitlines())
    correct, total = map(int, values["accuracy"].split(" / "))
    return {
        "initial model": values["initial"],
        "losses": values["losses"],
        "trained model": values["trained"],
        "logits": values["logits"],
        "accuracy": correct / total,
    }


def write_golden(path: Path, digests: Mapping[str, object], *, check: bool) -> None:
    """Writes a golden file of `train`'s results; with `check` a file that would change is an error instead."""
    page = json.dumps(digests, indent=2) + "\n"
    if not check:
        path.write_text(page)
    elif path.read_text() != page:
        raise SystemExit(f"{path} would change")
