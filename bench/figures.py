# SPDX-License-Identifier: MIT
"""Files of results, from which `make docs` builds pages: by CPU target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from machine import describe
from repdl import _core, _machine


@contextmanager
def of_target(path: Path) -> Iterator[dict[str, Any]]:
    """What a file says of this CPU target, to be changed."""
    document = json.loads(path.read_text()) if path.exists() else {}
    yield document.setdefault(_core.active_target(), {})
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def source() -> dict[str, str]:
    """Where figures are from."""
    return {"machine": describe(), "commit": _machine.commit()}


def save(folder: Path, suite: str, figures: dict[int, Any]) -> None:
    """Replaces what docs/speed.md is made of for this suite; `figures` are by number of threads."""
    with of_target(folder / "speed.json") as found:
        threads = {str(number): rounded(of) for number, of in figures.items()}
        found[suite] = source() | {"date": date.today().isoformat(), "threads": threads}


def rounded(value: Any) -> Any:
    """Three digits of each figure."""
    return {name: rounded(of) for name, of in value.items()} if isinstance(value, dict) else float(f"{value:.3g}")
