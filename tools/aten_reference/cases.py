# SPDX-License-Identifier: MIT
"""Calls that many ops have: operands with hard numbers, of sizes below and above those where threads start."""

from __future__ import annotations

from collections.abc import Sequence

FLOATS = ("float32", "bfloat16", "float16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
LARGE = 100_003
"""Elements, above the sizes from which torch takes several threads, and no multiple of a vector."""


def _of(dtype: str) -> str:
    return "" if dtype == "float32" else "." + dtype


def of_one(dtypes: Sequence[str] = FLOATS, *, more: str = "", large: str = "bits", name: str = "self") -> list[str]:
    """Calls of one floating-point operand; `more` are further arguments, ", min=0.5"."""
    calls = []
    for dtype in dtypes:
        t = _of(dtype)
        for tensor in (f"special{t}[203]#1", f"bits{t}[9, 41]#2", f"ties{t}[67]#3", f"zeros{t}[5, 7, 3]#4"):
            calls.append(f"{name}={tensor}{more}")
    if "float32" in dtypes:
        calls += [f"{name}=normal[]#1{more}", f"{name}=normal[0, 3]#1{more}", f"{name}={large}[{LARGE}]#7{more}"]
    return calls


def of_two(
    dtypes: Sequence[str] = FLOATS, *, more: str = "", names: tuple[str, str] = ("self", "other"), large: str = "zeros"
) -> list[str]:
    """Calls of two floating-point operands."""
    a, b = names
    calls = []
    for dtype in dtypes:
        t = _of(dtype)
        calls += [
            f"{a}=special{t}[19, 37]#1, {b}=special{t}[19, 37]#2{more}",
            f"{a}=bits{t}[311]#1, {b}=bits{t}[311]#2{more}",
            f"{a}=zeros{t}[137]#1, {b}=zeros{t}[137]#2{more}",
            f"{a}=ties{t}[7, 1, 9]#1, {b}=special{t}[5, 1]#2{more}",
        ]
    if "float32" in dtypes:
        calls += [
            f"{a}={large}[{LARGE}]#1, {b}={large}[{LARGE}]#2{more}",
            f"{a}=normal[301]#1, {b}=special[]#3{more}",
        ]
    return calls


def of_integers(
    dtypes: Sequence[str] = INTEGERS, *, more: str = "", names: Sequence[str] = ("self",), second: str = "extreme"
) -> list[str]:
    """Calls of integer operands, one or two."""
    calls = []
    for dtype in dtypes:
        operands = [f"{names[0]}=extreme.{dtype}[5, 43]#1"]
        if len(names) > 1:
            operands.append(f"{names[1]}={second}.{dtype}[5, 43]#2")
        calls.append(", ".join(operands) + more)
    return calls
