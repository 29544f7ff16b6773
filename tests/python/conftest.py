# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import repdl
import repdl._torch
from repdl import _core

ROOT = Path(__file__).resolve().parent.parent.parent


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
