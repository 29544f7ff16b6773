# SPDX-License-Identifier: MIT
"""What this build is, and what it found on this machine."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

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


def commit() -> str | None:
    """The commit of the source tree that this package is used from, with "-dirty" if files but documents differ."""
    try:
        said = _git("describe", "--always", "--abbrev=12").stdout.strip()
        differs = _git("diff", "--quiet", "HEAD", "--", ":(top)", ":(top,exclude)docs").returncode != 0
    except OSError:
        return None
    return said + "-dirty" * differs if said else None


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    folder = str(Path(repdl.__file__).resolve().parent)
    return subprocess.run(
        ["git", "-C", folder, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip


def describe_machine() -> dict[str, Any]:
    """Versions, CPU, targets, devices and settings, by name: strings, numbers and lists of strings."""
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
