# SPDX-License-Identifier: MIT
"""The proof that this machine computes the bits of docs/arithmetic.md: every case of the golden files, run here.

    report = repdl.conformance.run()
    assert report.passed, report.failures

`repdl conformance` does the same from the shell. `check_declared` tries what `repdl.declare` says of an op of another
library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repdl.conformance.difference import (
    Comparison as Comparison,
    Difference as Difference,
    IncomparableError as IncomparableError,
    compare as compare,
)
from repdl.conformance.report import Report as Report, ReportError as ReportError, Result as Result
from repdl.conformance.suite import GOLDEN as GOLDEN, Progress as Progress, golden_lines as golden_lines, run as run

if TYPE_CHECKING:
    from repdl.conformance.declared import (
        Claim as Claim,
        DeclaredCheck as DeclaredCheck,
        check_claims as check_claims,
        check_declared as check_declared,
    )

_OF_TORCH = {"Claim", "DeclaredCheck", "check_claims", "check_declared"}


def __getattr__(name: str) -> Any:
    """What needs torch is imported when it is first used."""
    if name in _OF_TORCH:
        return getattr(import_module("repdl.conformance.declared"), name)
    raise AttributeError(f"module 'repdl.conformance' has no attribute {name!r}")
