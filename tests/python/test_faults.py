# SPDX-License-Identifier: MIT
"""Of each planted fault the first op is named, and the cause of nearly all; of equal runs no difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults import FAULTS, OTHERS, THREADS, compared
from repdl.experiments import Engine
from repdl.runs import cause, difference
from repdl.runs.run import Run
from repdl.runs.sentence import sentence
from runs import again, recorded


def test_how_many_there_are() -> None:
    assert len(FAULTS) >= 30 and len({fault.kind for fault in FAULTS.values()} - {OTHERS}) == 12
    named = [name for name, fault in FAULTS.items() if fault.cause]
    assert len(named) >= 0.9 * len(FAULTS)


@pytest.mark.filterwarnings("ignore:This DataLoader will create 2 worker processes")  # with one core
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_nothing_else(tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    found, text = compared(tmp_path, fault.a, fault.b, fault.header)
    assert found is not None
    assert (found.kind, found.call.name) == fault.first, text
    assert found.call.line.startswith("tests/python/") or found.call.line == "", text
    runs = Run(tmp_path / "a"), Run(tmp_path / "b")
    if fault.tried:
        assert found.a is not None and found.b is not None and fault.cause not in text
        # Without other processes, and without threads where they are not needed: those take seconds on a busy machine.
        with Engine(["run to run", "layout", *(["threads"] * (fault.kind == THREADS))], hashing=True) as engine:
            told = again(tmp_path, fault.a, found.a, engine, b=found.b)
        found.cause = cause.read(told, found.a, found.b)
        text = sentence(found, *runs)
    assert fault.cause in text, text
    assert difference.find(runs[0], recorded(tmp_path / "equal", fault.a)) is None
