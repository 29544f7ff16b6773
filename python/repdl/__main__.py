# SPDX-License-Identifier: MIT
"""`python -m repdl` is the command `repdl`."""

from repdl.cli import main

main()
