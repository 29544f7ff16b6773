# SPDX-License-Identifier: MIT
"""The errors of docs/accuracy.md are measured, and told in units that mean what the page says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from typer.testing import CliRunner

from support import ROOT

sys.path.append(str(ROOT / "tools"))

from typer import Typer

import measure_accuracy
from accuracy import FAMILIES, Call, Draw, measure
from docs_accuracy import accuracy_page

APP = Typer()
APP.command()(measure_accuracy.main)


def test_a_family_is_measured_and_recorded(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    try:
        done = CliRunner().invoke(APP, ["--only", "activations", "--results", str(tmp_path / "accuracy.json")])
    finally:
        torch.set_num_threads(threads)
    assert done.exit_code == 0, done.output
    ((family, calls),) = json.loads((tmp_path / "accuracy.json").read_text())["families"].items()
    assert family == "activations" and calls.keys() == {
        call.name for call in FAMILIES[family].calls(Draw(torch.float32))
    }
    recorded = json.loads((ROOT / "docs/accuracy.json").read_text())["families"][family]
    for name, dtypes in calls.items():
        for dtype, (_, _, *ours) in dtypes.items():
            assert 0 < ours[0] < 0.31 and 0.45 < ours[1] < 0.5001, "correctly rounded"
            assert np.allclose(ours, recorded[name][dtype][2:], rtol=1e-3), "ours is the same everywhere"


def test_names_are_distinct() -> None:
    for family, entry in FAMILIES.items():
        names = [call.name for call in entry.calls(Draw(torch.float32))]
        assert names and len(set(names)) == len(names), family


def test_units() -> None:
    """A result of 1 and one of 8, off by one unit of 1: in units of the largest an eighth."""
    x = torch.tensor([1.0, 8.0])
    unit = np.finfo(np.float32).eps
    call = Call("shifted", torch.clone, (x,), lambda x: x + np.longdouble(unit) * np.array([1, 0]))
    for each, largest in ((True, 1.0), (False, 0.125)):
        found = measure(call, torch.float32, each)
        assert found is not None and found[0] == found[1]
        assert found[0].largest == largest and np.isclose(found[0].rms, largest / np.sqrt(2))


def test_larger_errors_are_counted() -> None:
    """In the page's own figures: what its first sentence counts stands in the table as a ratio above 1."""
    page = accuracy_page("", lambda columns, rows: "".join(f"| {' | '.join(row)} |\n" for row in rows))
    families = json.loads((ROOT / "docs/accuracy.json").read_text())["families"]
    rows = [row for calls in families.values() for dtypes in calls.values() for row in dtypes.values() if len(row) == 4]
    worse = sum(round(ours / stock, 2) > 1 for stock, _, ours, _ in rows)
    assert f"In {worse} of {len(rows)} calls" in page
