# SPDX-License-Identifier: MIT
"""Records of runs, op by op, and where two of them differ first."""

from repdl.runs.recorder import record as record
