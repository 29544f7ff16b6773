# SPDX-License-Identifier: MIT
"""The repdl._core that the tests run with. Every process of theirs is told of it by the environment."""

from __future__ import annotations

import importlib.util
import os
import sys

NAME, VARIABLE = "repdl._core", "REPDL_CORE_UNDER_TEST"


def load() -> None:
    """Before repdl is imported, which then takes this one."""
    if NAME in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(NAME, os.environ[VARIABLE])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[NAME] = core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
