# SPDX-License-Identifier: MIT
"""The proof that this machine computes the bits of docs/arithmetic.md: every case of the golden files, run here.

    report = repdl.conformance.run()
    assert report.passed, report.failures

`repdl conformance` does the same from the shell.
"""

from repdl.conformance.difference import (
    Comparison as Comparison,
    Difference as Difference,
    IncomparableError as IncomparableError,
    compare as compare,
)
from repdl.conformance.report import Report as Report, ReportError as ReportError, Result as Result
from repdl.conformance.suite import GOLDEN as GOLDEN, Progress as Progress, golden_lines as golden_lines, run as run
