# SPDX-License-Identifier: MIT
from __future__ import annotations

import warnings
from collections.abc import Iterator

import core_under_test
import pytest

core_under_test.load()

with warnings.catch_warnings(action="ignore"):  # of torch, which says what else it has found on a machine
    import device

import repdl  # noqa: E402

_libraries = []


def pytest_configure(config: pytest.Config) -> None:
    _libraries.append(device.install())
    # A GPU may come with a torch that nobody has measured.
    config.addinivalue_line("filterwarnings", "ignore:Which kernels of torch give the same bits:UserWarning")
    config.addinivalue_line("filterwarnings", "ignore:Synchronization debug mode is a prototype:UserWarning")


@pytest.fixture(autouse=True)
def device_that_goes_on() -> Iterator[None]:
    """Each test leaves a device that computes, and is told of what it started there and failed."""
    with device.watched():
        yield


@pytest.fixture
def enabled() -> Iterator[None]:
    """Under `repdl.enable()`."""
    with repdl.reproducible():
        yield
