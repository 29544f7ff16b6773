# SPDX-License-Identifier: MIT
"""A program as one types it, `OMP_NUM_THREADS=1 python -m package --lr 1`, and a process that records it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repdl._leaving import unwound
from repdl.runs.window import Window

_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"python[\d.]*(\.exe)?")
_TAKE_ONE = ("-W", "-X", "--check-hash-based-pycs")
"""Options of Python that are followed by a word of their own."""


@dataclass(frozen=True)
class Command:
    """python: the interpreter and its options; one without a folder is that of this process."""

    text: str
    environment: dict[str, str]
    python: tuple[str, ...]
    is_module: bool
    program: tuple[str, ...]

    @staticmethod
    def read(text: str) -> Command:
        """Raises ValueError: for what names no program."""
        words = shlex.split(text)
        environment = {}
        while words and _VARIABLE.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        python, is_module = [sys.executable], False
        if words and _PYTHON.fullmatch(os.path.basename(words[0])):
            word = words.pop(0)
            python = [word] if os.path.dirname(word) else python
        while words and words[0].startswith("-") and not is_module:
            option = words.pop(0)
            if option in ("-c", "-"):
                raise ValueError("the program must be in a file or a module")
            if option == "-m":
                is_module = True
                break
            python += [option, *([words.pop(0)] if option in _TAKE_ONE and words else [])]
        if not words:
            raise ValueError("it names no program")
        return Command(text, environment, tuple(python), is_module, tuple(words))

    @staticmethod
    def of(program: Sequence[str], is_module: bool) -> Command:
        """Of a program that is known, in this process' environment."""
        return Command(shlex.join(program), {}, (sys.executable,), is_module, tuple(program))

    def start(self, module: str, *arguments: str, **environment: str) -> int:
        """Runs a module of ours as the command's interpreter does; its exit status. What it prints are errors.

        environment: variables that count before those of this process and of the command.
        """
        inherited = {name: value for name, value in os.environ.items() if name != "REPDL_RUN"}
        with unwound():
            return subprocess.run(
                [*self.python, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=2,
                env=inherited | self.environment | environment,
                check=False,
            ).returncode

    def record(self, path: Path, steps: range, window: Window) -> int:
        """Records the ops of some steps and of a window, and does not go on after them."""
        how = "module" if self.is_module else "script"
        which = str(steps.start), str(steps.stop), ":".join(map(str, window))
        return self.start("repdl.runs.stretch", str(path), *which, how, *self.program)
