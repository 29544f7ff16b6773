# SPDX-License-Identifier: MIT
"""Checks the bits on every platform of matrix.toml: compilers for this machine, and other machines under an emulator.

    python tools/platforms [NAME...] [--slice] [--strict] [--highway FOLDER] [--results docs/platforms.jsonl]

Each platform is built, then each of its targets runs the golden files and the LeNet of examples/cpp, and in the whole
matrix also C++ tests. A platform whose compiler or emulator is not installed is skipped; the Debian packages are named.
So is one that needs a newer Highway than there is.
"""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from build import CommandError, build
from check import Result, check
from matrix import Platform, read_matrix

console = Console(highlight=False, soft_wrap=True)


def record(path: Path, results: list[Result]) -> None:
    """Replaces the rows of the same platform and target."""
    rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        rows[row["platform"], row["target"]] = row
    for result in results:
        row = dataclasses.asdict(result)
        del row["output"]
        rows[result.platform, result.target] = row
    path.write_text("".join(json.dumps(row) + "\n" for _, row in sorted(rows.items())))


def check_platform(platform: Platform, ops: tuple[str, ...], whole: bool, highway_folder: Path | None) -> list[Result]:
    start = time.monotonic()
    console.print(f"[bold]{platform.name}[/]: building")
    programs = build(platform, whole and bool(platform.cxx_tests), highway_folder)
    console.print(f"  built in {time.monotonic() - start:.0f} s")
    results = []
    threads = (1, 3) if whole and not platform.emulator else (3,)  # an emulator is slow
    for result in check(platform, programs, ops, threads):
        verdict = "[green]passed[/]" if result.ok else "[red]FAILED[/]"
        tests = f", {result.cxx_tests} C++ tests" if result.cxx_tests else ""
        console.print(
            f"  {result.target}: {verdict}, {result.passed} of {result.cases} cases, "
            f"LeNet {'agrees' if result.lenet else 'differs'}{tests}, {result.seconds:.0f} s"
        )
        if result.output:
            console.print(escape(result.output), style="red")
        results.append(result)
    if unseen := set(platform.targets) - {result.target for result in results}:
        console.print(f"  not on this CPU: {', '.join(sorted(unseen))}")
    return results


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Platforms; all by default.")] = None,
    part: Annotated[bool, typer.Option("--slice", help="What `make test` runs: few ops, no C++ tests.")] = False,
    strict: Annotated[bool, typer.Option(help="Fail for a platform that is skipped.")] = False,
    highway: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", resolve_path=True, help="Where hwy/highway.h lies; default: the system's."),
    ] = None,
    results: Annotated[Path | None, typer.Option(metavar="FILE", help="Record the results there.")] = None,
    show: Annotated[bool, typer.Option("--list", help="Print the platforms and stop.")] = False,
) -> None:
    """Checks the bits on every platform of tools/platforms/matrix.toml."""
    matrix = read_matrix()
    if unknown := [name for name in names or [] if name not in matrix.platforms]:
        raise typer.BadParameter(f"there is no platform {', '.join(unknown)}; there are: {', '.join(matrix.platforms)}")
    if highway and not (highway / "hwy/highway.h").exists():
        raise typer.BadParameter(f"there is no hwy/highway.h in {highway}")
    if results and part:
        raise typer.BadParameter("--results records whole runs; leave out --slice")
    chosen = [matrix.platforms[name] for name in names or matrix.platforms]
    if part and not names:
        chosen = [platform.in_slice(matrix.slice_folders) for platform in chosen if platform.slice_targets]
    if show:
        table = Table("name", "targets", "packages", "")
        for platform in chosen:
            note = "skipped" if platform.missing(highway) else ""
            table.add_row(platform.name, ", ".join(platform.targets), " ".join(platform.packages), note)
        console.print(table)
        return
    failed, skipped = [], []
    for platform in chosen:
        if reason := platform.missing(highway):
            skipped.append(f"{platform.name}: {reason}")
            continue
        try:
            done = check_platform(platform, matrix.slice_ops if part else (), not part, highway)
        except CommandError as error:
            console.print(escape(str(error)), style="red")
            failed.append(platform.name)
            continue
        if results:
            record(results, done)
        if not all(result.ok for result in done) or not done:
            failed.append(platform.name)
    if skipped:
        console.print("[yellow]skipped[/]")
    for line in skipped:
        console.print(f"  {escape(line)}")
    if failed:
        console.print(f"[red]failed[/]: {', '.join(failed)}")
    if failed or (strict and skipped):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
