# SPDX-License-Identifier: MIT
"""Linear algebra: the lines of the core's ops, whose right sides and results lie in rows, and what torch has more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from repdl.conformance.torch_case import TensorText

from ..registry import Arguments, from_core
from ..words import in_words

Text = Callable[..., str]
"""A tensor of the core as torch has it, with `turned` its matrices transposed."""


@dataclass(frozen=True)
class _Line:
    """A line of the core: its arguments, and what makes tensors of torch of its tensors."""

    arguments: Arguments
    is_complex: bool

    def __call__(self, name: str, turned: bool = False) -> str:
        return in_words(self.arguments[name], self.is_complex, turned)

    def get(self, name: str, default: Any) -> Any:
        return self.arguments.get(name, default)

    @property
    def is_finite(self) -> bool:
        return all(
            value.generator not in ("special", "infinite", "bits")
            for value in self.arguments.values()
            if isinstance(value, TensorText)
        )


def _matrices(
    op: str, overload: str, *read: str, only: str = "real and complex"
) -> Callable[[Callable[[_Line], str | None]], None]:
    """Declares that lines of an op, and of that of complex numbers, are those of an overload."""

    def declare(translate: Callable[[_Line], str | None]) -> None:
        def translated(arguments: Arguments, is_complex: bool) -> str | None:
            text = translate(_Line(arguments, is_complex))
            return None if text is None else f"{text}, read={list(read)}" if read else text

        if "real" in only:
            from_core(op, overload, wide=True)(partial(translated, is_complex=False))
        if "complex" in only:
            from_core(f"complex_{op}", overload, wide=True)(partial(translated, is_complex=True))

    return declare


# Factors.

_matrices("cholesky", "linalg_cholesky_ex", "columns", "int64")(lambda line: f"self={line('input')}")
_matrices("cholesky", "linalg_cholesky_ex", "as is", "int64")(lambda line: f"self={line('input', True)}, upper=True")
_matrices("lu", "linalg_lu_factor_ex", "columns", "int64", "int64")(
    lambda line: f"A={line('input')}, pivot={line.get('pivot', True)}"
)
_matrices("geqrf", "geqrf", "columns", "as is", "order")(
    lambda line: None if line.get("pivot", False) else f"self={line('input')}"
)
_matrices("qr", "linalg_qr", "columns", "columns")(
    lambda line: f"A={line('input')}, mode={'complete' if line.get('complete', False) else 'reduced'!r}"
)


@_matrices("orgqr", "linalg_householder_product", "columns")
def householder_product(line: _Line) -> str | None:
    columns, rows = line.arguments["factors"].shape[-2 - line.is_complex :][:2]
    if line.arguments["columns"] != columns or rows < columns:
        return None
    return f"input={line('factors', True)}, tau={line('tau')}"


@_matrices("householder", "ormqr", "columns")
def ormqr(line: _Line) -> str:
    """With `adjoint` of complex numbers it is their adjoint, too."""
    return (
        f"self={line('factors', True)}, input2={line('tau')}, input3={line('rows', True)}, left=True, "
        f"transpose={line.get('adjoint', False)}"
    )


_matrices("ldl", "linalg_ldl_factor_ex", "columns", "blocks", "int64")(
    lambda line: f"self={line('input')}" + (f", hermitian={line.get('hermitian', False)}" if line.is_complex else "")
)


# Equations.

_matrices("inv", "linalg_inv_ex", "columns", "int64")(lambda line: f"A={line('input')}")
_matrices("solve", "_linalg_solve_ex", "columns", "columns", "int64", "int64")(
    lambda line: f"A={line('input')}, B={line('rows', True)}"
)
_matrices("cholesky_solve", "_cholesky_solve_helper", "columns")(
    lambda line: f"self={line('rows', True)}, A={line('factor')}, upper=False"
)


def _triangle(line: _Line) -> str:
    return f"upper={line.get('upper', False)}, unitriangular={line.get('unitriangular', False)}"


_matrices("solve_triangular", "linalg_solve_triangular", "columns")(
    lambda line: f"self={line('input')}, B={line('rows', True)}, {_triangle(line)}"
)
_matrices("solve_triangular", "triangular_solve", "columns", "left out")(
    lambda line: f"self={line('rows', True)}, A={line('input')}, {_triangle(line)}"
)


@_matrices("solve_triangular", "linalg_solve_triangular")
def solve_from_the_right(line: _Line) -> str:
    """X A = B is A^T X^T = B^T."""
    return (
        f"self={line('input', True)}, B={line('rows')}, upper={not line.get('upper', False)}, left=False, "
        f"unitriangular={line.get('unitriangular', False)}"
    )


def _lu_solve(line: _Line, left: bool, adjoint: bool) -> str:
    pivots = line.arguments["pivots"].text
    rows = line("rows", left)
    return f"LU={line('factors', True)}, pivots={pivots}, B={rows}, left={left}, adjoint={adjoint}"


_matrices("lu_solve", "linalg_lu_solve", "columns", only="real")(
    lambda line: _lu_solve(line, True, line.get("adjoint", False))
)
_matrices("lu_solve", "linalg_lu_solve", "columns", only="complex")(
    lambda line: None if line.get("transposed", False) else _lu_solve(line, True, False)
)
_matrices("lu_solve", "linalg_lu_solve", only="complex")(
    lambda line: _lu_solve(line, False, False) if line.get("transposed", False) else None
)
_matrices("lstsq", "linalg_lstsq", "columns", "left out", "as is", "left out")(
    lambda line: (
        f"self={line('input')}, b={line('rows', True)}, rcond={line.arguments['rcond']}"
        if line.get("pivot", True)
        else None
    )
)
_matrices("matrix_exp", "linalg_matrix_exp", only="real")(lambda line: f"self={line('input')}")

# Eigenvalues and singular values. torch raises where a number is not finite.


def _half(line: _Line) -> str:
    return f"A={line('input')}, UPLO={'U' if line.get('upper', False) else 'L'!r}"


_matrices("eigh", "_linalg_eigh", "as is", "columns", "info")(lambda line: _half(line) if line.is_finite else None)
_matrices("eigvalsh", "_linalg_eigh", "as is", "left out", "info")(
    lambda line: f"{_half(line)}, compute_v=False" if line.is_finite else None
)
_matrices("svd", "_linalg_svd", "columns", "as is", "columns", "info")(
    lambda line: f"A={line('input')}, full_matrices={line.get('full', False)}" if line.is_finite else None
)
_matrices("svdvals", "_linalg_svd", "left out", "as is", "left out", "info")(
    lambda line: f"A={line('input')}, compute_uv=False" if line.is_finite else None
)
_matrices("eig", "linalg_eig", "as is", "columns", "info")(
    lambda line: f"self={line('input')}" if line.is_finite else None
)
for _overload in ("_linalg_eigvals", "linalg_eigvals"):
    _matrices("eigvals", _overload, "as is", "info")(lambda line: f"self={line('input')}" if line.is_finite else None)
