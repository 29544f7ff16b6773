# SPDX-License-Identifier: MIT
"""Every op gives the digests of the slow reference, from NumPy arrays and from torch tensors."""

from __future__ import annotations

import numpy as np
import pytest

from repdl import _core
from repdl._op import registry
from support import ALL_OPS, digest, golden_lines, has_bfloat16, results_of, to_numpy, to_torch


@pytest.mark.parametrize("name", ALL_OPS)
def test_numpy_arrays_give_the_golden_digests(name: str) -> None:
    for expected, text in golden_lines(name):
        _, arguments = _core.read_case(text)
        if has_bfloat16(arguments):
            continue
        results = results_of(registry[name], arguments)
        assert all(isinstance(r, np.ndarray) for r in results)
        assert digest(results) == expected, text


@pytest.mark.parametrize("name", ALL_OPS)
def test_torch_tensors_give_the_golden_digests(name: str) -> None:
    for expected, text in golden_lines(name):
        _, arguments = _core.read_case(text)
        results = results_of(registry[name], to_torch(arguments))
        assert digest([to_numpy(r) for r in results]) == expected, text


@pytest.mark.parametrize("name", ALL_OPS)
def test_golden_files_hold_the_declared_samples(name: str) -> None:
    op = registry[name]
    assert op.make_samples is not None
    declared = len(list(op.make_samples())) * (2 if op.takes_order else 1)
    assert len(golden_lines(name)) == declared, "run `make golden`"


def test_every_op_of_the_core_is_declared() -> None:
    assert sorted(_core.ops) == ALL_OPS


def test_a_wrong_digest_is_seen() -> None:
    expected, text = golden_lines("mm")[0]
    _, arguments = _core.read_case(text)
    arguments["input"] = arguments["input"] + np.float32(1e-3)
    assert digest(results_of(registry["mm"], arguments)) != expected
