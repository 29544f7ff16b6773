# SPDX-License-Identifier: MIT
"""The slow reference (tests/reference) as a function."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from support import ROOT


@cache
def _program() -> Path:
    named = os.environ.get("REPDL_REFERENCE")
    built = [Path(named)] if named else list(ROOT.glob("build/*/tests/reference/repdl_reference"))
    if not built:
        pytest.skip("repdl_reference is not built; it needs MPFR (Debian: libmpfr-dev)")
    return max(built, key=lambda path: path.stat().st_mtime)


def digests_by_program(cases: Sequence[str]) -> list[str | None]:
    """The digest of each case; None for one that the reference cannot read."""
    result = subprocess.run([_program()], input="\n".join(cases) + "\n", capture_output=True, text=True, check=False)
    found = {case: digest for digest, _, case in (line.split("  ", 2) for line in result.stdout.splitlines())}
    return [found.get(case) for case in cases]
