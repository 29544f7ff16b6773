# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import repdl
from repdl import _core
from repdl.cli._failure import check_folder, fail


def _numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(number) for number in text.replace("x", ",").split(","))
    except ValueError:
        raise ValueError(f"[reveal] --{option} takes numbers with commas between them, not {text!r}") from None


def _set_target(op: str, target: str) -> None:
    """Of this library, or of torch, which reads its own when it is loaded."""
    if op.startswith("numpy."):
        raise ValueError("[reveal] numpy has no --target: set NPY_DISABLE_CPU_FEATURES in the environment instead")
    if not op.startswith("torch."):
        _core.set_target(target)
    elif "torch" in sys.modules:
        raise ValueError("[reveal] torch is loaded already: set ATEN_CPU_CAPABILITY in the environment instead")
    elif target not in ("default", "avx2", "avx512"):
        raise ValueError(f"[reveal] torch has the targets default, avx2 and avx512, not {target!r}")
    elif target != "default" and target not in _core.supported_targets():
        raise ValueError(f"[reveal] this CPU cannot run the target {target}: torch would die of an illegal instruction")
    else:
        os.environ["ATEN_CPU_CAPABILITY"] = target


def _set_threads(op: str, threads: int) -> None:
    if op.startswith("numpy."):
        raise ValueError("[reveal] numpy takes no --threads: set OPENBLAS_NUM_THREADS in the environment instead")
    repdl.set_num_threads(threads)
    if op.startswith("torch."):
        import torch

        torch.set_num_threads(threads)


def reveal(
    op: Annotated[str, typer.Argument(help="mm, conv2d, …; torch.mm, numpy.sum, …; or package.module:function.")],
    n: Annotated[int | None, typer.Option("--n", help="How many terms; 64 if not said.")] = None,
    shape: Annotated[
        str | None, typer.Option(help="Sizes instead of --n: M,K,N of mm; N,C,H,W,O,KH,KW of conv2d.")
    ] = None,
    dim: Annotated[
        int | None, typer.Option(help="The dimension summed over, of ops along one; the last if not said.")
    ] = None,
    element: Annotated[str | None, typer.Option(help="The element of the result to read, as 0,5; the first.")] = None,
    every: Annotated[int, typer.Option(help="Read only the first of each so many terms; quick for a long sum.")] = 1,
    sum_: Annotated[
        str | None, typer.Option("--sum", help="Which sum, of an op with several: mean or variance of batch_norm.")
    ] = None,
    order: Annotated[str | None, typer.Option(help="blocked or sequential, of an op of this library.")] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads to use: torch's for its ops, else this library's.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="CPU target of this library; of torch: default, avx2 or avx512.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Draw the tree into FILE.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: digest, and children of each node.")] = False,
) -> None:
    """Find the order in which an op, ours or another's, adds its terms, from its results alone.

    Exit status: 0 found, 1 the op is no sum in one order, 2 a wrong call.
    """
    from repdl.reveal.fold import explain
    from repdl.reveal.ops import Options, reveal_op
    from repdl.reveal.probing import NotASumError

    check_folder("--svg", svg)
    if ":" in op:
        sys.path.insert(0, os.getcwd())  # as `python -m` does: the module may be the caller's
    try:
        options = Options(n, _numbers(shape, "shape"), dim, _numbers(element, "element"), every, sum_)
        if target is not None:
            _set_target(op, target)
        if threads is not None:
            _set_threads(op, threads)
        what, tree = reveal_op(op, options, order)
    except NotASumError as error:
        fail(error, 1)
    except (ValueError, ImportError) as error:
        fail(error)
    summary = explain(tree).summary
    if svg is not None:
        try:
            svg.write_text(tree.svg(what), encoding="utf-8")
        except OSError as error:
            fail(f"--svg: {svg}: {error.strerror}")
    if as_json:
        values: dict[str, Any] = {"op": op, "what": what, "n": tree.n, "summary": summary, "digest": tree.digest}
        typer.echo(json.dumps(values | {"nodes": tree.nodes}))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{what}: {summary}", markup=False)
    console.print(f"[dim]SHA-256 of the tree: {tree.digest}[/dim]\n")
    console.print(str(tree), markup=False)
