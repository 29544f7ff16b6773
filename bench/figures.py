# SPDX-License-Identifier: MIT
"""The file of results from which `make docs` builds docs/speed.md: by CPU target and suite."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

from machine import describe
from repdl import _core, _machine


def save(folder: Path, suite: str, figures: dict[int, Any]) -> None:
    """Replaces what the folder's file says of this suite and CPU target; `figures` are by number of threads."""
    path = folder / "speed.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    document.setdefault(_core.active_target(), {})[suite] = {
        "machine": describe(),
        "commit": _machine.commit(),
        "date": date.today().isoformat(),
        "threads": {str(threads): rounded(of) for threads, of in figures.items()},
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def rounded(value: Any) -> Any:
    """Three digits of each figure."""
    return {name: rounded(of) for name, of in value.items()} if isinstance(value, dict) else float(f"{value:.3g}")
