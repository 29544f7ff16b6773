# SPDX-License-Identifier: MIT
"""An index out of range stops the kernel, and with it the device: by name, in a program that goes on on the CPU."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

PROGRAM = """
import core_under_test
core_under_test.load()
import warnings
warnings.simplefilter("ignore")
import torch
import repdl

def tried(call):
    try:
        call()
        torch.cuda.synchronize()
    except RuntimeError as error:
        return type(error).__name__ + ": " + " ".join(str(error).split())
    return "no error"

x = torch.arange(12.0).reshape(4, 3)
index = torch.tensor([0, 4])
with repdl.reproducible():
    expected = torch.exp(x)
    y, places = x.cuda(), index.cuda()
    torch.exp(y)
    print("right:", tried(lambda: y.index_add(0, places % 4, y[:2])))
    print("wrong:", tried(lambda: {call}))
    print("after:", tried(lambda: repdl.ops.exp(y)))
    print("on the CPU:", torch.equal(torch.exp(x), expected))
"""


@pytest.mark.parametrize(
    "call",
    [
        "y.index_add(0, places, y[:2])",
        "torch.nn.functional.embedding(places, y)",
        "y.scatter_add(0, places[:, None], y[:2, :1])",
        "torch.nn.functional.cross_entropy(y, places.repeat(2))",
    ],
)
def test_an_index_out_of_range(call: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{call}", call)], capture_output=True, text=True, check=False, timeout=50
    )
    lines = dict(line.partition(": ")[::2] for line in result.stdout.splitlines())
    print(result.stdout, result.stderr)
    assert lines["right"] == "no error"
    assert re.search(r"CUDA error|cudaError", lines["wrong"])
    assert re.search(r"\[exp\] .*cuda:0.*cudaError", lines["after"])
    assert lines["on the CPU"] == "True"
    assert result.returncode == 0
