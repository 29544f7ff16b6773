# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

from typer.testing import CliRunner

import repdl
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


def test_help_names_the_commands() -> None:
    for arguments in (["--help"], ["-h"], []):
        assert "info" in CliRunner().invoke(app, arguments).output
