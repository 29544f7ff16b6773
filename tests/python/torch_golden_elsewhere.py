# SPDX-License-Identifier: MIT
"""A program that prints which golden lines fail in this process, of ops that run torch's own kernels; for
test_torch_golden."""

from __future__ import annotations

import json
import sys

import torch

from repdl.conformance.torch_golden import TORCH_GOLDEN, run_torch_golden
from repdl.interception.exact import why_exact

if __name__ == "__main__":
    ops = [path.stem for path in TORCH_GOLDEN.glob("*.txt") if why_exact(path.stem) is not None]
    report = run_torch_golden(ops, threads=(int(sys.argv[1]),))
    print(
        json.dumps(
            {
                "capability": torch.backends.cpu.get_cpu_capability(),
                "passed": sum(result.status == "passed" for result in report.results),
                "failures": [f"{failure.case}: {failure.detail}" for failure in report.failures],
            }
        )
    )
