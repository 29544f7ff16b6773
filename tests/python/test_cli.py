# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import repdl
from repdl.cli import prove
from repdl.cli.main import app


def test_info_says_what_there_is() -> None:
    result = CliRunner().invoke(app, ["info"])
    assert result.exit_code == 0
    for text in (repdl.__version__, "arithmetic version", "CPU target chosen", "CUDA devices", "threads", "torch"):
        assert text in result.output


def test_info_is_json_too() -> None:
    values = json.loads(CliRunner().invoke(app, ["info", "--json"]).output)
    assert values["arithmetic version"] == repdl.arithmetic_version
    assert "scalar" in values["CPU targets compiled"]


def test_the_package_is_the_command_too() -> None:
    command = [sys.executable, "-m", "repdl", "info", "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout
    assert json.loads(printed)["arithmetic version"] == repdl.arithmetic_version


def test_prove_passes_its_arguments_and_the_exit_status_on(tmp_path: Path) -> None:
    program = tmp_path / "repdl_prove"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\nexit 1\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    arguments = ["prove", "exp", "log", "--target", "scalar", "--target", "avx2", "--stride", "5"]
    result = CliRunner().invoke(app, [*arguments, "--program", str(program)])
    assert result.exit_code == 1
    assert (tmp_path / "arguments").read_text() == "exp log --target=scalar --target=avx2 --stride=5\n"
    doubles = ["prove", "exp", "--dtype", "float64", "--random", "7", "--seed", "3", "--threads", "1"]
    CliRunner().invoke(app, [*doubles, "--program", str(program)])
    assert (tmp_path / "arguments").read_text() == "exp --dtype=float64 --random=7 --seed=3 --threads=1\n"
    CliRunner().invoke(app, ["prove", "exp", "--results", "proofs", "--program", str(program)])
    assert re.fullmatch(r"exp --results=proofs --commit=\w+.*\n", (tmp_path / "arguments").read_text())


def test_prove_takes_a_program_of_this_folder_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["prove", "exp", "--program", "program"]).exit_code == 3


def test_prove_says_how_to_build_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPDL_PROVE", raising=False)
    monkeypatch.setattr(prove, "find_program", lambda: None)
    result = CliRunner().invoke(app, ["prove", "exp"])
    assert result.exit_code == 2
    assert "libmpfr-dev" in result.output


def test_help_names_the_commands() -> None:
    for arguments in (["--help"], ["-h"], []):
        output = CliRunner().invoke(app, arguments).output
        assert "info" in output and "prove" in output and "reveal" in output


@pytest.mark.parametrize(
    ("missing", "extra"), [("torch", r"pip install 'repdl\[torch\]'"), ("xxhash", r"pip install 'repdl\[record\]'")]
)
def test_a_missing_library_is_told_with_what_installs_it(missing: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("x")
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['repdl', 'diff', *2 * sys.argv[1:]]; "
        "from repdl.cli import main; main()"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "run")]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and re.search(rf"^.*{missing}, which is not installed: {extra}$", result.stderr)
