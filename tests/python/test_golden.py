# SPDX-License-Identifier: MIT
"""Every op gives the digests of the slow reference, from NumPy arrays and from torch tensors."""

from __future__ import annotations

import numpy as np

from repdl import _core
from repdl._op import registry
from repdl.testing.suites import (
    test_golden_files_have_every_dtype as test_golden_files_have_every_dtype,
    test_golden_files_hold_the_declared_samples as test_golden_files_hold_the_declared_samples,
    test_numpy_arrays_give_the_golden_digests as test_numpy_arrays_give_the_golden_digests,
    test_torch_tensors_give_the_golden_digests as test_torch_tensors_give_the_golden_digests,
)
from support import ALL_OPS, digest, golden_lines, results_of


def test_every_op_of_the_core_is_declared() -> None:
    assert sorted(_core.ops) == ALL_OPS


def test_a_wrong_digest_is_seen() -> None:
    expected, text = golden_lines("mm")[0]
    _, arguments = _core.read_case(text)
    arguments["input"] = arguments["input"] + np.float32(1e-3)
    assert digest(results_of(registry["mm"], arguments)) != expected
