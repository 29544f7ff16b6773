# SPDX-License-Identifier: MIT
"""A difference as a page of HTML that needs nothing else."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from repdl._content import UNHASHED, UNINITIALISED
from repdl._needs import library
from repdl.runs.columns import Value
from repdl.runs.difference import Difference
from repdl.runs.report import state, text
from repdl.runs.run import AnyRun, Segment
from repdl.runs.sentence import sentence

_MOST = 600
"""Steps that are drawn at most."""


def page(found: Difference | None, a: AnyRun, b: AnyRun) -> str:
    jinja2 = library("jinja2")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.globals.update(state=state, text=text, shown=_shown)
    template = environment.from_string(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    first = found.call.step if found is not None else None
    return template.render(  # type: ignore[no-any-return]
        found=found,
        sentence=sentence(found, a, b),
        runs=[("A", a, _facts(a)), ("B", b, _facts(b))],
        steps=_steps(first, a, b),
        stretches=[] if first is None else _stretches(first, a, b),
    )


_FACTS = ("arguments", "torch", "repdl", "python", "machine", "capability", "threads", "enabled", "every")


def _facts(run: AnyRun) -> dict[str, str]:
    facts = {key: run.header[key] for key in _FACTS if key in run.header}
    return {key: " ".join(value) if isinstance(value, list) else str(value) for key, value in facts.items()}


def _shown(value: Value) -> str:
    if value.hash == UNHASHED:
        return "not hashed"
    return "never written" if value.hash == UNINITIALISED else value.hash.hex()[:12]


def _steps(first: int | None, a: AnyRun, b: AnyRun) -> list[dict[str, Any]]:
    """Those around the first that differs, or the first ones."""
    most = max(a.steps, b.steps)
    begin = max(0, (first or 0) - _MOST // 2)
    return [
        {"number": step, "state": "equal" if first is None or step < first else "first" if step == first else "after"}
        for step in range(begin, min(most, begin + _MOST))
    ]


def _stretches(step: int, a: AnyRun, b: AnyRun) -> list[tuple[Segment | None, Segment | None]]:
    """Calls of one module and phase after each other, of both runs side by side."""
    mine, others = a.segments(step), b.segments(step)
    keys = [[segment[:2] for segment in side] for side in (mine, others)]
    rows: list[tuple[Segment | None, Segment | None]] = []
    for kind, begin_a, end_a, begin_b, end_b in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal":
            rows += zip(mine[begin_a:end_a], others[begin_b:end_b], strict=True)
        else:
            rows += [(segment, None) for segment in mine[begin_a:end_a]]
            rows += [(None, segment) for segment in others[begin_b:end_b]]
    return rows
