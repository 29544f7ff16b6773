# SPDX-License-Identifier: MIT
"""Where strict="off", "warn" or `allow_native` let torch's own kernels run: they end, with torch's result or error."""

from __future__ import annotations

import warnings

import pytest
import torch

import repdl
from aten_cases import CASES, Case, Leaf
from complex_places import PLACES

HALF = torch.complex32
"""Of which torch's own exact kernels lack many: calls may fail that stock torch computes."""


def outcome(case: Case, dtype: torch.dtype) -> BaseException | None:
    """The error of a call with all its floating-point operands of another type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.run(lambda value: (value.values if isinstance(value, Leaf) else value).to(dtype))
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("dtype", [torch.complex64, HALF, torch.int32, torch.uint16], ids=str)
def test_every_case_ends(dtype: torch.dtype) -> None:
    with repdl.reproducible(strict="off"):
        errors = {name: outcome(case, dtype) for name, case in CASES.items()}
    endless = [name for name, error in errors.items() if isinstance(error, RecursionError)]
    assert not endless
    if dtype == HALF:
        return
    worse = {name: e for name, e in errors.items() if e is not None and outcome(CASES[name], dtype) is None}
    assert not worse


Z = torch.randn(4, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(1))
COMPLEX = {
    "products at places": lambda: torch.sparse.sampled_addmm(PLACES, Z, Z).values(),
    "out=": lambda: torch.sparse.sampled_addmm(PLACES, Z, Z, out=PLACES.clone()).values(),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_refused_calls_give_torchs_result(name: str) -> None:
    def result() -> list[torch.Tensor]:
        found = COMPLEX[name]()  # type: ignore[no-untyped-call]
        return [found] if isinstance(found, torch.Tensor) else list(found)

    stock = result()
    with repdl.reproducible(strict="off"):
        off = result()
    with warnings.catch_warnings(), repdl.reproducible(strict="warn"):
        warnings.simplefilter("ignore")
        warned = result()
    with repdl.reproducible(), repdl.allow_native("a test"):
        allowed = result()
    audited: list[list[torch.Tensor]] = []
    repdl.audit(lambda: audited.append(result()))
    for ours in (off, warned, allowed, *audited):
        for a, b in zip(ours, stock, strict=True):
            assert torch.allclose(a, b, rtol=1e-4, atol=1e-4)
    with repdl.reproducible(), pytest.raises(repdl.NotReproducibleError):
        result()
