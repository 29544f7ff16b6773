# SPDX-License-Identifier: MIT
"""Single lines that may mend a difference: told are those with which it was tried again and gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from repdl.experiments import devices, settings
from repdl.experiments.call import Call
from repdl.experiments.engine import Engine
from repdl.experiments.variations import BATCH, DEVICE, INSTRUCTIONS, KINDS, LAYOUT, PRECISION, PROCESS, RUN, THREADS
from repdl.interception import choices, switch

Found = tuple[str, str]
"""An op, and a kind in which it varies."""


@dataclass(frozen=True)
class Remedy:
    """A line, what it does for a while, whether that is in force already, and for which kinds it is tried.

    on: "cpu" or "device" for calls there alone, but for those that differ between the two.
    """

    line: str
    block: Callable[[], AbstractContextManager[None]]
    in_force: Callable[[], bool]
    kinds: tuple[str, ...]
    on: str = ""

    def is_for(self, call: Call, kind: str) -> bool:
        place = "cpu" if call.device == devices.CPU else "device"
        return kind in self.kinds and (kind == DEVICE or self.on in ("", place))


def _choice(choice: choices.Choice, value: Any, *kinds: str) -> Remedy:
    def in_force() -> bool:
        return choice.now() in (value, None)

    return Remedy(choice.line.format(value), lambda: choice.made(value), in_force, kinds, choice.on)


ONE_THREAD = Remedy(
    "torch.set_num_threads(1)",
    lambda: settings.threads(1),
    lambda: torch.get_num_threads() == 1,
    (RUN, THREADS, LAYOUT, BATCH),
    "cpu",
)
REMEDIES = (
    Remedy("repdl.enable()", lambda: switch.reproducible("error"), switch.is_enabled, KINDS),
    _choice(choices.DETERMINISTIC, True, RUN, THREADS, LAYOUT, BATCH, PROCESS, INSTRUCTIONS),
    ONE_THREAD,
    *(_choice(choice, choice.values[0], PRECISION, DEVICE) for choice in choices.CHOICES if choice.fewer),
    _choice(choices.CUDNN_DETERMINISTIC, True, RUN, PROCESS),
)


Progress = Callable[[str], None]
"""Is told which line is tried."""


def mending(
    engine: Engine, found: Mapping[Found, Call], progress: Progress = lambda line: None
) -> dict[Found, list[str]]:
    """For calls that differ in a kind the lines with which they no longer do.

    Each line is put in force once, for all of them, since that of this library takes over all of torch's kernels.
    """
    lines: dict[Found, list[str]] = {key: [] for key in found}
    for remedy in REMEDIES:
        wanted = {key: call for key, call in found.items() if remedy.is_for(call, key[1])}
        if not wanted or remedy.in_force():
            continue
        progress(remedy.line)
        with ExitStack() as stack:
            try:
                stack.enter_context(remedy.block())
            except (ValueError, RuntimeError):  # a line that raises in this program mends nothing
                continue
            for key, call in wanted.items():
                if _is_gone(remedy, engine, call, key[1]):
                    lines[key].append(remedy.line)
    return lines


def _is_gone(remedy: Remedy, engine: Engine, call: Call, kind: str) -> bool:
    """That of one thread leaves no other number of threads to try, and of all bits maybe no other precision."""
    taken_away = remedy is ONE_THREAD and kind == THREADS
    trial = engine.trial(call, {RUN} if taken_away else {RUN, kind})
    shown = trial.get(RUN if taken_away or kind == PRECISION else kind)
    return shown is not None and shown.tried and not any(outcome.found for outcome in trial.values())
