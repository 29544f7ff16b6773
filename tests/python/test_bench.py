# SPDX-License-Identifier: MIT
"""The benchmark of calls lists, times and records them. Nothing here asks how fast they are."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
import torch

from support import ROOT

sys.path.append(str(ROOT / "bench"))

import calls


@pytest.mark.filterwarnings("ignore:Sparse (CSR tensor support|invariant checks)")
def test_each_of_many_calls_has_a_name_of_its_own() -> None:
    names = [(family, name) for family, name, _, _ in calls.chosen()]
    assert len(set(names)) == len(names) >= 150


def test_calls_are_timed_and_recorded(tmp_path: Path) -> None:
    measured: calls.Measured = {}
    raises = ("special functions", "airy_ai", torch.special.airy_ai, (torch.ones(4),))
    for family, name, function, operands in (*calls.chosen("products"), raises):
        if name in ("mm, 64²", "airy_ai"):
            steps = calls.measure(calls.steps_of(function, operands), 1, time.thread_time)
            measured.setdefault(family, {})[name] = steps
    product, airy = measured["products"]["mm, 64²"], measured["special functions"]["airy_ai"]
    assert list(product) == [calls.FORWARD, calls.WITH_GRADIENT]
    for speed in product.values():
        assert isinstance(speed, calls.Speed) and min(speed.torch, speed.ours, speed.ratio) > 0
    assert "airy_ai" in str(airy[calls.FORWARD])
    every, slow, means = calls.tables(measured, 1)
    assert every.row_count == 2 + 3 and slow.row_count >= 1 and means.row_count == 2
    calls.save(tmp_path / "calls.json", {1: measured})
    ((of_target),) = json.loads((tmp_path / "calls.json").read_text()).values()
    assert of_target["threads"]["1"]["summary"]["all"]["timed"] == 2
    assert of_target["threads"]["1"]["calls"]["special functions"]["airy_ai"]["forward"].keys() == {"raises"}
