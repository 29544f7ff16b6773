# SPDX-License-Identifier: MIT
"""Processes with other instruction sets, and one with the same, each of which serves all calls to its end."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from types import TracebackType
from typing import Any

from repdl import _core
from repdl.conformance.libraries import loaded
from repdl.conformance.settings import LIBRARIES_HELD_BACK, Setting
from repdl.experiments import wire
from repdl.experiments.call import Call, Results
from repdl.experiments.compare import Answer
from repdl.experiments.settings import State
from repdl.interception.machine import CAPABILITIES, CAPABILITY

SAME = Setting("another process")
SECONDS = 300
"""Of silence, after which a process is taken to hang."""

SHARED = Path("/dev/shm")
"""Memory with the names of files, where there is such a folder."""

MOST_ENDS = 3
"""How often a process that makes calls of a program may end or hang."""


def instruction_sets() -> list[Setting]:
    """torch's below that of this process, each with a target of ours, and libraries held back."""
    targets = _core.supported_targets()
    found = [
        Setting(
            f"ATEN_CPU_CAPABILITY={name}",
            {"ATEN_CPU_CAPABILITY": name, "REPDL_TARGET": name if name in targets else targets[-1]},
        )
        for name in CAPABILITIES
        if name != CAPABILITY
    ]
    return [*found, Setting("MKL and oneDNN held back", LIBRARIES_HELD_BACK)]


class Worker:
    """module: what the process runs; most_ends: how often it may end or hang before it is no more begun."""

    def __init__(self, setting: Setting, module: str, most_ends: int) -> None:
        self.setting, self.module, self.most_ends = setting, module, most_ends
        self.process: subprocess.Popen[bytes] | None = None
        self.ends = 0
        self.rest = b""

    def begin(self, file: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[file],
            env=self.setting.of_process(),
            start_new_session=True,  # an interrupt from the terminal is for the program
        )

    def ask(self, line: bytes, file: int) -> None:
        if self.ends >= self.most_ends:
            return
        if self.process is None:
            self.begin(file)
        assert self.process is not None and self.process.stdin is not None
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # told by `answer`

    def answer(self, number: int) -> dict[str, Any]:
        """That to the question of this number; those before it, for which nobody waited, are passed over."""
        if self.process is None:
            return {"refused": "its process ended too often"}
        told: dict[str, Any] = {"number": -1}
        while told["number"] != number:
            text = self._line()
            if text is None:
                self.end()
                self.ends += 1
                return {"refused": "its process ended, or took too long"}
            told = json.loads(text)
        return told

    def _line(self) -> bytes | None:
        assert self.process is not None and self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            ready, _, _ = select.select([descriptor], [], [], SECONDS)
            read = os.read(descriptor, 1 << 16) if ready else b""
            if not read:
                return None
            self.rest += read
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process, self.rest = None, b""


class Workers:
    """Those of some settings; they begin together, at the first question."""

    def __init__(
        self, settings: Sequence[Setting], module: str = "repdl.experiments.worker", most_ends: int = MOST_ENDS
    ) -> None:
        self.workers = [Worker(setting, module, most_ends) for setting in settings]
        # Without a name, so that nothing is left of it however this process ends.
        folder = SHARED if os.access(SHARED, os.W_OK) else None
        self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed by __exit__)
        self.load: dict[str, list[str]] = {}
        self.number = 0
        self.asked = self.workers
        self.process = os.getpid()

    def send(self, question: dict[str, Any], value: Any, only: Collection[str] | None = None) -> None:
        """Asks them, all or those of some settings; the tensors of the value are in the file. `replies` must be called
        next."""
        self.number += 1
        line = question | {"number": self.number, "file": self.file.fileno(), "value": wire.write(self.file, value)}
        self.asked = [worker for worker in self.workers if only is None or worker.setting.name in only]
        for worker in self.asked:
            worker.ask(json.dumps(line).encode() + b"\n", self.file.fileno())

    def replies(self) -> dict[str, dict[str, Any]]:
        """To the last question, by the name of the setting; "refused" says why there is none."""
        return {worker.setting.name: worker.answer(self.number) for worker in self.asked}

    def ask(
        self,
        call: Call,
        expected: Results,
        state: State | None = None,
        hashing: bool = False,
        only: Collection[str] | None = None,
    ) -> None:
        """Has them make the call, in the settings of this process or others; `answers` must be called next."""
        name, overload = call.op._schema.name, call.op._schema.overload_name or "default"
        question = {
            "op": [name, overload],
            "load": self._libraries(name.partition("::")[0]),
            "state": asdict(state or State.now()),
            "hashing": hashing,
            "device": call.device,
            "places": [str(part.device) for part in call.memory],
        }
        views = [astuple(view) for view in call.views]
        self.send(question, (call.args, call.kwargs, views, call.memory, call.random, expected), only)

    def answers(self) -> dict[str, Answer]:
        """To the last call, by the name of the setting."""
        return {name: Answer.read(told) for name, told in self.replies().items()}

    def _libraries(self, namespace: str) -> list[str]:
        if namespace not in self.load:
            ours = {"aten": [], "prims": [], "repdl": ["repdl._torch"]}
            self.load[namespace] = ours[namespace] if namespace in ours else loaded(namespace)
        return self.load[namespace]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if os.getpid() == self.process:  # of one that the program forks they are not
            for worker in self.workers:
                worker.end()
        self.file.close()
