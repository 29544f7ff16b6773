# SPDX-License-Identifier: MIT
"""Part of the calls that test `repdl.enable()` on the CPU: on the device they give the same bits, or raise by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from support_cuda import bits, to_cuda

import repdl
from aten_cases import CASES, Case, Leaf


def _run(case: Case, place: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The results, and the gradients of the leaves by the sum of those that have one."""
    leaves = []

    def filled(value: Leaf | torch.Tensor) -> torch.Tensor:
        if isinstance(value, Leaf):
            leaves.append(place(value.values).requires_grad_())
            return leaves[-1]
        return place(value)

    moved = Case(case.name, case.function, _moved(case.args, place), _moved(case.kwargs, place), case.random)
    results = moved.run(filled)
    listed = [t for t in torch.utils._pytree.tree_leaves(results) if isinstance(t, torch.Tensor)]
    roots = [t for t in listed if t.requires_grad]
    if roots and leaves:
        torch.autograd.backward(roots, [torch.ones_like(t) for t in roots])
    return bits(listed), bits([leaf.grad for leaf in leaves])


def _moved(value: Any, place: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor) and not value.is_floating_point():
        return place(value)
    if isinstance(value, dict):
        return {name: _moved(item, place) for name, item in value.items()}
    return type(value)(_moved(item, place) for item in value) if isinstance(value, (list, tuple)) else value


OF_TORCH = ("torch.renorm", "torch.renorm 2")
"""Of whose gradients torch computes norms in float64 on the CPU, and in float32 on a device."""

WITH_OTHERS = ("bf16 ", "F.embedding", "torch.cholesky", "torch.linalg.", "torch.triangular_solve")
"""Beginnings of cases that may make tensors on the CPU themselves, beside those that are on the device."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(CASES)[::12])
def test_the_bits_of_the_cpu_or_a_refusal(name: str, enabled: None) -> None:
    try:
        expected = _run(CASES[name], torch.clone)
    except (repdl.NotReproducibleError, NotImplementedError):  # the latter of torch's own kernels
        return
    try:
        got = _run(CASES[name], to_cuda)
    except repdl.NotReproducibleError as error:
        if error.reason == "device":
            return
        raise
    except (RuntimeError, ValueError) as error:
        if name.startswith(WITH_OTHERS) and "cpu" in str(error):
            return
        raise
    assert got[0] == expected[0]
    assert got[1] == expected[1] or name in OF_TORCH
