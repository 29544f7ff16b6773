# SPDX-License-Identifier: MIT
"""A process in which calls are made again: reads a line of JSON for each, and answers with one.

Its environment is another one than the program's. A line has the descriptor of the file with the tensors, among them
the expected results, so that only what differs has to be told.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch

from repdl.conformance.libraries import load
from repdl.experiments import wire
from repdl.experiments.call import Call, View
from repdl.experiments.compare import Answer
from repdl.experiments.settings import State


def op_named(name: str, overload: str) -> torch._ops.OpOverload:
    namespace, _, packet = name.partition("::")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)  # type: ignore[no-any-return]


class _Settings:
    """Those of the call before stay until others are asked for."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.undo = contextlib.ExitStack()

    def take(self, state: State) -> None:
        if state != self.state:
            self.undo.close()
            self.undo.enter_context(state.in_force())
            self.state = state


def _answer(line: dict[str, Any], settings: _Settings) -> Answer:
    for what in line["load"]:
        load(what)
    try:
        op = op_named(*line["op"])
        enabled = line["state"].pop("enabled")
        settings.take(State(**line["state"], enabled=enabled and tuple(enabled)))
    except (AttributeError, ValueError) as error:
        return Answer(refused=str(error))
    args, kwargs, views, memory, random, expected = wire.read(line["file"], line["value"])
    try:
        memory = [part.to(place) for part, place in zip(memory, line["places"], strict=True)]
    except (RuntimeError, AssertionError) as error:  # AssertionError: of a torch without that device
        return Answer(refused=str(error))
    got = Call(op, args, kwargs, [View(*view) for view in views], memory, random, line["device"]).attempt()
    return Answer.to(expected, got, line["hashing"])


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answers the lines of the input to its end."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    for text in sys.stdin:
        line = json.loads(text)
        print(json.dumps({"number": line["number"]} | answer(line)), file=output, flush=True)


def main() -> None:
    settings = _Settings()
    serve(lambda line: asdict(_answer(line, settings)))


if __name__ == "__main__":
    main()
