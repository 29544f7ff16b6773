# SPDX-License-Identifier: MIT
"""Builds the pages of docs/ that come from the sources.

    python tools/build_docs.py [--check]

docs/arithmetic.md is docs/arithmetic.in.md and the contract of each op: a comment `/*! name … */` in the op's header or
in the lane file of a function. docs/ops.md is docs/ops.in.md and a table of the ops that `import repdl` knows.
docs/proofs.md is docs/proofs.in.md and the results in docs/proofs.jsonl, which `repdl prove` writes; docs/platforms.md
likewise, from what tools/platforms writes; docs/torch-ops.md is made of docs/torch-ops.jsonl, which
`repdl conformance --torch --record` writes, and docs/torch-ops-2.14.md and -2.15.md of what it wrote with those. Of
each docs/status/torch-X.Y.Z.json, which `repdl status` writes, docs/status/torch-X.Y.md is made.
docs_functions.py makes docs/functions.md and a page for each function, docs_reveal.py makes docs/reveal.md,
docs_calls.py makes docs/calls.md, docs_speed.py docs/speed.md and its plots, docs_accuracy.py docs/accuracy.md,
docs_cuda.py docs/cuda.md once docs/cuda.json is there. Into README.md and docs/interception.md it writes the facts
that stand between comments there. With --check nothing is written, and a page that is not up to date is an error.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from docs_accuracy import accuracy_page
from docs_calls import calls_page
from docs_cuda import FIGURES, cuda_page
from docs_functions import function_pages
from docs_reveal import reveal_page
from docs_speed import speed_pages
from repdl import _core, status
from repdl._op import Op, registry
from repdl.conformance import golden_lines, torch_sweep
from repdl.interception.versions import measured_versions
from repdl.status.page import summary

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = re.compile(r"/\*! (\w+)\n(.*?)\*/", re.DOTALL)
CONSTANT = re.compile(r"inline constexpr \w+ (k\w+) = (\w+);")
YES, NO = "yes", "–"


def contracts() -> dict[str, tuple[str, Path]]:
    """Text and source of the contract of each op, sorted by name."""
    found: dict[str, tuple[str, Path]] = {}
    for path in sorted([*ROOT.glob("src/ops/*/*.h"), *ROOT.glob("src/numerics/functions/*.lane.h")]):
        for name, text in CONTRACT.findall(path.read_text()):
            if name in found:
                raise SystemExit(f"{path}: the contract of {name} stands in {found[name][1]} already")
            found[name] = (text.strip(), path)
    if missing := sorted(registry.keys() - found.keys()):
        raise SystemExit(f"no header under src/ has a contract `/*! … */` of {', '.join(missing)}")
    return dict(sorted(found.items()))


def constants() -> dict[str, str]:
    headers = [ROOT / "include/repdl/version.h", ROOT / "src/numerics/order.h"]
    return {name: value for path in headers for name, value in CONSTANT.findall(path.read_text())}


def general_part(name: str) -> str:
    """The part of a page that is written by hand, with the constants of the sources filled in."""
    page = (ROOT / "docs" / name).read_text().rstrip() + "\n"
    for constant, value in constants().items():
        page = page.replace("{{" + constant + "}}", value)
    if unknown := re.findall(r"\{\{\w+\}\}", page):
        raise SystemExit(f"docs/{name} names unknown constants: {unknown}")
    return page


def arithmetic_page() -> str:
    page = general_part("arithmetic.in.md")
    for name, (text, path) in contracts().items():
        page += f"\n### {name}\n\n{text}\n\n<sub>{path.relative_to(ROOT)}</sub>\n"
    return page


def golden_cases(op: Op[..., Any]) -> list[str]:
    return [text for _, _, text in golden_lines(op.name)]


CUDA_KERNEL = re.compile(r'REPDL_CUDA_KERNEL\((\w+),|define REPDL_FAMILY "repdl/ops/(\w+\.def)"')
FAMILY_ROW = re.compile(r"^REPDL_(?:COMPLEX_)?(?:UNARY|BINARY)\(\w+, (\w+),", re.MULTILINE)


@functools.cache
def cuda_kernels() -> set[str]:
    """Names of the kernels that have a version for CUDA, whether this build has them or not."""
    names = set()
    for path in [*ROOT.glob("src/drivers/*_cuda.cu"), *ROOT.glob("src/ops/*/*_cuda.cu")]:
        for kernel, family in CUDA_KERNEL.findall(path.read_text()):
            rows = FAMILY_ROW.findall((path.parent / family).read_text()) if family else []
            names.update([kernel] if kernel else [f"{function}Kernel" for function in rows])
    return names


def op_row(op: Op[..., Any]) -> list[str]:
    """What docs/ops.in.md says of each column."""
    arguments = ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default!r}"
        for p in inspect.signature(op.function).parameters.values()
    )
    cases = golden_cases(op)
    integers = {
        str(value.dtype)
        for case in cases
        for value in _core.read_case(case)[1].values()
        if isinstance(value, np.ndarray) and value.dtype == np.int64
    }
    kernels = {kernel.partition("(")[0] for kernel in _core.kernels[op.name]}
    return [
        f"[{op.name}](arithmetic.md#{op.name})",
        f"`{arguments}`",
        "both" if op.takes_order else NO,
        ", ".join([*_core.dtypes[op.name], *sorted(integers)]),
        YES,
        YES if kernels and kernels <= cuda_kernels() else NO,
        YES if op.gradient is not None else "in place" if op.mutates else NO,
        str(len(cases)),
    ]


def markdown_table(columns: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [columns, ["---"] * len(columns), *rows])


def ops_page() -> str:
    columns = ["op", "arguments", "orders", "dtypes", "CPU", "CUDA", "gradient", "golden cases"]
    rows = [op_row(op) for _, op in sorted(registry.items())]
    return general_part("ops.in.md") + "\n" + markdown_table(columns, rows)


@functools.cache
def facts() -> dict[str, str]:
    """What pages that are written by hand say of the sources, by the name of the comments around it."""
    measured = status.Status.load(max((ROOT / "docs/status").glob("torch-*.json")))
    varying = next(row for row in summary(measured) if row[0] == "in any")[1:]
    (stock, ops), (deterministic, _), (ours, _) = (cell.strip("*").split(" of ") for cell in varying)
    families = json.loads(FIGURES.read_text())["NVIDIA H200"]["families"]
    calls = {call: row for family in families.values() for call, row in family.items()}
    gpt2, resnet = (
        next(f"{1 / row['ratio']:.1f}" for call, row in calls.items() if call.startswith(f"step of {model},"))
        for model in ("GPT-2", "ResNet-50")
    )
    return {
        "cuda steps": f"{gpt2} times that of stock float32, and one\nof ResNet-50 {resnet} times",
        "torch versions": measured_versions(),
        "torch programs": str(len(json.loads((ROOT / "tests/python/torch_programs.json").read_text()))),
        "torch status": f"of {ops} ops of torch {measured.torch.rpartition('.')[0]}\n"
        f"  bits vary, with threads, layouts, instruction sets or runs, in {stock} of stock torch, in {deterministic}\n"
        f"  with deterministic algorithms, and in {ours} under `repdl.enable()`",
    }


FACT = re.compile(r"(<!-- (\w+ \w+) -->).*?(<!-- /\2 -->)", re.DOTALL)


def with_facts(path: Path) -> str:
    page, places = FACT.subn(lambda found: found[1] + facts()[found[2]] + found[3], path.read_text())
    if not places:
        raise SystemExit(f"{path} has no place for a fact")
    return page


PROOF_PARTS = {
    "all": ("Every input", ""),
    "pairs": (
        "Functions of two numbers",
        "These are tests, not proofs: 2⁶⁴ pairs are too many. Tried are all pairs of special values, known hard\n"
        "cases (`tests/reference/hard_cases`) and random pairs of several kinds, among them any bits and, for each\n"
        "function, operands whose results are near its edges or cancel.\n\n",
    ),
    "random": (
        "Random inputs of float64",
        "These are tests, not proofs: 2⁶⁴ numbers are too many. How their results are found is said above.\n"
        "Functions that do not stand here were tried at 10⁷ random numbers each, against MPFR alone (by\n"
        "`REPDL_DOUBLE_CASES` of `tests/cpp/double_functions_test.cc` and `double_trig_test.cc`).\n\n",
    ),
    "sample": ("Samples", "Not all inputs of these were tried yet: these are tests, not proofs.\n\n"),
}


def proofs_page() -> str:
    """A row for each function and dtype, with its targets, where compiler, processor, commit and date are the same."""
    rows: dict[str, dict[tuple[str, ...], list[str]]] = {part: {} for part in PROOF_PARTS}
    for line in (ROOT / "docs/proofs.jsonl").read_text().splitlines():
        r = json.loads(line)
        inputs, wrong = f"{r['inputs']:,}", f"{r['wrong']:,}"
        key = (
            r["function"],
            r["dtype"],
            inputs,
            wrong,
            r["compiler"],
            r["processor"],
            r.get("commit", "–"),
            r.get("date", "–"),
            *([f"`{r['command']}`"] if "command" in r else []),
        )
        seconds = "" if r["tried"] == "random" else f" {r['seconds']:.0f} s"
        rows[r["tried"]].setdefault(key, []).append(r["target"] + seconds)
    columns = ["function", "dtype", "inputs", "wrong", "compiler", "processor", "commit", "date"]
    page = general_part("proofs.in.md")
    for part, (title, text) in PROOF_PARTS.items():
        if rows[part]:
            of_part = [*columns, *(["command"] if part == "random" else []), "targets"]
            table = markdown_table(of_part, [[*key, ", ".join(targets)] for key, targets in sorted(rows[part].items())])
            page += f"\n## {title}\n\n{text}{table}"
    return page


def platforms_page() -> str:
    """A row for each platform and target."""
    rows = []
    for line in (ROOT / "docs/platforms.jsonl").read_text().splitlines():
        r = json.loads(line)
        runs_on = r["emulator"] or r["machine"]
        cases = f"{r['passed']:,} of {r['cases']:,}"
        lenet = "agrees" if r["lenet"] else "differs"
        tests = str(r["cxx_tests"] or NO)
        seconds = f"{r['seconds']:.0f}"
        compiler = f"{r['compiler']} {r['flags']}"
        rows.append(
            [
                r["platform"],
                r["target"],
                compiler,
                runs_on,
                cases,
                lenet,
                tests,
                seconds,
                r.get("commit") or "–",
                r["date"],
                f"`{r['command']}`",
            ]
        )
    columns = [
        "platform", "target", "compiler", "run by", "golden cases", "LeNet", "C++ tests", "seconds", "commit", "date",
        "command",
    ]  # fmt: skip
    return general_part("platforms.in.md") + "\n" + markdown_table(columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a page is not up to date")
    check = parser.parse_args().check
    pages = {"arithmetic.md": arithmetic_page(), "ops.md": ops_page(), "proofs.md": proofs_page()}
    pages["reveal.md"] = reveal_page(general_part("reveal.in.md"), markdown_table)
    pages["platforms.md"] = platforms_page()
    pages["calls.md"] = calls_page(general_part("calls.in.md"), markdown_table)
    pages |= speed_pages(general_part("speed.in.md"), markdown_table)
    pages["accuracy.md"] = accuracy_page(general_part("accuracy.in.md"), markdown_table)
    if FIGURES.exists():
        pages["cuda.md"] = cuda_page(general_part("cuda.in.md"), markdown_table)
    for recorded in (ROOT / "docs").glob("torch-ops*.jsonl"):
        pages[f"{recorded.stem}.md"] = torch_sweep.page(torch_sweep.Sweep.load(recorded), recorded.stem)
    for recorded in sorted((ROOT / "docs/status").glob("torch-*.json")):
        name = f"status/{recorded.stem.rpartition('.')[0]}.md"
        measured = status.Status.load(recorded)
        pages[name] = status.page(measured, f"docs/status/{recorded.name}", f"docs/{name}")
    pages |= function_pages(contracts(), general_part("functions.in.md"), markdown_table)
    written = {ROOT / "docs" / name: page for name, page in pages.items()}
    written |= {path: with_facts(path) for path in (ROOT / "README.md", ROOT / "docs/interception.md")}
    for path, page in written.items():
        if path.exists() and path.read_text() == page:
            continue
        if check:
            sys.exit(f"{path.relative_to(ROOT)} is not up to date: run `make docs`")
        path.parent.mkdir(exist_ok=True)
        path.write_text(page)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
