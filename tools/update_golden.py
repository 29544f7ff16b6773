# SPDX-License-Identifier: MIT
"""Writes python/repdl/golden/<op>.txt: the samples of each declared op, with the results of the slow reference.

    python tools/update_golden.py REFERENCE_PROGRAM [--check]

The reference (tests/reference) shares no arithmetic with the library. With --check nothing is written, and a file that
would change is an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import repdl.ops  # noqa: F401 (declares the ops)
from repdl._op import Op, registry
from repdl.conformance import GOLDEN

HEADER = """\
# Golden results of {op}, from the slow reference. A line is `<digest>  <marks>  <case>`.
# digest: SHA-256 of the elements of all results, little-endian, every NaN as 0x7fc00000 (0x7fc0, 0x7e00).
# marks: of the same bytes, in blocks of ceil(elements / 64) elements, the CRC: 16 bits, polynomial 0x1021, start 0.
# Made by `make golden` from the samples in python/repdl/ops. A digest may change only with arithmetic_version.
"""


def cases(op: Op[..., object]) -> list[str]:
    if op.make_samples is None:
        raise SystemExit(f"{op.name} declares no samples")
    samples = list(op.make_samples())
    if op.takes_order:
        return [
            type(s)({**s.arguments, "order": order}).text(op.name)
            for s in samples
            for order in ("blocked", "sequential")
        ]
    return [s.text(op.name) for s in samples]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path, help="the program repdl_reference")
    parser.add_argument("--check", action="store_true", help="fail if a file would change")
    options = parser.parse_args()
    changed = []
    for op in registry.values():
        text = "\n".join(cases(op)) + "\n"
        result = subprocess.run([options.reference], input=text, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"{op.name}: {result.stderr}")
        page = HEADER.format(op=op.name) + result.stdout
        path = GOLDEN / f"{op.name}.txt"
        if not path.exists() or path.read_text() != page:
            changed.append(path.name)
            if not options.check:
                path.write_text(page)
    if changed:
        print(("would change: " if options.check else "wrote: ") + ", ".join(changed))
    if changed and options.check:
        sys.exit(1)


if __name__ == "__main__":
    main()
