# SPDX-License-Identifier: MIT
"""What `repdl.library` refuses. That it works is shown by test_wheel.py, which builds examples/own_op."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from repdl import _core, library
from support import run_python


def compiled(text: str, folder: Path) -> Path:
    compiler = shutil.which("cc")
    assert compiler is not None
    source, made = folder / "library.c", folder / "library.so"
    source.write_text(text)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", made, source], check=True)
    return made


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\[load_ops\] .*none\.so cannot be loaded: "):
        library.load(tmp_path / "none.so")


def test_a_library_without_ops(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no library of ops; build it with the CMake function repdl_add_ops"):
        library.load(compiled("int nothing;", tmp_path))


def test_a_library_for_another_version(tmp_path: Path) -> None:
    file = compiled('const char* repdl_op_library[3] = {"version 0.1.0 and the CPU targets scalar"};', tmp_path)
    ours = re.escape(f"version {_core.__version__} and the CPU targets {' '.join(_core.compiled_targets())}")
    with pytest.raises(ValueError, match=f"was built for version 0.1.0 .*, and this is {ours}; build it anew"):
        library.load(file)


def test_an_op_without_the_library_that_has_it() -> None:
    with pytest.raises(ImportError, match="the core has no op 'twice'; load the library that has it first"):

        @library.op()
        def twice(input: object) -> object:
            """Never declared."""


def test_the_folder_of_the_cmake_package_is_part_of_an_installed_package() -> None:
    code = "import repdl.library as l, repdl._core as c; c.__file__ = '/none/_core.so'; l.cmake_dir()"
    with pytest.raises(AssertionError, match="RepDL's headers are part of its wheels; install one"):
        run_python(code)
