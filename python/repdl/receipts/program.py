# SPDX-License-Identifier: MIT
"""What was run: the program's file and the sources that it imported, their digests, and versions of libraries."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

import repdl

_PACKAGES = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Program:
    """A script or, if `is_module`, a module by name, and the folder to run it in."""

    target: str
    arguments: list[str]
    is_module: bool
    directory: Path

    @property
    def name(self) -> str:
        """Which does not depend on where it lies."""
        return self.target if self.is_module else Path(self.target).name

    def file(self) -> Path | None:
        """Its source; None if there is none."""
        if self.is_module:
            return _file_of_module(self.target, self.directory)
        path = self.directory / self.target
        path = path / "__main__.py" if path.is_dir() else path
        return path if path.is_file() else None

    @property
    def is_of_torch(self) -> bool:
        """A launcher of torch's, which has other sources in each version."""
        return self.is_module and self.target.partition(".")[0] == "torch"

    def folder(self) -> Path:
        """What lies below is the user's."""
        path = self.directory if self.is_module else (self.directory / self.target).parent
        return Path(os.path.realpath(path))


def _file_of_module(name: str, directory: Path) -> Path | None:
    """Without importing anything."""
    path = [str(directory), *sys.path[1:]]
    *packages, last = name.split(".")
    for package in packages:
        spec = PathFinder.find_spec(package, path)
        if spec is None or spec.submodule_search_locations is None:
            return None
        path = list(spec.submodule_search_locations)
    spec = PathFinder.find_spec(last, path)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = PathFinder.find_spec("__main__", list(spec.submodule_search_locations))
    return Path(spec.origin) if spec is not None and spec.origin is not None and os.path.isfile(spec.origin) else None


def digest_of_file(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sources(folder: Path, program: str | None = None) -> dict[str, str]:
    """Of the modules that were imported from below a folder, and of a program there: their paths, with digests."""
    ours = os.path.realpath(os.path.dirname(repdl.__file__))
    real = cache(os.path.realpath)
    imported = [getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if name != "__main__"]
    found = {}
    for file in [*imported, program]:
        if not isinstance(file, str) or not file.endswith(".py"):
            continue
        path = os.path.join(real(os.path.dirname(file)), os.path.basename(file))
        if _is_below(path, str(folder)) and not _is_below(path, ours) and os.path.isfile(path):
            inner = Path(path).relative_to(folder)
            if not _PACKAGES.intersection(inner.parts):
                found[inner.as_posix()] = digest_of_file(path)
    return found


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def versions() -> dict[str, str]:
    """Of Python and of the distributions that were imported."""
    imported = {name.partition(".")[0] for name in list(sys.modules)}
    by_module = _distributions()
    names = {distribution for module in imported for distribution in by_module.get(module, ())}
    found = {name: version for name in sorted(names) if (version := version_of(name)) is not None}
    return {"Python": platform.python_version(), "repdl": repdl.__version__} | found


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Those that have a module of a name."""
    return metadata.packages_distributions()


def version_of(name: str) -> str | None:
    """Of a distribution that is installed, or of Python."""
    if name == "Python":
        return platform.python_version()
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return repdl.__version__ if name == "repdl" else None
