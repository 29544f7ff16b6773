# SPDX-License-Identifier: MIT
"""No module of the package imports one that imports it, not even late, and nothing is loaded before it is used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from repdl.interception import aten as aten, override, vision as vision
from support import ROOT, run_python

PACKAGE = ROOT / "python"

LATE = {
    ("repdl._op", "repdl._torch"),  # when the first tensor of torch comes
    ("repdl.reveal.tree", "repdl.reveal.svg"),  # when a tree is drawn
    ("repdl.reveal.tree", "repdl.reveal.text"),
}

PUBLIC = ("repdl.__init__", "repdl.random.__init__")
"""They lead to what is public when it is asked for."""


def modules() -> dict[str, ast.Module]:
    paths = (path for path in PACKAGE.rglob("*.py"))
    return {".".join(p.relative_to(PACKAGE).with_suffix("").parts): ast.parse(p.read_text()) for p in paths}


def imported(tree: ast.AST, known: dict[str, ast.Module], late: bool) -> Iterator[str]:
    """The modules of the package that a module imports, but for those that it has under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.FunctionDef) and not late:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if {name, f"{name}.__init__"} & known.keys() else node.module for name in names]
        for name in names:
            yield from (found for found in (name, f"{name}.__init__") if found in known)
        yield from imported(node, known, late)


def test_there_are_no_circles() -> None:
    known = modules()
    edges = {}
    for name, tree in known.items():
        if name not in PUBLIC:
            late = not name.startswith("repdl.ops.")  # where the gradients are written in ops of each other's families
            edges[name] = {to for to in imported(tree, known, late) if (name, to) not in LATE}
    try:
        TopologicalSorter({name: to - {name} for name, to in edges.items()}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_reveal_and_torch_are_loaded_when_they_are_used() -> None:
    program = (
        "import sys, repdl; assert not {'torch', 'repdl.reveal'} & sys.modules.keys();"
        "assert repdl.reveal(lambda x: x.sum(), 2).n == 2; from repdl.reveal import Tree; print(Tree.__name__)"
    )
    assert run_python(program).strip() == "Tree"


def test_an_import_gives_torch_what_costs_time_only_when_it_is_asked_for() -> None:
    """The shapes and the gradient of an op, a half millisecond each; they are there for whoever asks."""
    program = (
        "import torch, repdl;"
        "has = lambda op, key: torch._C._dispatch_has_kernel_for_dispatch_key(f'repdl::{op}', key);"
        "from repdl._op import registry; from repdl._torch import torch_ops;"
        "assert all(has(op, 'CPU') for op in registry) and not any(has(op, 'Meta') for op in registry);"
        "assert not torch_ops;"
        "x = torch.ones(3, 4, requires_grad=True); y = torch.ops.repdl.relu(x); assert has('relu', 'Meta');"
        "assert torch.autograd.grad(y.sum(), x)[0].sum() == 12;"
        "assert torch.ops.repdl.softmax(x.to('meta')).shape == (3, 4);"
        "graph = torch._C.parse_ir('graph(%x : Tensor):\\n %y : Tensor = repdl::exp(%x)\\n return (%y)');"
        "y = torch._C._create_function_from_graph('forward', graph)(x);"
        "assert torch.autograd.grad(y.sum(), x)[0].equal(y);"
        "print(len(torch_ops) < 9, hasattr(torch.ops.repdl, 'no_such_op'))"
    )
    assert run_python(program).split() == ["True", "False"]


def test_no_collection_goes_through_the_objects_of_torch_meanwhile() -> None:
    """It would find nothing, and take longer than the import."""
    program = (
        "import gc, torch; seen = [];"
        "gc.callbacks.append(lambda phase, info: seen.append(info['generation']));"
        "import repdl; print(2 in seen, gc.isenabled())"
    )
    assert run_python(program).split() == ["False", "True"]


def test_two_kernels_of_one_overload_raise() -> None:
    nms = "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for declare in (
        override.override("mm"),
        override.override("linear"),
        override.composite("linear"),
        override.composite("mm"),
        override.layout("SparseCsrCPU", "mm"),
        override.of_library(nms),
    ):
        with pytest.raises(ValueError, match="has two kernels"):
            declare(lambda *args: args)
