# SPDX-License-Identifier: MIT
"""What the documents say is so: their programs run, their commands are taken, digests are golden, the map is right."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import cast

import pytest
import typer
from typer.core import TyperGroup

from repdl.cli.main import app
from repdl.conformance import GOLDEN
from support import ROOT, run_python

README = (ROOT / "README.md").read_text()
HACKING = (ROOT / "HACKING.md").read_text()
GUIDES = [f"docs/guides/{path.name}" for path in sorted((ROOT / "docs/guides").glob("*.md"))]
PAGES = ("docs/checkpoints.md", "docs/interception.md", "docs/receipts.md", "docs/reveal.md", *GUIDES)


def programs(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


PROGRAMS = programs(README)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_programs_of_the_readme_run(number: int) -> None:
    run_python(PROGRAMS[number], **({"REPDL_TARGET": "scalar"} if number % 2 else {}))


@pytest.mark.parametrize(
    ("page", "number"), [(page, i) for page in PAGES for i in range(len(programs((ROOT / page).read_text())))]
)
def test_the_programs_of_the_pages_run(page: str, number: int) -> None:
    run_python(programs((ROOT / page).read_text())[number])


COMMANDS = cast(TyperGroup, typer.main.get_command(app))
DOCUMENTS = [ROOT / name for name in ("README.md", "HACKING.md", "CONTRIBUTING.md")] + [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if not page.name.endswith(".in.md")
]


def commands(page: str) -> list[tuple[str, bool]]:
    """The lines of a page's shell blocks, and what its text mentions, which may leave out arguments (True)."""
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL).replace("\n", " ")
    mentioned = re.findall(r"`((?:repdl [a-z]|make [a-z]|python [a-z.]+/)[^`]*)`", text)
    return [(line, False) for block in blocks for line in block.splitlines()] + [(line, True) for line in mentioned]


def check_command(command: str) -> None:
    """Raises for options and values that a command does not take, and for a target or a file that is not there."""
    words = shlex.split(re.sub(r"[\[\]…]|DIR\b|>.*", "", command), comments=True)
    while words and re.match(r"[A-Z_]+=", words[0]):
        del words[0]
    match [Path(word).name for word in words[:1]] + words[1:]:
        case ["make", *targets]:
            known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert {target for target in targets if "=" not in target} <= set(known), command
        case ["repdl", name, *arguments]:
            assert name in COMMANDS.commands, command
            COMMANDS.commands[name].make_context(name, arguments)
        case ["python", program, *_] if "/" in program and not program.startswith("-"):
            assert (ROOT / program).exists(), command


@pytest.mark.parametrize("page", [page for page in DOCUMENTS if commands(page.read_text())], ids=lambda page: page.stem)
def test_commands_are_taken_as_the_pages_have_them(page: Path) -> None:
    for command, in_part in commands(page.read_text()):
        try:
            check_command(command)
        except Exception as error:
            if not in_part or type(error).__name__ not in ("MissingParameter", "BadOptionUsage"):
                raise


def test_the_digests_of_the_readme_are_the_golden_ones() -> None:
    golden = json.loads((GOLDEN / "lenet.json").read_text())
    table = README.partition("<!-- digests -->")[2].partition("<!-- /digests -->")[0]
    rows = {name: rest for name, *rest in (re.findall(r"[^|`]+", line) for line in table.strip().splitlines())}
    stated = {name.strip(): [cell.strip() for cell in rest if cell.strip()] for name, rest in rows.items()}
    assert stated == {
        run: [values["initial model"], values["trained model"], values["logits"], f"{values['accuracy']:.4f}"]
        for run, values in golden.items()
    }


@pytest.mark.parametrize(
    "name", ["README.md", "HACKING.md", "CHANGELOG.md", "docs/ops.md", "docs/arithmetic.md", "CONTRIBUTING.md", *PAGES]
)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


def test_the_map_names_what_there_is() -> None:
    tree = HACKING.partition("<!-- map -->")[2].partition("<!-- /map -->")[0]
    paths = re.findall(r"^\| `([^`]+)`", tree, re.MULTILINE)
    assert len(paths) > 10
    for path in paths:
        assert (ROOT / path).exists(), path


def test_the_pages_built_from_the_sources_are_up_to_date() -> None:
    run_python(
        "import runpy, sys; sys.path.insert(0, 'tools'); runpy.run_path('tools/build_docs.py', run_name='__main__')",
        "--check",
    )


def test_a_new_op_starts_as_the_skeleton() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from new_op import files
    finally:
        sys.path.pop(0)
    started = {str(path): text for path, text in files("two_words", Path("tree")).items()}
    assert "tree/src/ops/two_words/two_words_cpu.cc" in started
    assert (
        "REPDL_OPS(two_words, MakeOp<InferTwoWords, TwoWords, TwoWordsKernel>("
        in started["tree/src/ops/two_words/two_words.cc"]
    )
    assert not any("keleton" in path + text for path, text in started.items())
