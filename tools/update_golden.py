# SPDX-License-Identifier: MIT
"""Writes python/repdl/golden/<op>.txt: the samples of each declared op, with the results of the slow reference.

    python tools/update_golden.py REFERENCE_PROGRAM [--check]
    python tools/update_golden.py REFERENCE_PROGRAM --op NAME [--op NAME ...] [--check]
    python tools/update_golden.py --torch-op NAME [--torch-op NAME ...] [--check]

The reference (tests/reference) shares no arithmetic with the library. With --check nothing is written, and a file that
would change is an error. golden/torch has the calls of torch, from tools/aten_reference; --op and --torch-op
make no other files than those of these ops.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import aten_reference
import repdl.ops  # noqa: F401 (declares the ops)
from repdl._op import registry
from repdl.conformance import GOLDEN

HEADER = """\
# Golden results of {op}, from the slow reference. A line is `<digest>  <marks>  <case>`.
# digest: SHA-256 of the elements of all results, little-endian, every NaN as the quiet one (0x7fc00000).
# marks: of the same bytes, in blocks of ceil(elements / 64) elements, the CRC: 16 bits, polynomial 0x1021, start 0.
# Made by `make golden` from the samples in python/repdl/ops. A digest may change only with arithmetic_version.
"""


TORCH_HEADER = """\
# Golden results of aten::{op} under repdl.enable(), from the slow reference. A line is `<digest>  <marks>  <case>`.
# digest, marks: as in the golden files of the core; of integers and bool their bytes.
# Made by `make golden` from the cases in tools/aten_reference. A digest may change only with arithmetic_version.
"""


def of_core(reference: Path, ops: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """The golden files of the core's ops: of these, or of all."""
    for op in [registry[name] for name in ops or registry]:
        text = "\n".join(op.cases()) + "\n"
        result = subprocess.run([reference], input=text, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"{op.name}: {result.stderr}")
        yield GOLDEN / f"{op.name}.txt", HEADER.format(op=op.name) + result.stdout


def of_torch(ops: Sequence[str]) -> dict[Path, str]:
    """Those of torch's ops."""
    aten_reference.load()
    return {
        GOLDEN / "torch" / f"{op}.txt": TORCH_HEADER.format(op=op) + "\n".join(lines) + "\n"
        for op, lines in aten_reference.golden_lines(ops).items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path, nargs="?", help="the program repdl_reference")
    parser.add_argument("--op", action="append", default=[], help="make the files of these ops of the core alone")
    parser.add_argument("--torch-op", action="append", default=[], help="make the files of these ops of torch alone")
    parser.add_argument("--check", action="store_true", help="fail if a file would change")
    options = parser.parse_args()
    if not (options.reference or options.torch_op):
        parser.error("give the program repdl_reference, or ops of torch by --torch-op")
    pages = {} if options.torch_op and not options.op else dict(of_core(options.reference, options.op))
    if options.torch_op or not options.op:
        pages |= of_torch(options.torch_op)
    changed = []
    for path, page in pages.items():
        if not path.exists() or path.read_text() != page:
            changed.append(str(path.relative_to(GOLDEN)))
            if not options.check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(page)
    if not (options.op or options.torch_op):
        for path in (GOLDEN / "torch").glob("*.txt"):
            if path not in pages:
                changed.append(str(path.relative_to(GOLDEN)))
                if not options.check:
                    path.unlink()
    if changed:
        print(("would change: " if options.check else "wrote: ") + ", ".join(changed))
    if changed and options.check:
        sys.exit(1)


if __name__ == "__main__":
    main()
