# SPDX-License-Identifier: MIT
"""Digests of the calls of other test modules are the same with other instruction sets and numbers of threads."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from support import CAPABILITIES, TARGETS, run_python

DIGESTS = (
    "test_complex.rotary_digest", "test_complex.digest_of_all", "test_float64.digest", "test_fourier.digest",
    "test_gamma.digest", "test_inverse_complex.digest", "test_layout_invariance.digest", "test_polynomials.digest",
    "test_quantized.digest", "test_special.digest", "test_spectral.digest",
)  # fmt: skip

SETTINGS = (("default", "scalar", 1), ("default", "sse4", 2), ("avx2", "avx2", 3), ("avx512", "avx512", 2))
"""An instruction set of torch's, a CPU target of ours, a number of threads."""


def digests() -> dict[str, str]:
    found = {}
    for call in DIGESTS:
        module, _, function = call.partition(".")
        found[call] = getattr(import_module(module), function)()
    return found


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


@pytest.mark.parametrize(
    ("capability", "target", "threads"), [s for s in SETTINGS if s[0] in CAPABILITIES and s[1] in TARGETS]
)
def test_same_bits(capability: str, target: str, threads: int, here: dict[str, str]) -> None:
    """In one process for all of them, since most of the time is that of starting one."""
    program = (
        "import json, sys, torch; sys.path.insert(0, 'tests/python'); torch.set_num_threads(int(sys.argv[1]));"
        "import test_elsewhere; print(json.dumps(test_elsewhere.digests()))"
    )
    environment = {"ATEN_CPU_CAPABILITY": capability, "REPDL_TARGET": target, "OMP_WAIT_POLICY": "passive"}
    assert json.loads(run_python(program, str(threads), **environment)) == here
