# SPDX-License-Identifier: MIT
"""A file that is written while a program runs."""

from __future__ import annotations

import errno
import os
from pathlib import Path


def open_anew(path: Path) -> int:
    """The descriptor of a file, emptied; a pipe that nobody reads is not waited for, but raises OSError."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is a pipe that nobody reads", str(path)) from None
        raise
    os.set_blocking(file, True)
    return file
