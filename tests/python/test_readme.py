# SPDX-License-Identifier: MIT
"""What the documents say is so: the programs in them run, its digests are golden, the map is of this tree."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from repdl.conformance import GOLDEN
from support import ROOT, run_python

README = (ROOT / "README.md").read_text()
HACKING = (ROOT / "HACKING.md").read_text()
GUIDES = [f"docs/guides/{path.name}" for path in sorted((ROOT / "docs/guides").glob("*.md"))]
PAGES = ("docs/checkpoints.md", "docs/receipts.md", *GUIDES)


def programs(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


PROGRAMS = programs(README)


@pytest.mark.parametrize("target", ["default", "scalar"])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_programs_of_the_readme_run(number: int, target: str) -> None:
    run_python(PROGRAMS[number], **({} if target == "default" else {"REPDL_TARGET": target}))


@pytest.mark.parametrize(
    ("page", "number"), [(page, i) for page in PAGES for i in range(len(programs((ROOT / page).read_text())))]
)
def test_the_programs_of_the_pages_run(page: str, number: int) -> None:
    run_python(programs((ROOT / page).read_text())[number])


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
    "name", ["README.md", "HACKING.md", "CHANGELOG.md", "docs/ops.md", "docs/arithmetic.md", "docs/reveal.md", *PAGES]
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
