# SPDX-License-Identifier: MIT
"""Computes mm, div and sqrt in many configurations and shows whose bits move: stock torch's, and repdl's.

Each instruction set runs in a process of its own; inside, the number of threads changes, and what a host program may do
to the processor's modes. With a GPU that torch can use, that is one more configuration. What is shown is measured on
this machine: where stock torch gives one result here, the table says so.

    python examples/reproducible_ops.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import repdl
from repdl import _core

STOCK_ENVIRONMENT = {
    "scalar": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    "sse4": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
"""How to tell torch and its libraries to use no more than repdl's target; others: all that there is."""

Op = Callable[..., torch.Tensor]
STOCK: dict[str, Op] = {
    "mm": torch.mm,
    "div": lambda x, y: torch.cat([x / y, x / 3.0]),
    "sqrt": lambda x, y: torch.sqrt(x),
}
REPDL: dict[str, Op] = {
    "mm": repdl.ops.mm,
    "div": lambda x, y: torch.cat([repdl.ops.div(x, y), repdl.ops.div(x, 3.0)]),
    "sqrt": lambda x, y: repdl.ops.sqrt(x),
}


@dataclass(frozen=True)
class Result:
    op: str
    configuration: str
    threads: str
    stock: str | None
    repdl: str | None


def operands() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """The same numbers everywhere: from integers, without rounding."""
    random = np.random.default_rng(0)

    def uniform(*shape: int) -> torch.Tensor:  # multiples of 2^-23 in [-1, 1)
        return torch.from_numpy(random.integers(-(2**23), 2**23, shape).astype(np.float32)) / 2.0**23

    def positive(n: int) -> torch.Tensor:  # of any size, subnormal numbers among them
        return torch.from_numpy(random.integers(1, 0x7F800000, n, dtype=np.int32).view(np.float32))

    n = 1 << 18
    return {
        "mm": (uniform(200, 1000), uniform(1000, 150)),
        "div": (positive(n), positive(n)),
        "sqrt": (positive(n), positive(n)),
    }


def digest(x: torch.Tensor) -> str:
    return repdl.utils.get_hash(x)[:8]


def results(target: str, last: bool) -> Iterator[Result]:
    """What one process finds: with every number of threads, and with the last target what else programs do."""
    tensors = operands()

    def compute(op: str, configuration: str, stock: Op, ours: Op) -> Result:
        threads = str(torch.get_num_threads())
        return Result(op, configuration, threads, digest(stock(*tensors[op])), digest(ours(*tensors[op])))

    def with_threads(configuration: str, *numbers: int) -> Iterator[Result]:
        for threads in numbers:
            torch.set_num_threads(threads)
            repdl.set_num_threads(threads)
            for op in STOCK:
                yield compute(op, configuration, STOCK[op], REPDL[op])

    yield from with_threads(target, 1, 2, 3)
    if not last:
        return

    def by_rows(mm: Op) -> Op:
        return lambda a, b: torch.cat([mm(row, b) for row in a.split(1)])

    yield compute("mm", f"{target}, one row at a time", by_rows(STOCK["mm"]), by_rows(REPDL["mm"]))
    # Rounded from float64, these are the IEEE results, which a GPU or a torch without MKL gives.
    ieee: dict[str, Op] = {
        "div": lambda x, y: torch.cat([x.double() / y.double(), x.double() / 3.0]).float(),
        "sqrt": lambda x, y: x.double().sqrt().float(),
    }
    for op, stock in ieee.items():
        yield compute(op, "float64, rounded", stock, REPDL[op])
    if torch.cuda.is_available():
        yield from on_gpu(tensors)
    # A library built with -ffast-math does this to a program that loads it; it reaches the calling thread only.
    if torch.set_flush_denormal(True):
        yield from with_threads(f"{target}, flush to zero", 1, 3)


def on_gpu(tensors: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> Iterator[Result]:
    torch.backends.cuda.matmul.allow_tf32 = False
    for op in STOCK:
        on_device = [x.cuda() for x in tensors[op]]
        try:
            ours = digest(REPDL[op](*on_device))
        except NotImplementedError:
            ours = None  # no kernel in this build
        yield Result(op, torch.cuda.get_device_name(), "", digest(STOCK[op](*on_device)), ours)


def run_all(console: Console) -> list[Result]:
    """A process for each of repdl's targets, the most capable last."""
    found = []
    targets = _core.supported_targets()
    for target in targets:
        with console.status(f"computing with {target}"):
            process = subprocess.run(
                [sys.executable, __file__, "--process", target, *(["--last"] if target == targets[-1] else [])],
                env=os.environ | STOCK_ENVIRONMENT.get(target, {}) | {"REPDL_TARGET": target},
                stdout=subprocess.PIPE,
                check=True,
            )
        found += [Result(*fields) for fields in json.loads(process.stdout)]
    return found


def table_of(found: list[Result]) -> Table:
    """A row for each configuration; threads that give the same bits share one. What differs from most is red."""
    table = Table("op", "configuration", "threads", "stock torch", "repdl")
    for op in STOCK:
        rows = [r for r in found if r.op == op]
        usual = {column: most([getattr(r, column) for r in rows]) for column in ("stock", "repdl")}

        def cell(value: str | None, column: str, usual: dict[str, str] = usual) -> str:
            return "no kernel" if value is None else value if value == usual[column] else f"[red]{value}[/]"

        for (configuration, stock, ours), group in groupby(rows, lambda r: (r.configuration, r.stock, r.repdl)):
            threads = ", ".join(r.threads for r in group)
            table.add_row(op, configuration, threads, cell(stock, "stock"), cell(ours, "repdl"))
        table.add_section()
    return table


def most(values: list[str | None]) -> str:
    digests = [value for value in values if value is not None]
    return max(digests, key=digests.count)


def main() -> int:
    if "--process" in sys.argv:
        target = sys.argv[sys.argv.index("--process") + 1]
        fields = [(r.op, r.configuration, r.threads, r.stock, r.repdl) for r in results(target, "--last" in sys.argv)]
        print(json.dumps(fields))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    found = run_all(console)
    console.print(table_of(found))
    agree = True
    for op in STOCK:
        stock = {r.stock for r in found if r.op == op}
        ours = {r.repdl for r in found if r.op == op} - {None}
        agree = agree and len(ours) == 1
        plural = "" if len(stock) == 1 else "s"
        console.print(f"{op}: stock torch gives {len(stock)} result{plural} here; repdl gives {len(ours)}")
    console.print("repdl: the same bits everywhere" if agree else "[red]repdl: the bits differ[/]")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
