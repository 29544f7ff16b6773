# SPDX-License-Identifier: MIT
"""Makes a call again in every way of this process, and tells how far its results are apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

import repdl
from repdl.conformance.layouts import LAYOUTS, is_dense
from repdl.conformance.torch_sweep import calls
from repdl.conformance.torch_sweep.accuracy import widened
from repdl.conformance.torch_sweep.layouts import LAYOUT_IS_ASKED, NO_ROWS, laid_out, rows
from repdl.conformance.torch_sweep.samples import Sample
from repdl.conformance.torch_sweep.stock import attempt, close, is_random, is_row
from repdl.experiments.compare import Difference, difference
from repdl.experiments.settings import threads
from repdl.experiments.variations import leave_behind
from repdl.status.table import BACKWARD, BATCH, DEVICE, FORWARD, LAYOUT, NO_NUMBER, RUN, THREADS

Parts = list[Any]
"""What a call gave: dense tensors, numbers, and what else there is in words."""

Results = dict[str, Parts]
"""By direction."""

MOST_SECONDS = 0.08
"""Of a call; a slower one is not made again."""

LONG = 3 * MOST_SECONDS
"""Of a first call of torch with its gradient; one that takes longer gives way to another."""

MANY_THREADS = 7
ROW = 1
"""Of the batch, alone."""


@dataclass(frozen=True)
class Call:
    """differentiable: whether torch gives gradients. row: whether one alone must be a row of the whole.
    rows_gradient: whether so is the gradient."""

    sample: Sample
    differentiable: bool
    row: bool = False
    rows_gradient: bool = False


@dataclass(frozen=True)
class Again:
    """One way: of which kind, its name, what it must give and what it gave."""

    kind: str
    name: str
    expected: Results
    got: Results


def results(call: Call, weights_of: Callable[[torch.Tensor], torch.Tensor] = calls.weights) -> Results:
    both = calls.gradient(call.sample, weights_of) if call.differentiable else None
    if both is None:
        return {FORWARD: _parts(calls.forward(call.sample))}
    return {FORWARD: _parts(both[0]), BACKWARD: _parts(both[1])}


def _parts(values: Any) -> Parts:
    found: Parts = []
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor):
            found += [_plain(part.detach()) for part in calls.parts(leaf)]
        else:
            found.append(leaf if leaf is None or isinstance(leaf, (bool, int, float, complex)) else str(leaf))
    return found


def _plain(x: torch.Tensor) -> torch.Tensor:
    x = x.cpu().resolve_conj().resolve_neg()
    return x.clone() if x._is_zerotensor() else x


def taken(sample: Sample, name: str, dtype: str, differentiable: bool) -> Call | None:
    """The call if torch takes it, and not for long; what is known of it without variations. Stock torch must be in
    force."""
    begin = time.process_time()
    forward, error = attempt(calls.forward, sample)
    if error is not None or time.process_time() - begin > LONG:
        return None
    both = attempt(calls.gradient, sample)[0] if differentiable else None
    if time.process_time() - begin > LONG:
        return None
    alone = rows(sample, ROW)
    if alone is None or name in NO_ROWS or _is_ambiguous(sample) or is_random(sample, forward):
        return Call(sample, both is not None)
    wide = widened(sample, getattr(torch, dtype), forward)
    exact, whole = (sample, forward) if wide is None else (wide, attempt(calls.forward, wide)[0])
    if whole is None or not attempt(is_row, exact, whole, ROW)[0]:
        return Call(sample, both is not None)
    return Call(sample, both is not None, True, both is not None and attempt(_gradient_is_row, exact)[0] is True)


def _is_ambiguous(sample: Sample) -> bool:
    """Whether a vector is as long as the batch and as another dimension, of which torch may not check that it is."""
    first, *others = sample.tensors() or [torch.empty(0)]
    batch = first.shape[:1]
    return any(x.shape == batch for x in others) and first.dim() > 1 and first.shape[0] in first.shape[1:]


def _gradient_is_row(sample: Sample) -> bool:
    again = row_alone(Call(sample, True), results(Call(sample, True)))
    pairs = list(zip(again.expected[BACKWARD], again.got[BACKWARD], strict=True))
    return any(x is not None for x, _ in pairs) and all(x is None or close(x, y) for x, y in pairs)


def row_alone(call: Call, whole: Results) -> Again:
    """Of gradients those of the rows alone are the same, and not those of what all rows have in common."""
    alone = rows(call.sample, ROW)
    assert alone is not None
    given = call.sample.tensors()
    count = given[0].shape[0]
    row = slice(ROW % count, ROW % count + 1)

    def weights_of(x: torch.Tensor) -> torch.Tensor:
        return calls.weights(x.new_empty((count, *x.shape[1:])))[row]

    got = results(Call(alone, BACKWARD in whole), weights_of)
    leaves = [x.shape != y.shape for x, y in zip(given, alone.tensors()) if x.is_floating_point() or x.is_complex()]
    expected = {FORWARD: [x[row] if isinstance(x, torch.Tensor) else x for x in whole[FORWARD]]}
    if BACKWARD in whole and BACKWARD in got:
        pairs = list(zip(leaves, whole[BACKWARD], got[BACKWARD], strict=True))
        expected[BACKWARD] = [x[row] if kept and x is not None else None for kept, x, _ in pairs]
        got[BACKWARD] = [y if kept and x is not None else None for kept, x, y in pairs]
    return Again(BATCH, "a row alone", expected, got)


def distance(expected: Parts, got: Parts) -> int | str | None:
    """In ulps; "x" if no number says it; None if there is none."""
    found = difference(expected, got) if len(expected) == len(got) else Difference(1, 1, None)
    return None if found is None else NO_NUMBER if found.ulps is None else found.ulps


class Trial:
    """A call in the column that is in force, with one thread.

    results: of the call. refused: why the column does not make it, by direction. slow: whether it takes too long to
    be made again.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self.refused: dict[str, str] = {}
        begin = time.process_time()
        self.results = self._first()
        self.again = self._try(call) or {}
        self.slow = (time.process_time() - begin) / 2 > MOST_SECONDS

    def _first(self) -> Results:
        try:
            return results(self.call)
        except Exception as error:
            refusal = _words(error)
        if self.call.differentiable:
            forward, error_forward = attempt(results, Call(self.call.sample, False))
            if error_forward is None:
                self.refused[BACKWARD] = refusal
                return {FORWARD: forward[FORWARD]}
        self.refused |= {FORWARD: refusal} | ({BACKWARD: refusal} if self.call.differentiable else {})
        return {}

    def _try(self, call: Call) -> Results | None:
        """None if there is an error: in this way torch does not take the call."""
        got: Results | None = attempt(results, Call(call.sample, BACKWARD in self.results))[0]
        return got

    def ways(self, name: str, gpu: str | None) -> Iterator[Again]:
        """Those of this process. What differs with one thread from run to run says nothing of other kinds."""
        whole = self.results
        yield Again(RUN, "another run", whole, self.again)
        leave_behind([part for parts in whole.values() for part in parts], 1, 3)
        yield from self._made(RUN, "a third run", self.call, whole)
        if any(distance(whole[d], self.again.get(d, whole[d])) is not None for d in whole):
            return
        with threads(MANY_THREADS):
            many = self._try(self.call)
            for number in (2, 3):
                if many is not None:
                    yield from self._made(RUN, f"run {number} with {MANY_THREADS} threads", self.call, many)
        if many is not None:
            yield Again(THREADS, f"{MANY_THREADS} threads", whole, many)
        for count in (2, 3):
            with threads(count):
                yield from self._made(THREADS, f"{count} threads", self.call, whole)
        if self.call.row:
            again = attempt(row_alone, self.call, whole)[0]
            if again is not None:
                if not self.call.rows_gradient:
                    again.got.pop(BACKWARD, None)
                yield again
        if not name.startswith(LAYOUT_IS_ASKED):
            seen = set()
            for layout in LAYOUTS:
                sample = laid_out(self.call.sample, layout)
                if sample is None or (strides := _strides(sample)) in seen:
                    continue
                seen.add(strides)
                yield from self._made(LAYOUT, layout, Call(sample, True), whole)
        if gpu is not None:
            yield from self._made(DEVICE, gpu, Call(_moved(self.call.sample, gpu), True), whole)

    def _made(self, kind: str, name: str, call: Call, expected: Results) -> Iterator[Again]:
        if (got := self._try(call)) is not None:
            yield Again(kind, name, expected, got)


def _strides(sample: Sample) -> tuple[Any, ...]:
    return tuple((x.stride(), x.storage_offset()) if is_dense(x) else () for x in sample.tensors())


def _words(error: Exception) -> str:
    name = "" if isinstance(error, repdl.NotReproducibleError) else f"{type(error).__name__}: "
    return f"{name}{error}".splitlines()[0][:200] if str(error) else type(error).__name__


def _moved(sample: Sample, gpu: str) -> Sample:
    """The call on a GPU, whose generator begins as that of the CPU does."""

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.to(gpu)
        return (
            torch.device(gpu) if isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf == "cpu") else leaf
        )

    def function(*args: Any, **kwargs: Any) -> Any:
        torch.manual_seed(calls.SEED)
        return sample.function(*args, **kwargs)

    moved = sample.mapped(move)
    return Sample(moved.label, function, moved.args, moved.kwargs, sample.reduced)
