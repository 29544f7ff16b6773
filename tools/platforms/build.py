# SPDX-License-Identifier: MIT
"""Builds the library, its conformance program, the example LeNet and, if asked for, the C++ tests for a platform."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from matrix import ROOT, Platform


class CommandError(Exception):
    """A command failed; the message holds what it said."""


def attempt(*words: str | Path, env: dict[str, str] | None = None) -> tuple[str, str]:
    """The output of a command; and of one that fails, which may print nothing: its words, exit status, last lines."""
    done = subprocess.run(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=os.environ | (env or {}),
    )
    if done.returncode == 0:
        return done.stdout, ""
    lines = "\n".join(done.stdout.splitlines()[-40:])
    return done.stdout, f"{' '.join(map(str, words))}\nexit status {done.returncode}\n{lines}\n"


def command(*words: str | Path, env: dict[str, str] | None = None) -> str:
    """The output of a command. Raises CommandError, with its last lines, if it fails."""
    output, failure = attempt(*words, env=env)
    if failure:
        raise CommandError(failure)
    return output


@dataclass(frozen=True)
class Programs:
    conformance: Path
    lenet: Path
    cxx_tests: Path | None


def executable(path: Path) -> Path:
    """The program, which Emscripten calls .js."""
    return path if path.exists() else path.with_name(path.name + ".js")


def build(platform: Platform, with_tests: bool, highway_folder: Path | None) -> Programs:
    """Raises CommandError if something does not compile."""
    tools = Path(sys.executable).parent
    os.environ["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"  # cmake and ninja of the virtual environment
    folder = ROOT / "build/platforms" / platform.name
    toolchain = (
        f"-DCMAKE_TOOLCHAIN_FILE={platform.toolchain_file}"
        if platform.toolchain_file
        else f"-DCMAKE_CXX_COMPILER={platform.compiler}"
    )
    flags = (toolchain, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS_RELEASE={platform.flags}")
    highway = [f"-DREPDL_HIGHWAY_INCLUDE={highway_folder}"] if highway_folder else ["-UREPDL_HIGHWAY_INCLUDE"]
    command(
        "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *flags, "-DREPDL_BUILD_TESTS=ON",
        "-DCMAKE_INSTALL_LIBDIR=lib", f"-DREPDL_TARGETS={';'.join(platform.targets)}",
        f"-DREPDL_OPS={';'.join(platform.op_folders)}", *highway,
    )  # fmt: skip
    tests = ["repdl_tests"] if with_tests else []
    command("cmake", "--build", folder, "--target", "repdl_conformance", "repdl_ops_parts", *tests)
    # The example as a user would build it: against the installed library.
    prefix, example = folder / "prefix", folder / "example"
    command("cmake", "--install", folder, "--component", "development", "--prefix", prefix)
    command(
        "cmake", "--fresh", "-S", ROOT / "examples/cpp", "-B", example, "-G", "Ninja", *flags,
        f"-Drepdl_DIR={prefix / 'lib/cmake/repdl'}",
    )  # fmt: skip
    command("cmake", "--build", example, "--target", "train_lenet")
    return Programs(
        executable(folder / "tools/conformance/repdl_conformance"),
        executable(example / "train_lenet"),
        executable(folder / "tests/repdl_tests") if with_tests else None,
    )


def version_of(program: str) -> str:
    """ "GCC 12.2.0", "qemu-aarch64 7.2.22", …"""
    line = command(program, "--version").splitlines()[0]
    number = re.search(r"\d+\.\d+\.\d+", re.sub(r"\(Debian[^)]*\)", "", line))
    name = "GCC" if program.endswith("g++") and "clang" not in line else program
    name = {"clang++": "Clang", "em++": "Emscripten"}.get(name, name)
    return f"{name} {number.group() if number else '?'}"
