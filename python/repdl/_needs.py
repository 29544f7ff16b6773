# SPDX-License-Identifier: MIT
"""The libraries of the extra `record`, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingLibraryError(ImportError):
    """A library of the extra `record` is not installed."""


def library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        text = f"records of runs need {package}, which is not installed: pip install 'repdl[record]'"
        raise MissingLibraryError(text, name=package) from None
