# SPDX-License-Identifier: MIT
"""Single lines that may mend a difference: told are those with which it was tried again and gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import torch

from repdl.experiments import settings
from repdl.experiments.call import Call
from repdl.experiments.engine import Engine
from repdl.experiments.variations import BATCH, INSTRUCTIONS, KINDS, LAYOUT, PRECISION, PROCESS, RUN, THREADS
from repdl.interception import switch

Found = tuple[str, str]
"""An op, and a kind in which it varies."""


@dataclass(frozen=True)
class Remedy:
    """A line, what it does for a while, whether that is in force already, and for which kinds it is tried."""

    line: str
    block: Callable[[], AbstractContextManager[None]]
    in_force: Callable[[], bool]
    kinds: tuple[str, ...]


ONE_THREAD = Remedy(
    "torch.set_num_threads(1)",
    lambda: settings.threads(1),
    lambda: torch.get_num_threads() == 1,
    (RUN, THREADS, LAYOUT, BATCH),
)
REMEDIES = (
    Remedy("repdl.enable()", lambda: switch.reproducible("error"), switch.is_enabled, KINDS),
    Remedy(
        "torch.use_deterministic_algorithms(True)",
        settings.deterministic,
        torch.are_deterministic_algorithms_enabled,
        (RUN, THREADS, LAYOUT, BATCH, PROCESS, INSTRUCTIONS),
    ),
    ONE_THREAD,
    Remedy(
        'torch.set_float32_matmul_precision("highest")',
        lambda: settings.precision("highest"),
        lambda: torch.get_float32_matmul_precision() == "highest",
        (PRECISION,),
    ),
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
        wanted = {key: call for key, call in found.items() if key[1] in remedy.kinds}
        if not wanted or remedy.in_force():
            continue
        progress(remedy.line)
        # A line that raises in this program mends nothing.
        with suppress(ValueError), remedy.block():
            for key, call in wanted.items():
                if _is_gone(remedy, engine, call, key[1]):
                    lines[key].append(remedy.line)
    return lines


def _is_gone(remedy: Remedy, engine: Engine, call: Call, kind: str) -> bool:
    """That of one thread leaves no other number of threads to try, and that of all bits no other precision."""
    taken_away = (remedy is ONE_THREAD and kind == THREADS) or kind == PRECISION
    trial = engine.trial(call, {RUN} if taken_away else {RUN, kind})
    shown = trial.get(RUN if taken_away else kind)
    return shown is not None and shown.tried and not any(outcome.found for outcome in trial.values())
