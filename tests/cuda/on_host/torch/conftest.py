# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

import device
import pytest

import repdl

_LIBRARY = device.install()


@pytest.fixture
def enabled() -> Iterator[None]:
    """Under `repdl.enable()`, where nothing waits for the device."""
    with repdl.reproducible():
        device.waits.clear()
        device.own_calls.clear()
        yield
