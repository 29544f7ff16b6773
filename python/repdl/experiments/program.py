# SPDX-License-Identifier: MIT
"""Makes the calls of a running program again, in this thread and in the backward passes that it starts."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import torch
from torch.utils._pytree import tree_leaves

from repdl.experiments.call import Call, UntriedError, key, take
from repdl.experiments.engine import Engine
from repdl.experiments.measurement import Measurement, Origin
from repdl.experiments.remedies import mending
from repdl.experiments.variations import KINDS, RUN
from repdl.interception import places, settings
from repdl.interception.origins import Origins
from repdl.interception.untraced import UntracedMode

TIMES = 2
"""Of calls that are alike but for their numbers, so many are made again."""

NO_NUMBERS = ("empty", "new_empty", "resize", "set_", "_local_scalar_dense", "record_stream", "_resize", "_assert")
"""Names of ops begin so whose results are memory as it was found, or no tensors."""

PASSED_OVER = ("profiler", "c10d", "_c10d_functional", "symm_mem", "debugprims")
"""Namespaces of ops that compute nothing, or need other processes."""


class Progress(Protocol):
    """Is told what is tried, an op or a line, and what is known so far."""

    def __call__(self, what: str, /, so_far: Measurement) -> None: ...


@places.edge
def measure(
    fn_or_model: Callable[..., Any],
    *inputs: Any,
    backward: bool = True,
    kinds: Collection[str] = KINDS,
    times: int = TIMES,
) -> Measurement:
    """Calls a function or model with torch's own kernels, and makes each call of an op again in other settings.

    Each op gets the inputs that it had: again, with 1, 2, 3 and 7 threads, in other layouts of memory, with fewer
    entries in the batch, in another process, in others with other instruction sets, and on a GPU, if torch sees one,
    or on the CPU, if it was on a GPU. The result tells which ops
    gave other bits in which of these, where they were called, how far the results were apart, and which single line
    was tried and mends that. Where the program has called `repdl.enable()`, our kernels are measured. Buffers of a
    model and gradients are changed as by any call.

    Args:
        fn_or_model: called with the inputs.
        inputs: its arguments.
        backward: whether to call backward, on the sum of the floating-point outputs that require a gradient.
        kinds: what to vary, of `repdl.experiments.KINDS`.
        times: how many calls are made again of those that are alike but for their numbers.
    """
    with Engine(kinds) as engine, measuring(engine, times) as measurement:
        outputs = fn_or_model(*inputs)
        wanted = [t for t in tree_leaves(outputs) if isinstance(t, torch.Tensor) and t.requires_grad]
        if backward and wanted:
            torch.autograd.backward(wanted, [torch.ones_like(t) for t in wanted])
    return measurement


@contextmanager
def measuring(
    engine: Engine, times: int = TIMES, progress: Progress = lambda what, so_far: None
) -> Iterator[Measurement]:
    """Measures in a block, but for processes that it forks; the result is complete when it ends."""
    begin, process = time.monotonic(), os.getpid()
    measurement = Measurement()
    not_wanted = set(KINDS) - {RUN, *engine.kinds}
    measurement.without = dict.fromkeys(not_wanted, "that was not asked for") | engine.without
    try:
        settings.watch = measurement.ran_eagerly
        mode = _Measuring(engine, measurement, times, progress)
        with settings.eager(), mode.origins.followed(), mode:
            yield measurement
    finally:
        settings.watch = None
        if os.getpid() == process:
            try:
                _find_mending(engine, measurement, progress)
            finally:  # also if it is interrupted
                measurement.seconds = time.monotonic() - begin


def _find_mending(engine: Engine, measurement: Measurement, progress: Progress) -> None:
    tell = partial(progress, so_far=measurement)
    for (op, kind), lines in mending(engine, measurement.first, tell).items():
        measurement.ops[op].varies[kind].mends = lines
    measurement.first.clear()


class _Measuring(UntracedMode):
    def __init__(self, engine: Engine, measurement: Measurement, times: int, progress: Progress) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.engine, self.measurement, self.times, self.progress = engine, measurement, times, progress
        self.origins = Origins(has_plain_model=False)
        self.seen: Counter[Any] = Counter()
        self.process = os.getpid()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not _computes(func) or os.getpid() != self.process:  # one that the program forks, such as a DataLoader's
            return func(*args, **kwargs)
        op, origin = func.name(), self._origin()
        measured = self.measurement.met(op, origin)
        try:
            call = self._wanted(func, args, kwargs)
        except UntriedError as error:
            measured.left_out(str(error))
            call = None
        result = func(*args, **kwargs)
        if call is not None:
            self.progress(op, self.measurement)
            self.measurement.add(op, call, self.engine.trial(call), origin)
        return result

    def _origin(self) -> Origin:
        node = torch._C._current_autograd_node()
        module, line = self.origins.here(node)
        return (f"{line} (backward)" if line and node is not None else line or places.place()), module

    def _wanted(self, func: Any, args: Any, kwargs: Any) -> Call | None:
        """The call, if few like it have been made again."""
        alike = key(func, args, kwargs)
        self.seen[alike] += 1
        most = self.times if len(alike) > 1 else 1
        return take(func, args, kwargs) if self.seen[alike] <= most else None


def _computes(func: Any) -> bool:
    if not isinstance(func, torch._ops.OpOverload) or func.namespace in PASSED_OVER:
        return False
    name = func._schema.name.partition("::")[2]
    views = any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)
    return not (views or func.is_view or name.startswith(NO_NUMBERS) or torch.Tag.inplace_view in func.tags)
