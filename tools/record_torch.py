# SPDX-License-Identifier: MIT
"""Adds the overloads of the installed torch to python/repdl/interception/overloads.txt.

    python tools/record_torch.py

That is done once a version of torch has been measured, together with its line in exact.toml: see HACKING.md. With a
version that was not measured only the overloads that are listed are trusted as exact; others raise.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from repdl.interception import exact
from repdl.interception.native import registered_names

FILE = Path(exact.__file__).with_name("overloads.txt")
HEAD = """\
# Written by tools/record_torch.py: the aten overloads that the measured versions of torch have, with a kernel for CPUs.
"""


def main() -> None:
    found = {name for key in ("CPU", *exact.LAYOUTS) for name in registered_names(key)}
    names = sorted(found | (exact.measured_overloads() if FILE.exists() else frozenset()))
    FILE.write_text(HEAD + textwrap.fill(" ".join(names), 120, break_long_words=False, break_on_hyphens=False) + "\n")


if __name__ == "__main__":
    main()
