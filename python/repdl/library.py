# SPDX-License-Identifier: MIT
"""Ops of your own, in C++ and outside of RepDL's tree: what their declarations in Python are made of.

    library.load(Path(__file__).parent / "_ops.so")  # built with the CMake function repdl_add_ops


    @library.op()
    def scale(input: Tensor, factor: float = 1.0) -> Tensor:
        ...

Such an op is like those of `repdl.ops`: it takes torch tensors and NumPy arrays, has a gradient, follows `repdl.order`,
the number of threads and the CPU target. `examples/own_op` is a whole package with one.
"""

from __future__ import annotations

import os
from pathlib import Path

from repdl import _core
from repdl._op import (
    Op as Op,
    Sample as Sample,
    Tensor as Tensor,
    no_rows as no_rows,
    op as op,
    rows_of as rows_of,
    sample as sample,
)


def load(path: str | os.PathLike[str]) -> list[str]:
    """Loads a shared library of ops and returns their names, which can be declared then. It stays loaded.

    Raises:
        ValueError: if it is no library of ops, was built for another version of RepDL, or has an op of a taken name.
    """
    return _core.load_ops(str(Path(path).resolve()))


def cmake_dir() -> Path:
    """Where find_package(repdl_ops) finds the CMake package; `python -m repdl cmake-dir` prints it."""
    folder = Path(_core.__file__).resolve().parent / "sdk/cmake"
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not there: RepDL's headers are part of its wheels; install one")
    return folder
