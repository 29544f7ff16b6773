# SPDX-License-Identifier: MIT
"""A program that prints the golden lines of torch's ops that fail in this process; for test_torch_golden."""

from __future__ import annotations

import json
import sys

import torch

from repdl.conformance.torch_golden import run_torch_golden

if __name__ == "__main__":
    report = run_torch_golden(threads=(int(sys.argv[1]),))
    print(
        json.dumps(
            {
                "capability": torch.backends.cpu.get_cpu_capability(),
                "passed": sum(result.status == "passed" for result in report.results),
                "failures": [f"{failure.case}: {failure.detail}" for failure in report.failures],
            }
        )
    )
