# SPDX-License-Identifier: MIT
"""A GPU, with the functions that on_host/device.py has for a device on the host."""

from __future__ import annotations

import faulthandler
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

_SECONDS = 60
"""What a test may take. A kernel that never ends could not be stopped in any other way than with its process."""

_stderr = 2
"""That of the process, while pytest keeps what a test writes."""


def prepare() -> None:
    """Before anything is run: there is nothing to run without a GPU."""
    if not torch.cuda.is_available():
        built = f"torch {torch.__version__} is built for CUDA {torch.version.cuda}" if torch.version.cuda else ""
        sys.exit(
            f"There is no GPU that torch can use, so nothing was tested: {built or 'its build has no CUDA'}. "
            "With --on-host, and a core made for it, the tests run on the host."
        )


def install() -> None:
    """Before any test."""
    global _stderr
    _stderr = os.dup(2)
    # Several processes share the CPU, which computes what is expected.
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))


def on_host(value: Any) -> Any:
    return _moved(lambda t: t.cpu(), value)


def on_device(value: Any) -> Any:
    return _moved(lambda t: t.cuda(), value)


def _moved(move: Callable[[torch.Tensor], torch.Tensor], value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return move(value)
    return type(value)(_moved(move, item) for item in value) if isinstance(value, (list, tuple)) else value


@contextmanager
def nothing_waits() -> Iterator[None]:
    """A block in which what waits fails, as far as torch tells, with the lines of Python; test_waits.py has more."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    except RuntimeError as error:
        if "synchronizing CUDA operation" not in str(error):
            raise
        raise AssertionError(
            "waits for the device:\n" + "".join(traceback.format_tb(error.__traceback__)[-3:])
        ) from error
    finally:
        torch.cuda.set_sync_debug_mode("default")


@contextmanager
def watched() -> Iterator[None]:
    """A test, which must end, and leave a device that computes.

    Otherwise all that comes after it in this process would fail for its fault. So the process ends, and pytest-xdist,
    which names the test, goes on with another.
    """
    faulthandler.dump_traceback_later(_SECONDS, exit=True, file=_stderr)
    try:
        yield
    finally:
        try:
            torch.cuda.set_stream(torch.cuda.default_stream())  # where a capture that failed stays on its own
            torch.cuda.synchronize()
        except RuntimeError as error:
            _give_up(f"{os.environ.get('PYTEST_CURRENT_TEST')} leaves a device that does not compute: {error}")
        faulthandler.cancel_dump_traceback_later()


def _give_up(why: str) -> None:
    os.write(_stderr, f"{why}\n".encode())
    if "PYTEST_XDIST_WORKER" in os.environ:
        os._exit(3)
    pytest.exit(why, returncode=3)
