# SPDX-License-Identifier: MIT
"""Tests that every op must pass, those of your own package too, as a plugin of pytest.

    # pyproject.toml
    [tool.pytest.ini_options]
    addopts = "-p repdl.testing"
    repdl_ops = ["own_op"]  # the packages that declare the ops

    # tests/test_ops.py
    from repdl.testing.suites import *

    # tests/conftest.py
    @pytest.fixture(scope="session")
    def reference_digests():
        return digests_by({"add_rms_norm": add_rms_norm})  # a slow reference, from repdl.testing.python_reference

Each test of the suites runs for each op, from its samples and its golden file: golden digests on every CPU target with
1, 2, 3 and 7 threads, in several layouts, of NumPy arrays and of torch tensors; the reference at sizes around every
boundary and for random calls; rows alone as in the batch; accuracy against the oracle; gradients; torch's opcheck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

import pytest

from repdl._op import Op, registry

Reference: TypeAlias = Callable[[Sequence[str]], Sequence[str | None]]
"""From the texts of cases to their digests by a slow reference; None for a case that it cannot read."""

Test = TypeVar("Test", bound=Callable[..., None])


def each_op(having: Callable[[Op[..., Any]], bool] = lambda op: True) -> Callable[[Test], Test]:
    """Runs a test for each op for which `having` is true, as its argument `op`."""

    def mark(test: Test) -> Test:
        test.repdl_having = having  # type: ignore[attr-defined]
        return test

    return mark


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("repdl_ops", "packages whose ops repdl.testing.suites tests", type="args", default=[])


def ops_of(packages: Sequence[str]) -> list[Op[..., Any]]:
    """The ops that these packages declare, by name."""
    for package in packages:
        import_module(package)

    def is_of(module: str) -> bool:
        return any(module == package or module.startswith(f"{package}.") for package in packages)

    return [op for _, op in sorted(registry.items()) if is_of(op.function.__module__)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    having = getattr(metafunc.function, "repdl_having", None)
    if having is not None:
        ops = ops_of(metafunc.config.getini("repdl_ops"))
        metafunc.parametrize("op", [op for op in ops if having(op)], ids=lambda op: op.name)


@pytest.fixture(scope="session")
def reference_digests() -> Reference:
    """A package with a reference has a fixture of this name in its conftest.py."""
    pytest.skip("there is no reference: give one by a fixture reference_digests")


@pytest.fixture(autouse=True)
def _settings_are_given_back() -> Iterator[None]:
    """A test may change the target, the threads and the order."""
    import torch

    import repdl
    from repdl import _core

    target, order, torch_threads = _core.active_target(), repdl.get_order(), torch.get_num_threads()
    torch.manual_seed(0)
    yield
    _core.set_target(target)
    repdl.set_order(order)
    torch.set_num_threads(torch_threads)
    repdl.set_num_threads(torch_threads)
