# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from reference import digests_by_program
from repdl.testing import Reference

ROOT = Path(__file__).resolve().parent.parent.parent

ABSENT = re.compile(
    r"no CUDA device|the modes of x86|gcc's start-up code .* on x86|this CPU runs one target only|target avx2 needs it"
    r"|no Chromium: `make test-pages` installs it|no TensorFlow: it is too large to be installed for one test"
)
"""What a skipped test may say under --no-skips: it has nothing to check on this machine, a target of make installs what
it needs, or nothing does. Any other hides a check."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="fail tests that are skipped, but for what a machine lacks"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if item.config.getoption("--no-skips"):
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    if collector.config.getoption("--no-skips"):
        _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail") and not ABSENT.search(str(report.longrepr)):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skips does not allow: {report.longrepr}"


@pytest.fixture(autouse=True)
def environment_as_it_was() -> Iterator[None]:
    """Programs run in this process may change the environment of the tests after them, even clear it."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def reference_digests() -> Reference:
    return digests_by_program
