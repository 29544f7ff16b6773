# SPDX-License-Identifier: MIT
"""Golden lines of torch's ops, which were recorded for the CPU, with tensors on the device: a few of each op."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from repdl.conformance.torch_golden import TORCH_GOLDEN, run_torch_golden

LEFT_OUT = {
    "mse_loss": "resizes `out` for the terms of a mean, and here memory is seen from two sides",
    "_linalg_eigvals": "has no kernel for devices",
    "linalg_eig": "likewise",
    "linalg_eigvals": "likewise",
    "quantize_per_channel": "gives quantised tensors, which DLPack does not carry",
    "quantize_per_tensor": "likewise",
    "quantize_per_tensor_dynamic": "likewise",
}
"""Ops that the device of these tests cannot serve."""

OF_THE_CPU = ("coo(", "csr(", "quantized(")
"""What cases of sparse and quantised tensors have, whose kernels are of the CPU alone."""

OF_EACH = 2


def _sample(lines: list[str]) -> list[str]:
    """Lines from all over a file."""
    return [lines[(2 * i + 1) * len(lines) // (2 * OF_EACH)] for i in range(min(OF_EACH, len(lines)))]


@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_every_op_passes(tmp_path: Path) -> None:
    for path in TORCH_GOLDEN.glob("*.txt"):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        lines = [line for line in lines if not any(text in line for text in OF_THE_CPU)]
        if lines and path.stem not in LEFT_OUT:
            (tmp_path / path.name).write_text("\n".join(_sample(lines)) + "\n")
    report = run_torch_golden(golden=tmp_path, threads=(1,), device=torch.device("cuda:0"))
    assert [(r.status, r.case, r.detail) for r in report.results if r.status != "passed"] == []
