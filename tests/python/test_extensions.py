# SPDX-License-Identifier: MIT
"""Functions of extension modules that take tensors past torch's dispatcher, as pybind11's do, raise like ops."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.utils import cpp_extension

import repdl
from repdl.interception import declared, permissions, strict
from test_other_libraries import compiled

NAME = "repdl_test_bound"
ADDED = torch.tensor([0.0, 1.0]) + 1 / 3


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("bound.c", tmp_path_factory.mktemp("bound") / f"{NAME}.so", "-Wl,--no-as-needed", "-ltorch_python")


def load(path: Path, name: str = NAME, kept: bool = True) -> ModuleType:
    """Under another name it is a module of its own, with the functions of this file.

    kept: in sys.modules, as by import; torch.utils.cpp_extension keeps it out.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if kept:
        sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    repdl.disable()
    declared.reasons.clear()
    permissions.clear()
    sys.modules.pop(NAME, None)


def x() -> torch.Tensor:
    return torch.tensor([0.0, 1.0])


def refused(function, *args) -> repdl.NotReproducibleError:
    with pytest.raises(repdl.NotReproducibleError) as caught:
        function(*args)
    assert caught.value.reason == "extension"
    return caught.value


@pytest.mark.parametrize("when", ["before", "while enabled"])
def test_they_raise_whenever_the_module_was_loaded(path: Path, when: str) -> None:
    if when == "before":
        module = load(path)
        original = module.add_third
        repdl.enable()
    else:
        repdl.enable()
        module = load(path)
    from_it = module.add_third
    given = x()
    error = refused(module.add_third, given)
    assert error.op == f"{NAME}::add_third"
    assert error.tensors == ("float32[2]",)
    assert f'repdl.declare("{NAME}::add_third", "why")' in str(error)
    assert torch.equal(given, x())  # it did not begin
    assert module.add_third.__doc__ == "Adds a third."
    repdl.disable()
    assert torch.equal(module.add_third(x()), ADDED)
    assert torch.equal(from_it(x()), ADDED)
    assert module.add_third is original if when == "before" else type(module.add_third) is type(len)


@pytest.mark.parametrize("when", ["before", "while enabled"])
def test_they_raise_where_the_module_is_out_of_sight(path: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if when == "before":
        module = load(path, kept=False)
        monkeypatch.setitem(cpp_extension.JIT_EXTENSION_VERSIONER.entries, NAME, "as load() leaves it")
        repdl.enable()
    else:
        repdl.enable()
        module = load(path, kept=False)
    refused(module.add_third, x())
    repdl.disable()
    assert torch.equal(module.add_third(x()), ADDED)
    repdl.enable()
    refused(module.add_third, x())


@pytest.mark.parametrize("when", ["before", "while enabled"])
def test_methods_raise_and_modules_within(path: Path, when: str) -> None:
    if when == "before":
        module = load(path)
    repdl.enable()
    if when == "while enabled":
        module = load(path)
    adder = module.Adder()

    class Derived(module.Adder):
        pass

    error = refused(adder.add_third, x())
    assert error.op == f"{NAME}::Adder.add_third" and f'repdl.declare("{error.op}", "why")' in str(error)
    assert refused(module.Adder.added, x()).op == f"{NAME}::Adder.added"
    assert refused(module.inner.add_third, x()).op == f"{NAME}.inner::add_third"
    refused(Derived().add_third, x())
    repdl.declare(f"{NAME}::Adder.add_third", "one addition each")
    assert torch.equal(adder.add_third(x()), ADDED)
    refused(adder.added, x())
    repdl.declare(f"{NAME}::Adder", "one addition each")
    assert torch.equal(adder.added(x()), ADDED)
    declared.reasons.clear()
    repdl.disable()
    assert torch.equal(adder.add_third(x()), ADDED) and torch.equal(module.Adder.added(x()), ADDED)
    assert type(vars(module.Adder)["add_third"]).__name__ == "instancemethod"
    assert type(module.inner.add_third) is type(vars(module.Adder)["added"].__func__) is type(len)


def test_functions_raise_that_were_taken_by_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, module = ModuleType("repdl_test_program"), load(path)
    monkeypatch.setitem(sys.modules, program.__name__, program)
    exec(f"from {NAME} import add_third as third, doubled", vars(program))
    original = program.third
    repdl.enable()
    assert refused(program.third, x()).op == f"{NAME}::add_third"
    assert program.doubled(21) == 42
    repdl.disable()
    assert program.third is original is module.add_third


def test_the_level_and_permissions_hold(path: Path) -> None:
    module = load(path)
    repdl.enable()
    with repdl.allow_native("to see"):
        assert torch.equal(module.add_third(x()), ADDED)
    assert permissions == {strict.Permission(f"{NAME}::add_third", "to see"): 1}
    repdl.enable(strict="warn")
    strict._warned.discard(f"{NAME}::add_third")
    with pytest.warns(repdl.NotReproducibleWarning, match="add_third"):
        assert torch.equal(module.add_third(x()), ADDED)
    repdl.enable(strict="off")
    assert torch.equal(module.add_third(x()), ADDED)


def test_a_tensor_that_no_argument_shows(path: Path) -> None:
    module = load(path)
    repdl.enable()
    module.keep({"hidden": 1})
    assert module.take() == {"hidden": 1}
    repdl.disable()
    module.keep(x())
    repdl.enable()
    error = refused(module.take)
    assert error.op == f"{NAME}::take"
    with repdl.allow_native("to see"):
        assert torch.equal(module.take(), x())


def test_what_has_no_numbers_runs(path: Path) -> None:
    module = load(path)
    repdl.enable()
    assert module.doubled(21) == 42
    module.keep(torch.empty(3, device="meta"))
    assert module.take().is_meta
    refused(module.keep, [torch.ones(1)])


def test_declared_functions_run(path: Path) -> None:
    repdl.declare(f"{NAME}::add_third", "one addition each")  # not loaded yet
    module = load(path)
    repdl.enable()
    assert torch.equal(module.add_third(x()), ADDED)
    repdl.declare(f"{NAME}::keep", "keeps")
    module.keep(x())
    refused(module.take)


def test_a_function_beside_ops_of_the_same_library(path: Path) -> None:
    library = torch.library.Library(NAME, "DEF")
    library.define("other(Tensor x) -> Tensor")
    load(path)
    repdl.enable()
    repdl.declare(f"{NAME}::add_third", "one addition each")
    with pytest.raises(ValueError, match="is no op of"):
        repdl.declare(f"{NAME}::add_fourth", "is not there")
    library._destroy()


def test_of_a_package(path: Path) -> None:
    """The name of its module has dots, as that of an overload has."""
    name = f"{NAME}.inner._C"
    repdl.enable()
    module = load(path, name)
    try:
        assert f'repdl.declare("{name}::add_third", "why")' in str(refused(module.add_third, x()))
        repdl.declare(f"{name}::add_third", "one addition each")
        assert torch.equal(module.add_third(x()), ADDED)
    finally:
        del sys.modules[name]


def test_audit_tells_them(path: Path) -> None:
    module = load(path)
    report = repdl.audit(lambda: module.add_third(x()))
    rows = {row.op: row for row in report}
    assert rows[f"{NAME}::add_third"].kind == "not"
    assert torch.equal(module.add_third(x()), ADDED)


def test_modules_without_torch_are_left_alone() -> None:
    import _struct

    before = dict(vars(_struct))
    repdl.enable()
    assert vars(_struct) == before
