# SPDX-License-Identifier: MIT
"""What is said beside a program that runs, on its error output."""

from __future__ import annotations

import sys
from contextlib import suppress


def tell(text: str) -> None:
    """Nothing if that is closed or full: the program goes on, and its exit status stays."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(text, file=sys.stderr)
