# SPDX-License-Identifier: MIT
"""Starts an op: copies tests/skeleton into the tree under a new name.

    python tools/new_op.py NAME

NAME is in snake_case. Nothing that is there is written over. HACKING.md says what to do next.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKELETON = ROOT / "tests/skeleton"
COPIED = ("src", "python", "tests")


def files(name: str, root: Path = ROOT) -> dict[Path, str]:
    """What the op starts with: its files below root, and their text."""
    camel = "".join(word.capitalize() for word in name.split("_"))

    def renamed(text: str) -> str:
        return text.replace("skeleton", name).replace("Skeleton", camel)

    sources = sorted(path for folder in COPIED for path in (SKELETON / folder).rglob("*") if path.suffix != ".pyc")
    return {
        root / renamed(str(path.relative_to(SKELETON))): renamed(path.read_text()) for path in sources if path.is_file()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="name of the op, in snake_case")
    name = parser.parse_args().name
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise SystemExit(f"{name!r} is not a name in snake_case")
    started = files(name)
    if there := [str(path.relative_to(ROOT)) for path in started if path.exists()]:
        raise SystemExit(f"is there already: {', '.join(there)}")
    for path, text in started.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
