# SPDX-License-Identifier: MIT
"""Every op and module that torch has samples for, under `repdl.enable()`, in every setting that could change bits.

    result = repdl.conformance.torch_sweep.sweep(["maximum", "nn.functional.linear"])
    assert result.passed, result.findings

`repdl conformance --torch` does the same from the shell. Samples are those of torch's own tests (op_db and module_db),
made harder: `hostile` changes the numbers, `layouts` the strides. A worker process for each of `settings` runs them and
streams digests; `compare` tells what differs.
"""

from repdl.conformance.torch_sweep.compare import sweep as sweep
from repdl.conformance.torch_sweep.database import MissingError as MissingError
from repdl.conformance.torch_sweep.outcome import Finding as Finding, ResultError as ResultError, Sweep as Sweep
from repdl.conformance.torch_sweep.page import page as page
