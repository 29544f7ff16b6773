# SPDX-License-Identifier: MIT
"""Reads the orders of torch's sums, and of ours, under several settings, for docs/reveal.md: takes minutes.

    python tools/update_reveal.py

Each setting has a process of its own. Writes docs/reveal.json and a drawing of each tree, docs/reveal/*.svg.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import repdl
from repdl._machine import describe_machine
from repdl.reveal import NotASumError
from repdl.reveal.fold import explain
from repdl.reveal.ops import Options, reveal_op

DOCS = Path(__file__).resolve().parent.parent / "docs"


@dataclass(frozen=True)
class Case:
    torch: str
    ours: str
    options: Options


CASES = {
    "sum": Case("torch.sum", "sum", Options(100)),
    "long-sum": Case("torch.sum", "sum", Options(40000, every=32)),
    "mm": Case("torch.mm", "mm", Options(shape=(64, 512, 64))),
    "small-mm": Case("torch.mm", "mm", Options(shape=(4, 512, 4))),
    "linear": Case("torch.nn.functional.linear", "linear", Options(shape=(1, 1000, 10))),
    "linear-batch": Case("torch.nn.functional.linear", "linear", Options(shape=(8, 1000, 10))),
    "conv2d": Case("torch.nn.functional.conv2d", "conv2d", Options(shape=(1, 32, 16, 16, 32, 3, 3))),
    "conv2d-weight": Case("torch.nn.grad.conv2d_weight", "conv2d_grad_kernel", Options(shape=(4, 8, 16, 16, 8, 3, 3))),
    "softmax": Case("torch.softmax", "softmax", Options(100)),
}
TORCH_TARGETS = ("default", "avx2", "avx512")
THREADS = (1, 2, 3)
LIBRARIES = (
    {"MKL_CBWR": "COMPATIBLE"},
    {"MKL_CBWR": "AVX2"},
    {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    {"ONEDNN_MAX_CPU_ISA": "AVX2"},
)
"""What torch's matrix products and convolutions come from, set beside its own target; with one thread."""

PATIENCE = {"OMP_WAIT_POLICY": "passive"}
"""More threads than cores are slow while they wait for each other; what they compute is the same."""


def read(op: str, options: Options) -> dict[str, str]:
    try:
        what, tree = reveal_op(op, options)
    except NotASumError as error:
        return {"error": str(error)}
    found = {"what": what, "digest": tree.digest, "summary": explain(tree).summary}
    drawing = DOCS / "reveal" / f"{tree.digest[:8]}.svg"
    drawing.write_text(tree.svg(), encoding="utf-8")
    return found


def read_all(whose: str, threads: int) -> dict[str, dict[str, str]]:
    """In this process."""
    repdl.set_num_threads(threads)
    if whose == "torch":
        import torch

        torch.set_num_threads(threads)
    return {name: read(getattr(CASES[name], whose), CASES[name].options) for name in CASES}


def in_a_process(whose: str, threads: int, environment: dict[str, str]) -> dict[str, dict[str, str]]:
    print(whose, threads, environment, file=sys.stderr, flush=True)
    command = [sys.executable, __file__, whose, str(threads)]
    environment = os.environ | PATIENCE | environment
    output = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, dict[str, str]] = json.loads(output)
    return found


def every_setting() -> list[dict[str, Any]]:
    targets = describe_machine()["CPU targets supported"]
    settings = [("torch", n, {"ATEN_CPU_CAPABILITY": target}) for target in TORCH_TARGETS for n in THREADS]
    settings += [("torch", 1, library) for library in LIBRARIES]
    settings += [("ours", n, {"REPDL_TARGET": target}) for target in targets for n in THREADS]
    results = []
    for whose, threads, environment in settings:
        found = in_a_process(whose, threads, environment)
        results.append({"whose": whose, "threads": threads, "environment": environment, "cases": found})
    return results


def main() -> None:
    if sys.argv[1:]:
        whose, threads = sys.argv[1:]
        print(json.dumps(read_all(whose, int(threads))))
        return
    info = describe_machine()
    (DOCS / "reveal").mkdir(exist_ok=True)
    for old in (DOCS / "reveal").glob("*.svg"):
        old.unlink()
    document = {
        "machine": f"{info['CPU']}, {len(os.sched_getaffinity(0))} cores",
        "torch": info["torch"],
        "settings": every_setting(),
    }
    (DOCS / "reveal.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
