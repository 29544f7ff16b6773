# SPDX-License-Identifier: MIT
"""The command `repdl`."""

from repdl.cli.main import main as main
