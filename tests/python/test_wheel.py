# SPDX-License-Identifier: MIT
"""A wheel works without a compiler: a short form of `make wheel`, from what the build folder has compiled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import cmake as cmake_package
import pytest
import torch

from repdl import _core
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import check_wheel

BUILD = ROOT / "build/python"


def backend(hook: str, folder: Path, settings: dict[str, str]) -> Path:
    """Has the build backend make a file, in a process of its own; returns its path."""
    code = f"import scikit_build_core.build as b; print('made', b.{hook}({str(folder)!r}, {settings!r}))"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / re.findall("^made (.*)$", result.stdout, re.MULTILINE)[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made with the settings of `make build`, so that nothing is compiled anew where that has run."""
    settings = {"build-dir": str(BUILD)}
    for name in ("REPDL_BUILD_TESTS", "CMAKE_EXPORT_COMPILE_COMMANDS"):
        settings[f"cmake.define.{name}"] = "ON"
    return backend("build_wheel", tmp_path_factory.mktemp("wheel"), settings)


def with_needs(dist: str) -> set[str]:
    """A distribution and all that it needs."""
    found: set[str] = set()
    waiting = [dist]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        needs = (need for need in metadata.requires(name) or [] if "extra ==" not in need)
        waiting += [re.split(r"[^\w.-]", need.partition(";")[0].strip())[0] for need in needs if ";" not in need]
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it requires, and no torch; its interpreter."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        (described,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(described).decode()
    required = [
        line.split()[1] for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line
    ]
    for name in {need for dist in required for need in with_needs(re.split(r"[<>=~!;]", dist)[0])}:
        for file in metadata.files(name) or []:
            top = Path(str(file)).parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(file.locate())).parents[len(file.parts) - 1] / top)
    return folder / "bin/python"


def test_works_without_torch(environment: Path) -> None:
    check_wheel.run(environment, "-c", check_wheel.WITHOUT_TORCH)
    said = check_wheel.run(environment, "-m", "repdl", "conformance", "--op", "mm", "--op", "exp", "--op", "softmax")
    assert "passed" in said


def test_first_step_of_training(environment: Path) -> None:
    import_torch = f"import sys; sys.path.append({str(Path(torch.__file__).parent.parent)!r})\n"
    elsewhere = check_wheel.run(environment, "-c", import_torch + check_wheel.TRAINING)
    here = subprocess.run(
        [sys.executable, "-c", check_wheel.TRAINING], capture_output=True, text=True, check=True, env=os.environ
    )
    assert elsewhere == here.stdout


def test_op_of_another_project(environment: Path, tmp_path: Path) -> None:
    """examples/own_op, built with what the wheel has, passes the suites over all ops there."""
    project = tmp_path / "own_op"
    shutil.copytree(ROOT / "examples/own_op", project)
    cmake = Path(cmake_package.CMAKE_BIN_DIR) / "cmake"
    targets = f"scalar;{_core.supported_targets()[-1]}"
    for step in (
        [
            "-S",
            project,
            "-B",
            tmp_path / "build",
            f"-DPython_EXECUTABLE={environment}",
            f"-DREPDL_OPS_TARGETS={targets}",
        ],
        ["--build", tmp_path / "build", "--parallel", "2"],
        ["--install", tmp_path / "build", "--prefix", project],
    ):
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        result = subprocess.run([cmake, *step], capture_output=True, text=True, check=False, env=clean)
        assert result.returncode == 0, result.stdout + result.stderr
    packages = str(Path(torch.__file__).parent.parent)
    code = f"import sys; sys.path[:0] = [{str(project)!r}]; sys.path.append({packages!r}); import pytest\n"
    code += f"sys.exit(pytest.main(['-q', '--rootdir', {str(project)!r}, {str(project / 'tests')!r}]))"
    assert re.search(r"\b\d{2} passed", check_wheel.run(environment, "-c", code))


def test_wheel_is_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = ROOT / "python/repdl"
    tracked = subprocess.run(["git", "ls-files", "."], cwd=package, capture_output=True, text=True, check=True).stdout
    assert {f"repdl/{name}" for name in tracked.splitlines()} <= names
    assert any(re.fullmatch(r"repdl/_core\..*so", name) for name in names)
    assert f"cp{sys.version_info.major}{sys.version_info.minor}-" in wheel.name


def test_source_distribution_is_complete(tmp_path: Path) -> None:
    source = backend("build_sdist", tmp_path, {})
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = ["CMakeLists.txt", "cmake", "include", "src", "python", "pyproject.toml", "README.md", "LICENSE"]
    tracked = subprocess.run(["git", "ls-files", *needed], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(tracked.splitlines()) <= names
