# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import platform
from importlib import metadata
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import repdl
from repdl import _core


def _torch_version() -> str | None:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _cuda_devices() -> list[str] | str:
    if not _core.has_cuda:
        return "not in this build"
    return _core.cuda_devices()


def collect() -> dict[str, Any]:
    """What the command prints, by name."""
    return {
        "version": repdl.__version__,
        "arithmetic version": repdl.arithmetic_version,
        "order": repdl.get_order(),
        "CPU": _cpu_name(),
        "CPU targets compiled": _core.compiled_targets(),
        "CPU targets supported": _core.supported_targets(),
        "CPU target chosen": _core.active_target(),
        "CUDA devices": _cuda_devices(),
        "threads": repdl.get_num_threads(),
        "ops": len(_core.ops),
        "torch": _torch_version() or "not installed",
        "Python": platform.python_version(),
        "platform": platform.platform(),
    }


def info(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """What this build is, and what it found: versions, CPU targets, CUDA devices, threads."""
    values = collect()
    if as_json:
        typer.echo(json.dumps(values, indent=2))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in values.items():
        table.add_row(name, ", ".join(value) or "none" if isinstance(value, list) else str(value))
    Console(highlight=False).print(table)
