# SPDX-License-Identifier: MIT
"""Builds docs/arithmetic.md from docs/arithmetic.in.md and the contract of each op.

    python tools/build_docs.py [--check]

A contract is a comment `/*! name … */` in an op's header or in the lane file of a function. With --check nothing
is written, and a page that is not up to date is an error.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = re.compile(r"/\*! (\w+)\n(.*?)\*/", re.DOTALL)
CONSTANT = re.compile(r"inline constexpr \w+ (k\w+) = (\w+);")


def contracts() -> dict[str, tuple[str, Path]]:
    """Text and source of the contract of each op, sorted by name."""
    found: dict[str, tuple[str, Path]] = {}
    for path in sorted([*ROOT.glob("src/ops/*/*.h"), *ROOT.glob("src/numerics/*.lane.h")]):
        for name, text in CONTRACT.findall(path.read_text()):
            if name in found:
                raise SystemExit(f"{path}: the contract of {name} stands in {found[name][1]} already")
            found[name] = (text.strip(), path)
    return dict(sorted(found.items()))


def constants() -> dict[str, str]:
    headers = [ROOT / "include/repdl/version.h", ROOT / "src/numerics/order.h"]
    return {name: value for path in headers for name, value in CONSTANT.findall(path.read_text())}


def arithmetic_page() -> str:
    page = (ROOT / "docs/arithmetic.in.md").read_text().rstrip() + "\n"
    for name, value in constants().items():
        page = page.replace("{{" + name + "}}", value)
    for name, (text, path) in contracts().items():
        page += f"\n### {name}\n\n{text}\n\n<sub>{path.relative_to(ROOT)}</sub>\n"
    unknown = re.findall(r"\{\{\w+\}\}", page)
    if unknown:
        raise SystemExit(f"docs/arithmetic.in.md names unknown constants: {unknown}")
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a page is not up to date")
    check = parser.parse_args().check
    pages = {ROOT / "docs/arithmetic.md": arithmetic_page()}
    for path, page in pages.items():
        if path.exists() and path.read_text() == page:
            continue
        if check:
            sys.exit(f"{path.relative_to(ROOT)} is not up to date: run `make docs`")
        path.write_text(page)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
