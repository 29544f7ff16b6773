# SPDX-License-Identifier: MIT
"""Ops with a planted fault each: their bits depend on the one thing that they are named after."""

from __future__ import annotations

import itertools
import os

import torch

PARENT = "REPDL_TEST_PARENT"
"""The environment variable in which the tests say which process is theirs."""

_calls = itertools.count()


def racy(x: torch.Tensor) -> torch.Tensor:
    return x + next(_calls)


def uninitialised(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def threads(x: torch.Tensor) -> torch.Tensor:
    return x + torch.get_num_threads()


def racy_among_many(x: torch.Tensor) -> torch.Tensor:
    return x + (next(_calls) if torch.get_num_threads() > 2 else 0)


def strides(x: torch.Tensor) -> torch.Tensor:
    return x + x.stride(-1)


def alignment(x: torch.Tensor) -> torch.Tensor:
    return x + x.data_ptr() % 64


def batch(x: torch.Tensor) -> torch.Tensor:
    return x + len(x)


def process(x: torch.Tensor) -> torch.Tensor:
    return x + os.getpid()


def capability(x: torch.Tensor) -> torch.Tensor:
    return x + len(torch.backends.cpu.get_cpu_capability())


def libraries(x: torch.Tensor) -> torch.Tensor:
    return x + len(os.environ.get("MKL_CBWR", ""))


def precision(x: torch.Tensor) -> torch.Tensor:
    return x + len(torch.get_float32_matmul_precision())


def deterministic(x: torch.Tensor) -> torch.Tensor:
    return x + torch.are_deterministic_algorithms_enabled()


def onednn(x: torch.Tensor) -> torch.Tensor:
    return x + torch.backends.mkldnn.enabled


def ends_elsewhere(x: torch.Tensor) -> torch.Tensor:
    if os.environ[PARENT] != str(os.getpid()):
        os._exit(3)
    return x + 1


def asserts(x: torch.Tensor) -> torch.Tensor:
    assert x.is_contiguous()
    return x + 1


def seeded(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand(x.shape)


def written(x: torch.Tensor) -> torch.Tensor:
    """In place, and nothing that depends on anything."""
    return x.add_(1)


KINDS = {
    racy: "run to run",
    uninitialised: "run to run",
    threads: "threads",
    strides: "layout",
    alignment: "layout",
    batch: "batch",
    process: "process",
    capability: "instructions",
    libraries: "instructions",
    precision: "precision",
    deterministic: None,
    onednn: None,
    seeded: None,
    written: None,
}
"""In what each varies, and in nothing else. Other processes load this module."""

library = torch.library.Library("planted_ops", "DEF")
for function in (*KINDS, racy_among_many, ends_elsewhere, asserts):
    changes = "(a!)" if function is written else ""
    tag = torch.Tag.nondeterministic_seeded if function is seeded else torch.Tag.pointwise
    library.define(f"{function.__name__}(Tensor{changes} x) -> Tensor{changes}", tags=(tag,))
    library.impl(function.__name__, function, "CPU")
