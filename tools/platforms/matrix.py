# SPDX-License-Identifier: MIT
"""The platforms of matrix.toml, with what their toolchain files say of them."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(".") if number)


def highway_version(folder: Path | None) -> str:
    """Of the headers in this folder, or where CMake looks for them. Empty if there are none."""
    for include in [folder] if folder else [Path("/usr/local/include"), Path("/usr/include")]:
        headers = [include / "hwy" / name for name in ("base.h", "highway.h")]  # the older ones say it in the second
        text = "".join(header.read_text() for header in headers if header.exists())
        if numbers := re.findall(r"^#define HWY_(?:MAJOR|MINOR|PATCH) (\d+)$", text, re.MULTILINE):
            return ".".join(numbers)
    return ""


@dataclass(frozen=True)
class Run:
    """Targets that an emulator runs on one kind of CPU; none are all that the machine can run."""

    targets: tuple[str, ...] = ()
    cpu: str = ""


@dataclass(frozen=True)
class Platform:
    """A row of matrix.toml, which explains the fields."""

    name: str
    targets: tuple[str, ...]
    flags: str
    cxx_tests: tuple[str, ...]
    compiler: str
    packages: tuple[str, ...]
    emulator: tuple[str, ...] = ()
    toolchain_file: Path | None = None
    runs: tuple[Run, ...] = (Run(),)
    slice_targets: tuple[str, ...] = ()
    highway: str = ""
    op_folders: tuple[str, ...] = ()
    """Those of src/ops that are built; all if there are none."""

    def in_slice(self, op_folders: tuple[str, ...]) -> Platform:
        """Running the targets of the slice alone; scalar is part of every build."""
        runs = []
        for run in self.runs:
            targets = tuple(target for target in run.targets if target in self.slice_targets)
            if targets or not run.targets:
                runs.append(replace(run, targets=targets))
        targets = tuple(dict.fromkeys(("scalar", *self.slice_targets)))
        return replace(self, targets=targets, runs=tuple(runs), op_folders=op_folders)

    def missing(self, highway_folder: Path | None) -> str:
        """What it needs and is not there, with the remedy; empty if nothing is missing."""
        if any(shutil.which(program) is None for program in (self.compiler, *self.emulator[:1])):
            return f"not installed: sudo apt-get install --no-install-recommends {' '.join(self.packages)}"
        found = highway_version(highway_folder)
        if found and version(found) < version(self.highway):  # where there is none, CMake fetches a new one
            return (
                f"needs Highway {self.highway}, not {found}: --highway FOLDER says where the headers of a newer one lie"
            )
        return ""


@dataclass(frozen=True)
class Matrix:
    platforms: dict[str, Platform]
    slice_ops: tuple[str, ...]
    slice_folders: tuple[str, ...]


@dataclass(frozen=True)
class Toolchain:
    """What stands in a file of cmake/toolchains."""

    path: Path
    text: str = field(repr=False)

    def setting(self, pattern: str) -> str:
        found = re.search(pattern, self.text, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.path} has no line {pattern}")
        return found.group(1)


def read_platform(row: dict[str, Any]) -> Platform:
    common = {
        "name": row["name"],
        "targets": tuple(row["targets"]),
        "flags": row["flags"],
        "cxx_tests": tuple(row["cxx_tests"]),
        "runs": tuple(Run(tuple(run["targets"]), run.get("cpu", "")) for run in row.get("runs", [{"targets": ()}])),
        "slice_targets": tuple(row.get("slice_targets", ())),
        "highway": row.get("highway", ""),
    }
    if "toolchain" not in row:
        return Platform(**common, compiler=row["compiler"], packages=(row["package"],))
    path = ROOT / "cmake/toolchains" / f"{row['toolchain']}.cmake"
    toolchain = Toolchain(path, path.read_text())
    return Platform(
        **common,
        compiler=toolchain.setting(r"^set\(CMAKE_CXX_COMPILER (\S+)\)"),
        packages=tuple(toolchain.setting(r"^# Debian: (.+)$").split()),
        emulator=tuple(shlex.split(toolchain.setting(r"^set\(CMAKE_CROSSCOMPILING_EMULATOR (.+)\)"))),
        toolchain_file=path,
    )


def read_matrix() -> Matrix:
    data = tomllib.loads(Path(__file__).with_name("matrix.toml").read_text())
    platforms = [read_platform(row) for row in data["platform"]]
    part = data["slice"]
    return Matrix({platform.name: platform for platform in platforms}, tuple(part["ops"]), tuple(part["folders"]))
