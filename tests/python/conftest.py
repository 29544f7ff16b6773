# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import repdl
import repdl._torch
from repdl import _core

ROOT = Path(__file__).resolve().parent.parent.parent

ABSENT_HARDWARE = re.compile(
    r"no CUDA device|the modes of x86|gcc's start-up code .* on x86|this CPU runs one target only|target avx2 needs it"
)
"""What a skipped test may say under --no-skips: it has nothing to check on this machine. Any other hides a check."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail tests that are skipped, but for absent hardware")


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
    if report.skipped and not hasattr(report, "wasxfail") and not ABSENT_HARDWARE.search(str(report.longrepr)):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --no-skips does not allow: {report.longrepr}"


@pytest.fixture(autouse=True)
def _settings_are_given_back() -> Iterator[None]:
    """A test may change the target, the threads and the order."""
    target, order, torch_threads = _core.active_target(), repdl.get_order(), torch.get_num_threads()
    torch.manual_seed(0)
    yield
    _core.set_target(target)
    repdl.set_order(order)
    torch.set_num_threads(torch_threads)
    repdl.set_num_threads(torch_threads)
