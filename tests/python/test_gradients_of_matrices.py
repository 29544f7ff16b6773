# SPDX-License-Identifier: MIT
"""Gradients of ops of matrices: those of torch's functions, and their own differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from repdl import ops

Function = Callable[..., torch.Tensor]


def _numbers(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _definite(*batch: int) -> torch.Tensor:
    half = _numbers(*batch, 5, 5)
    return half @ half.mT + torch.eye(5, dtype=torch.float64)


def _of_first(op: Callable[..., Any], place: int = 0) -> Function:
    return lambda *args: op(*args)[place]


A, ROWS = _numbers(3, 5, 5) + 3 * torch.eye(5, dtype=torch.float64), _numbers(3, 4, 5)
L = _definite(3).cholesky_inverse().tril() + torch.eye(5, dtype=torch.float64)

# Ours, torch's of the same bits up to rounding, and the operands.
FUNCTIONS: dict[str, tuple[Function, Function, tuple[torch.Tensor, ...]]] = {
    "cholesky": (
        lambda a: ops.cholesky(a + a.mT)[0], lambda a: torch.linalg.cholesky(a + a.mT, upper=True), (_definite(3),)
    ),
    "inv": (_of_first(ops.inv), lambda a: torch.linalg.inv(a).mT, (A,)),
    "det": (_of_first(ops.det), torch.linalg.det, (A,)),
    "slogdet": (_of_first(ops.slogdet, 1), lambda a: torch.linalg.slogdet(a)[1], (A,)),
    "solve": (_of_first(ops.solve), lambda a, b: torch.linalg.solve(a, b.mT).mT, (A, ROWS)),
    "solve_triangular": (
        ops.solve_triangular, lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=False).mT, (A, ROWS)
    ),
    "solve_triangular of ones": (
        lambda a, b: ops.solve_triangular(a, b, True, True),
        lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=True, unitriangular=True).mT,
        (A, ROWS),
    ),
    "cholesky_solve": (ops.cholesky_solve, lambda f, b: torch.cholesky_solve(b.mT, f.tril()).mT, (L, ROWS)),
    "matrix_exp": (ops.matrix_exp, torch.linalg.matrix_exp, (A,)),
    "eigvalsh": (
        lambda a: ops.eigvalsh(a + a.mT)[0], lambda a: torch.linalg.eigvalsh(a + a.mT), (_definite(3),)
    ),
    "eigvalsh of the upper triangle": (
        lambda a: ops.eigvalsh(a + a.mT, True)[0], lambda a: torch.linalg.eigvalsh(a + a.mT), (_definite(3),)
    ),
    "eigh": (
        # What does not go by the signs of the vectors.
        lambda a: ops.eigh(a + a.mT)[0].sum() + ops.eigh(a + a.mT)[1].square() @ torch.arange(5.0).double(),
        lambda a: (
            torch.linalg.eigh(a + a.mT)[0].sum()
            + torch.linalg.eigh(a + a.mT)[1].mT.square() @ torch.arange(5.0).double()
        ),
        (_definite(3),),
    ),
    "prod": (lambda x: ops.prod(x, (0, 2)), lambda x: x.prod(2).prod(0), (_numbers(3, 4, 5),)),
    "prod of all": (ops.prod, torch.prod, (_numbers(3, 4),)),
    "prod of one": (ops.prod, torch.prod, (_numbers(),)),
    "prod with a zero": (lambda x: ops.prod(x, 1), lambda x: x.prod(1), (_numbers(3, 4) * (1 - torch.eye(3, 4)),)),
    "prod with two zeros": (lambda x: ops.prod(x, 1), lambda x: x.prod(1), (_numbers(3, 4) * torch.eye(3, 4),)),
    "fold": (
        lambda x: ops.fold(x, (7, 6), (3, 2), (2, 2), (1, 0), (1, 2)),
        lambda x: torch.nn.functional.fold(x, (7, 6), (3, 2), (1, 2), (1, 0), (2, 2)),
        (_numbers(2, 18, 8),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_torch(name: str) -> None:
    ours, theirs, operands = FUNCTIONS[name]
    results = []
    for function in (ours, theirs):
        leaves = [t.clone().requires_grad_() for t in operands]
        output = function(*leaves)
        weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        results.append([output, *torch.autograd.grad(output, leaves, weights)])
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_differences(name: str) -> None:
    ours, _, operands = FUNCTIONS[name]
    few = operands if name.startswith("prod") else [t[:1] for t in operands]
    leaves = [t.clone().requires_grad_() for t in few]
    assert torch.autograd.gradcheck(ours, leaves)
    if name.startswith("prod "):
        return
    if name == "prod":  # of cumulative products, which have none
        grads = torch.autograd.grad(ours(*leaves).sum(), leaves, create_graph=True)
        with pytest.raises(NotImplementedError, match="has no gradient"):
            grads[0].sum().backward()
        return
    assert torch.autograd.gradgradcheck(ours, leaves)


def test_a_singular_matrix_says_so() -> None:
    singular = torch.zeros(2, 2, requires_grad=True)
    ops.det(singular)[0].backward()
    assert singular.grad is not None
    assert not singular.grad.isfinite().any()


def test_without_a_number() -> None:
    for op in (_of_first(ops.cholesky), _of_first(ops.inv), ops.matrix_exp, _of_first(ops.eigvalsh)):
        nothing = torch.zeros(2, 0, 0, requires_grad=True)
        op(nothing).sum().backward()
        assert nothing.grad is not None
        assert nothing.grad.shape == (2, 0, 0)
