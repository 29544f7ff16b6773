# SPDX-License-Identifier: MIT
"""The instructions of the compiled core.

GCC 12 makes `(ac - bd, ad + bc)` of plain doubles one fused instruction in spite of `-ffp-contract=off`. Products of
complex numbers are written in lane words, where it does not.
"""

from __future__ import annotations

import platform
import re
import subprocess

import pytest

from repdl import _core

FUSED_PAIRS = re.compile(r"\bv?fm(?:addsub|subadd)\d*p[sd]\b")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="these instructions are x86's")
def test_no_product_is_fused_with_a_sum_and_a_difference() -> None:
    listing = ["objdump", "--disassemble", "--no-show-raw-insn", _core.__file__]
    with subprocess.Popen(listing, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = [line for line in process.stdout if FUSED_PAIRS.search(line)]
    assert process.returncode == 0
    assert not found, found[:5]


def test_the_pattern_finds_them() -> None:
    assert FUSED_PAIRS.search("vfmaddsub213pd %zmm2,%zmm1,%zmm0")
    assert FUSED_PAIRS.search("vfmsubadd132ps %ymm2,%ymm1,%ymm0")
    assert not FUSED_PAIRS.search("vaddsubpd %ymm2,%ymm1,%ymm0")
    assert not FUSED_PAIRS.search("vfmadd213pd %ymm2,%ymm1,%ymm0")
