# SPDX-License-Identifier: MIT
"""tools/platforms sees what fails on a platform, also what fails without a word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

sys.path.insert(0, str(ROOT / "tools/platforms"))  # before a package that is called build, too
import check
from build import CommandError, Programs
from matrix import Platform, read_matrix

TABLE = "target ops cases passed failed none seconds\nscalar 1 {cases} {passed} {failed} 0 0.1"
GOOD_TABLE = TABLE.format(cases=20, passed=20, failed=0)
LENET = "\n".join(f"{order} {what} {value}" for order, of in check.LENET.items() for what, value in of.items())
TESTS = "[==========] 3 tests from 1 test suite ran.\n[  PASSED  ] 3 tests."
PLATFORM = Platform("here", ("scalar",), "-O2", ("*",), compiler=sys.executable, packages=())


def program(path: Path, output: str, status: int = 0, *, when: str = "") -> Path:
    """Prints and ends so if `when` is among its arguments, and as the good table otherwise."""
    other = f"case \" $* \" in *'{when}'*) ;; *) echo '{GOOD_TABLE}'; exit 0 ;; esac" if when else ""
    said = f"cat <<'.'\n{output}\n.\n" if output else ""
    path.write_text(f"#!/bin/sh\n{other}\n{said}exit {status}\n")
    path.chmod(0o755)
    return path


def results(
    folder: Path,
    golden: tuple[str, int] = (GOOD_TABLE, 0),
    lenet: tuple[str, int] = (LENET, 0),
    tests: tuple[str, int] = (TESTS, 0),
    when: str = "",
) -> list[check.Result]:
    programs = Programs(
        program(folder / "conformance", *golden, when=when),
        program(folder / "lenet", *lenet),
        program(folder / "tests", *tests),
    )
    return list(check.check(PLATFORM, programs, (), (1, 3)))


def test_a_platform_that_gives_the_bits_passes(tmp_path: Path) -> None:
    (result,) = results(tmp_path)
    assert result.ok, result.output
    assert (result.cases, result.passed, result.lenet, result.cxx_tests) == (40, 40, True, 3)


def test_a_row_names_the_commit_that_was_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    monkeypatch.setattr(check, "ROOT", tmp_path)
    commit = check.commit.__wrapped__
    assert commit() == ""  # no checkout, or a folder of one that is not its own
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "file").write_text("a")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Add a file"], check=True)
    assert re.fullmatch("[0-9a-f]{12}", commit())
    (tmp_path / "file").write_text("b")
    assert commit().endswith("-dirty")


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"golden": (TABLE.format(cases=20, passed=19, failed=1), 1), "when": "--threads 3"}, id="a case"),
        pytest.param({"golden": ("", 139), "when": "--threads 3"}, id="a crash"),
        pytest.param({"golden": ("", 0), "when": "--threads 3"}, id="no table"),
        pytest.param({"golden": (GOOD_TABLE, 1), "when": "--threads 3"}, id="a status"),
        pytest.param({"lenet": (LENET.replace("blocked", "sequential", 1), 0)}, id="LeNet"),
        pytest.param({"lenet": (LENET, 1)}, id="LeNet's status"),
        pytest.param({"lenet": ("", 139)}, id="LeNet crashes"),
        pytest.param({"tests": ("[  FAILED  ] Lanes.FmaRoundsOnce", 1)}, id="a test"),
        pytest.param({"tests": ("", 139)}, id="the tests crash"),
        pytest.param({"tests": ("", 0)}, id="no test"),
    ],
)
def test_a_platform_that_does_not_fails(broken: dict[str, tuple[str, int]], tmp_path: Path) -> None:
    (result,) = results(tmp_path, **broken)  # type: ignore[arg-type]
    assert not result.ok


@pytest.mark.parametrize("golden", [("Illegal instruction", 132), ("nothing", 0)])
def test_a_program_that_does_not_start_says_why(golden: tuple[str, int], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=golden[0]):
        results(tmp_path, golden)


def test_the_list_of_platforms_is_read() -> None:
    matrix = read_matrix()
    sliced = {p.name: p.in_slice(matrix.slice_folders) for p in matrix.platforms.values() if p.slice_targets}
    assert {"aarch64", "s390x"} <= set(sliced)
    assert {run.targets for run in sliced["aarch64"].runs} == {("neon",), ("sve256",)}
    assert all(p.targets and p.packages for p in matrix.platforms.values())


def test_the_folders_of_the_slice_include_no_others() -> None:
    folders = set(read_matrix().slice_folders)
    for folder in folders:
        sources = [path for path in (ROOT / "src/ops" / folder).iterdir() if path.suffix in (".cc", ".h")]
        included = {name for path in sources for name in re.findall(r'"ops/(\w+)/', path.read_text())}
        assert sources and included <= folders, folder
