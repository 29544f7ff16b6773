# SPDX-License-Identifier: MIT
"""Versions of torch: what one lacks is left out, an unmeasured one is told, and the bits are the same with each."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import repdl
import torch_programs
from repdl.interception import exact, override, switch, versions
from repdl.interception.native import is_there, native_of, registered_names
from support import TARGETS, run_python

LACKING: dict[str, set[str]] = {
    "2.13": {"linalg_matrix_sqrth", "linalg_polar"},
    "2.14": {"cholesky"},
    "2.15": {"cholesky"},
}
"""By version, the overloads that have an override of ours and that it lacks."""

HERE = ".".join(torch.__version__.split(".")[:2])


@pytest.fixture
def _kernels_made_anew() -> Iterator[None]:
    switch.kernels.cache_clear()
    yield
    switch.kernels.cache_clear()


def declared() -> set[str]:
    of_layouts = {name for kernels in override.layouts.values() for name in kernels}
    return {*override.overrides, *override.composites, *of_layouts}


def test_what_is_declared_is_there() -> None:
    """A name that no measured version has is misspelt."""
    if HERE in LACKING:
        assert {name for name in declared() if not is_there(name)} == LACKING[HERE]
    assert set(exact.MEASURED) == LACKING.keys()


@pytest.mark.usefixtures("_kernels_made_anew")
def test_an_overload_that_torch_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(*args: Any) -> Any:
        raise AssertionError

    gone = "gone_since_a_later_version"
    monkeypatch.setitem(override.overrides, gone, override.Override(gone, kernel))
    monkeypatch.setitem(override.overrides, "mm.gone", override.Override("mm.gone", kernel))
    monkeypatch.setitem(override.overrides, gone + ".Tensor", override.ForComplex(gone + ".Tensor", kernel))
    monkeypatch.setitem(override.composites, gone, kernel)
    monkeypatch.setitem(override.layouts["SparseCPU"], gone, kernel)
    with repdl.reproducible():
        found = switch.kernels()
        assert not any("gone" in name for of_key in found.values() for name in of_key)
        assert torch.equal(torch.eye(2) @ torch.eye(2), torch.eye(2))
    assert not list(override.variants(gone)) and not list(override.variants("mm.gone"))
    with pytest.raises(RuntimeError, match=rf"aten::{gone}.*torch {torch.__version__.split('+')[0]}"):
        native_of(gone)(torch.ones(2))


@pytest.mark.parametrize(
    ("version", "measured"),
    [
        ("2.13.0", True), ("2.13.0+cpu", True), ("2.14.1+cu130", True), ("2.15.0.post1", True), ("2.15.7", True),
        ("2.16.0", False), ("2.1.3", False), ("2.1", False), ("2.130.0", False), ("3.0.0", False),
        ("2.13.0a0+git1", False),
        ("2.15.0rc1", False), ("2.15.0.dev20260901+cpu", False), ("2.15.0a0+nv26.1", False), ("", False),
    ],
)  # fmt: skip
def test_which_versions_are_measured(version: str, measured: bool) -> None:
    assert exact.is_measured(version) is measured


@pytest.fixture
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(torch, "__version__", "2.99.0a0+git1")
    switch.kernels.cache_clear()
    versions.forget_notice()
    yield
    switch.kernels.cache_clear()
    versions.forget_notice()


@pytest.mark.usefixtures("_unmeasured")
def test_an_unmeasured_version_is_told_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        repdl.enable()
        repdl.disable()
        with repdl.reproducible(strict="off"):
            repdl.enable()
        repdl.disable()
    (told,) = caught
    assert told.category is repdl.UnmeasuredTorchWarning
    assert issubclass(told.category, UserWarning)
    assert told.filename == __file__
    text = str(told.message)
    assert "torch 2.99.0a0+git1" in text and "`repdl conformance --torch`" in text
    assert versions.measured_versions() in text


@pytest.mark.usefixtures("_unmeasured")
def test_the_notice_as_an_error_enables_nothing() -> None:
    with pytest.raises(repdl.UnmeasuredTorchWarning):
        repdl.enable()
    assert not repdl.is_enabled()


@pytest.mark.usefixtures("_unmeasured")
def test_a_converted_model_tells_too() -> None:
    with pytest.warns(repdl.UnmeasuredTorchWarning):
        repdl.from_torch_module(torch.nn.Sequential(torch.nn.Hardswish()))


@pytest.mark.filterwarnings("ignore::repdl.UnmeasuredTorchWarning")
@pytest.mark.usefixtures("_unmeasured")
def test_of_an_unmeasured_version_only_listed_overloads_are_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new overload of an op that is listed by its packet raises."""
    known = exact.measured_overloads() - {"round.decimals", "round.decimals_out"}
    monkeypatch.setattr(exact, "measured_overloads", lambda: known)
    x = torch.tensor([1.25, -2.5])
    with repdl.reproducible():
        assert torch.equal(x.round(), torch.tensor([1.0, -2.0]))
        with pytest.raises(repdl.NotReproducibleError, match=r"aten::round\.decimals"):
            x.round(decimals=1)
    assert exact.why_exact("abs") and not exact.why_exact("abs.of_a_new_kind")


def test_a_measured_version_is_not_told() -> None:
    code = "import repdl, torch; repdl.enable(); print(repdl.interception.exact.is_measured(torch.__version__))"
    assert run_python("import warnings; warnings.simplefilter('error');" + code).strip() == str(HERE in exact.MEASURED)


def test_the_overloads_of_measured_versions_are_listed() -> None:
    """`python tools/record_torch.py` adds those of a version that is new in exact.toml."""
    here = {name for key in ("CPU", *exact.LAYOUTS) for name in registered_names(key)}
    if HERE in exact.MEASURED:
        assert not here - exact.measured_overloads()


SETTINGS = [
    (target, capability, threads)
    for target, capability, threads in (("avx512", "avx512", 2), ("avx2", "avx2", 3), ("scalar", "default", 7))
    if target in TARGETS
]
"""CPU target of ours, instruction set of torch's own kernels, threads; those that this CPU runs."""


NEWER = {"polar": "2.14", "matrix_sqrth": "2.14"}
"""Functions of torch.linalg that the oldest version lacks, and the first one that has them."""


@pytest.mark.parametrize("name", NEWER)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
def test_functions_of_newer_versions(name: str, dtype: torch.dtype) -> None:
    function = getattr(torch.linalg, name, None)
    since, this = ([int(part) for part in v.split(".")[:2]] for v in (NEWER[name], torch.__version__))
    assert (function is not None) == (this >= since)
    if function is None:
        return  # the tests run with the newest torch, too
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(3, 5, 4, dtype=dtype, generator=generator)
    a = a.mH @ a if name == "matrix_sqrth" else a
    stock = function(a.to(torch.complex128 if dtype.is_complex else torch.float64))
    with repdl.reproducible():
        batch, alone = function(a), function(a[1])
    for x, one, expected in zip(*((t,) if name == "matrix_sqrth" else t for t in (batch, alone, stock)), strict=True):
        assert x.dtype == dtype
        torch.testing.assert_close(x, expected.to(dtype), rtol=1e-5, atol=1e-5)
        assert torch.equal(x[1], one)
    with repdl.reproducible():
        if name == "matrix_sqrth":
            assert not function(-torch.eye(2)).any()
        with pytest.raises(RuntimeError, match="square" if name == "matrix_sqrth" else "as many rows"):
            function(torch.ones(2, 3))


@pytest.mark.parametrize(("target", "capability", "threads"), SETTINGS)
def test_programs_train_to_the_same_bits_with_every_torch(target: str, capability: str, threads: int) -> None:
    found = json.loads(
        run_python(
            "import sys; sys.path.insert(0, 'tests/python'); import torch_programs; torch_programs.main([])",
            REPDL_TARGET=target,
            ATEN_CPU_CAPABILITY=capability,
            OMP_NUM_THREADS=str(threads),
            OMP_WAIT_POLICY="passive",
        ).splitlines()[-1]
    )
    golden = json.loads(torch_programs.GOLDEN.read_text())
    assert {name for name in golden if golden[name] != found.get(name)} == set()
    assert found.keys() == golden.keys()
