# SPDX-License-Identifier: MIT
"""A process of the sweep, in one setting: reads a job from its input and writes a line of JSON for each trial.

The job names the entries and dtypes, and the role: "base" compares layouts, threads, forms and rows, and asks stock
torch what is right; "other" gives digests, to be compared with those of other processes; "audit" gives classes.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any, TextIO

import torch

import repdl
from repdl.conformance.layouts import LAYOUTS
from repdl.conformance.torch_sweep import calls
from repdl.conformance.torch_sweep.accuracy import (
    gradient_is_free,
    is_breach,
    is_hardly_defined,
    without_poles,
    wrong,
)
from repdl.conformance.torch_sweep.database import Entry, entries
from repdl.conformance.torch_sweep.exact_values import STOCK_FLOAT64_IS_OFF, STOCK_IS_OFF, wrong_function
from repdl.conformance.torch_sweep.layouts import HOLDS_NOTHING, LAYOUT_IS_ASKED, NO_ROWS, laid_out, rows
from repdl.conformance.torch_sweep.samples import Sample, spread_evenly
from repdl.conformance.torch_sweep.stock import Stock, ask_stock, attempt, gradients, row_of
from repdl.conformance.torch_sweep.trials import AMOUNTS, Amount, Trial, trials

MEMORY = 12 * 2**30
"""Bytes of address space: a call that wants more is an error, and no sample."""

SECONDS = {"base": 2.0, "other": 1.0, "audit": 1.0}
"""By role: after so long, in time of the CPU, the rest of the trials of an entry and dtype is left out."""

TOGETHER = 16
"""Of so many entries and dtypes stock torch is asked at once, since it takes 50 ms to disable and enable repdl."""

ROWS = (0, 1, -1)
"""Of the batch, in turn."""

ANOTHER_WITH_GRADIENT = (
    "nn.functional.linear_cross_entropy.chunked",
    "nn.functional.linear_cross_entropy.chunked_none",
)
"""Functions that torch writes in Python, as one algorithm without a gradient and another with one."""

Line = dict[str, Any]


class _Worker:
    def __init__(self, job: dict[str, Any], output: Any) -> None:
        self.role: str = job["role"]
        self.amount: Amount = AMOUNTS[job["amount"]]
        self.output = output
        self.seconds = SECONDS[self.role]
        self.skip = {tuple(names) for names in job["skip"]}

    def write(self, line: Line) -> None:
        self.output.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.output.flush()

    def run(self, pairs: list[tuple[Entry, str]]) -> None:
        for i in range(0, len(pairs), TOGETHER):
            some = pairs[i : i + TOGETHER]
            if self.role == "base":
                given = self.with_stock(some)
            else:
                given = [[(trial, None) for trial in self.trials_of(*pair)] for pair in some]
            for (entry, dtype), tries in zip(some, given):
                self.write({"start": [entry.name, dtype]})
                self.try_all(entry, dtype, tries)

    def with_stock(self, pairs: list[tuple[Entry, str]]) -> list[list[tuple[Trial, Stock | None]]]:
        """The trials, and what stock torch makes of them."""
        tries = [self.trials_of(*pair) for pair in pairs]
        torch.set_num_threads(1)
        repdl.disable()
        try:
            return [self.stocks(*pair, given) for pair, given in zip(pairs, tries)]
        finally:
            repdl.enable()

    def stocks(self, entry: Entry, dtype: str, tries: list[Trial]) -> list[tuple[Trial, Stock | None]]:
        found: list[tuple[Trial, Stock | None]] = []
        begin = time.process_time()
        for i, trial in enumerate(tries):
            if time.process_time() - begin > self.seconds:
                self.write({"cut": [entry.name, dtype], "trials": len(tries) - i})
                break
            if (entry.name, dtype, trial.label) in self.skip:
                continue
            self.write({"stock": [entry.name, dtype, trial.label]})
            row = None if entry.name in NO_ROWS else ROWS[i % len(ROWS)]
            found.append((trial, ask_stock(trial.sample, getattr(torch, dtype), entry.differentiable(dtype), row)))
        if any(stock.random for _, stock in found if stock is not None):
            for _, stock in found:  # of zeros, say, the result does not show it, but the gradient does
                if stock is not None:
                    stock.random = True
        return found

    def try_all(self, entry: Entry, dtype: str, tries: list[tuple[Trial, Stock | None]]) -> None:
        begin = time.process_time()
        for number, (trial, stock) in enumerate(tries):
            if time.process_time() - begin > self.seconds:
                self.write({"cut": [entry.name, dtype], "trials": len(tries) - number})
                break
            line: Line = {"entry": entry.name, "dtype": dtype, "case": trial.label}
            if stock is not None and stock.error is not None:
                self.write(line | {"status": "no sample"})
                continue
            try:
                self.write(line | _Run(entry, trial, number, entry.differentiable(dtype), stock).line())
            except Exception as error:  # of the sweep itself, which must go on
                traceback.print_exc()
                failure = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                self.write(line | {"inputs": "", "status": "fails", "breaks": {"sweep": failure}})

    def trials_of(self, entry: Entry, dtype: str) -> list[Trial]:
        try:
            with repdl.allow_native("samples"):
                return list(trials(entry.name, list(entry.samples(dtype)), dtype, self.amount))
        except Exception as error:
            self.write({"no samples": [entry.name, dtype], "error": f"{type(error).__name__}: {error}"[:200]})
            return []


class _Run:
    """One trial, under `repdl.enable()`. Its number chooses the layouts."""

    def __init__(self, entry: Entry, trial: Trial, number: int, differentiable: bool, stock: Stock | None) -> None:
        self.entry, self.trial, self.sample, self.stock = entry, trial, trial.sample, stock
        self.number = number
        self.differentiable = differentiable
        self.bits: dict[str, str] = {}
        self.raises: list[str] = []
        self.breaks: dict[str, str] = {}
        self.differs: list[tuple[str, str]] = []
        self.wrong: dict[str, str] = {}

    def line(self) -> Line:
        torch.set_num_threads(3 if self.stock is None and self.trial.is_large else 1)
        line: Line = {"inputs": calls.digest((self.sample.args, self.sample.kwargs))}
        forward = self.attempt("forward", lambda: calls.forward(self.sample))
        if "forward" not in self.bits:
            return line | {"status": "raises" if self.raises else "fails", "breaks": self.breaks}
        both = self.gradient("gradient", self.sample)
        if self.stock is not None:
            self.forms(forward, self.stock)
            self.judge(forward, both)
            self.vary(forward, self.stock.row)
        line |= {"status": "ok", "bits": self.bits}
        more = {"raises": self.raises, "breaks": self.breaks, "differs": self.differs, "wrong": self.wrong}
        return line | {name: value for name, value in more.items() if value}

    def attempt(self, form: str, call: Any) -> Any:
        """The result, of which the digest is kept; None after an error, which is kept too."""
        try:
            result = call()
            self.bits[form] = calls.digest(gradients(result) if form == "gradient" else result)
            return result
        except repdl.NotReproducibleError as error:
            self.raises.append(form)
            del error
        except Exception as error:
            if is_breach(self.trial.label, type(error).__name__):
                self.breaks[form] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return None

    def gradient(self, form: str, sample: Sample) -> Any:
        if not self.differentiable or (self.stock is not None and self.stock.gradient is None):
            return None
        both = self.attempt(form, lambda: calls.gradient(sample))
        if both is None:
            if self.bits.get(form) == calls.digest(None):
                del self.bits[form]
            return None
        asked = not calls.writes(sample) and self.entry.name not in ANOTHER_WITH_GRADIENT
        if asked and calls.digest(both[0]) != self.bits["forward"]:
            self.differs.append(("forward", "with a gradient"))
        return both

    def forms(self, forward: Any, stock: Stock) -> None:
        first = self.sample.args[0] if self.sample.args else None
        if self.sample.in_place is not None and "in place" in stock.forms:
            self.attempt("in place", lambda: calls.in_place(self.sample, self.sample.in_place))
            alike = (
                isinstance(forward, torch.Tensor) and isinstance(first, torch.Tensor) and forward.dtype == first.dtype
            )
            self.compare("in place", forward if alike else None)
        if self.sample.out and "out" in stock.forms:
            self.attempt("out", lambda: calls.into(self.sample, forward, False))
            self.compare("out", forward)
            stepped, error = attempt(calls.into, self.sample, forward, True)
            if error is None and calls.digest(stepped) != calls.digest(_as_out(forward)):
                self.differs.append(("out", "stepped"))

    def compare(self, form: str, forward: Any) -> None:
        if forward is not None and form in self.bits and self.bits[form] != calls.digest(_as_out(forward)):
            self.differs.append((form, "not as forward"))

    def judge(self, forward: Any, both: Any) -> None:
        """Compares with the exact values, as far as they are known."""
        stock = self.stock
        if stock is None or stock.random or self.entry.name.startswith(HOLDS_NOTHING):
            return
        if is_hardly_defined(self.entry.name, self.trial.label):
            return
        one = not self.trial.is_large and len(self.sample.tensors()) == 1 and isinstance(forward, torch.Tensor)
        terms = max((x.numel() for x in self.sample.tensors()), default=1)
        with torch.no_grad():
            if one:
                self.told("forward", wrong_function, self.entry.name, self.sample.tensors()[0], forward)
            off = STOCK_FLOAT64_IS_OFF if stock.wide is None else STOCK_IS_OFF
            if self.entry.name.startswith(off):
                return
            values = [None if x is None else self.sample.reduced(x) for x in (forward, stock.forward, stock.wide)]
            values = without_poles(self.entry.name, self.sample, values)
            self.told("forward", wrong, self.entry.name, *values, self.entry.elementwise, terms)
            has_equals = self.trial.is_large or any(x.itemsize == 2 for x in self.sample.tensors())
            is_complex = any(x.is_complex() for x in self.sample.tensors())
            free = gradient_is_free(self.entry.name, self.trial.label, has_equals, stock.wide is None, is_complex)
            if both is not None and stock.gradient is not None and not free:
                found = gradients(both), stock.gradient, stock.wide_gradient
                self.told("gradient", wrong, self.entry.name, *found, False, terms)
        if self.wrong and self.draws():
            self.wrong.clear()

    def told(self, form: str, judge: Any, *arguments: Any) -> None:
        text, _ = attempt(judge, *arguments)
        if text is not None:
            self.wrong.setdefault(form, text)

    def draws(self) -> bool:
        """Whether random numbers are drawn."""
        again, _ = attempt(calls.forward, self.sample, calls.SEED + 1)
        return calls.digest(again) != self.bits["forward"]

    def vary(self, forward: Any, row: int | None) -> None:
        """Threads, layouts and rows must not change a bit."""
        large = self.trial.is_large
        if large:
            self.again("7 threads", self.sample, 7)
        if self.entry.name.startswith(LAYOUT_IS_ASKED):
            self.again("3 threads", self.sample, 3)
        else:
            self.again("stepped, 3 threads", laid_out(self.sample, "stepped") or self.sample, 3)
            for name, sample in islice(self.layouts(), 1 if large else 2):
                self.again(name, sample, 1)
        if row is not None and (alone := rows(self.sample, row)) is not None:
            found, error = attempt(calls.forward, alone)
            if error is None and calls.digest(row_of(forward, row)) != calls.digest(row_of(found, 0)):
                self.differs.append(("forward", f"row {row} alone"))

    def layouts(self) -> Iterator[tuple[str, Sample]]:
        """Those that change strides, beginning with another one in each trial."""
        ways = [(name, name, False) for name in LAYOUTS if name != "stepped"]
        ways.append(("first transposed", "transposed", True))
        for i in range(len(ways)):
            how, name, first_only = ways[(2 * self.number + i) % len(ways)]
            if (sample := laid_out(self.sample, name, first_only=first_only)) is not None:
                yield how, sample

    def again(self, how: str, sample: Sample, threads: int) -> None:
        """Calls once more in another way, and compares with the bits that are known."""
        torch.set_num_threads(threads)
        for form in ("forward", "gradient"):
            if form not in self.bits:
                continue
            call = calls.forward if form == "forward" else calls.gradient
            result, error = attempt(call, sample)
            if error is not None:
                if "NotReproducibleError" in error or self.stock_takes(form, sample):
                    self.breaks[f"{form}, {how}"] = error
            elif calls.digest(gradients(result) if form == "gradient" else result) != self.bits[form]:
                self.differs.append((form, how))
        torch.set_num_threads(1)

    def stock_takes(self, form: str, sample: Sample) -> bool:
        """Whether stock torch has no error for a call for which ours has one."""
        if self.stock is None:
            return False
        repdl.disable()
        try:
            call = calls.forward if form == "forward" else calls.gradient
            return attempt(call, sample)[1] is None
        finally:
            repdl.enable()


def _as_out(result: Any) -> Any:
    return tuple(result) if isinstance(result, (list, tuple)) else result


def _audited(entry: Entry, dtype: str, amount: Amount, recorder: Any) -> Line:
    """The classes of the samples as they are: numbers do not decide which kernel is called."""
    from repdl.interception.classes import Counted
    from repdl.interception.report import Report

    with recorder.hidden():
        samples = attempt(lambda: list(entry.samples(dtype)))[0] or []
    found, begin = Counted(), time.process_time()
    for sample in spread_evenly(samples, amount.plain):
        for call in (calls.forward, calls.gradient) if entry.differentiable(dtype) else (calls.forward,):
            recorder.report = Report()
            if attempt(call, sample)[1] is None:
                found.add(recorder.report)
        if time.process_time() - begin > SECONDS["audit"]:
            break
    return {"entry": entry.name, "dtype": dtype, "classes": found.words()}


def read_job() -> tuple[dict[str, Any], TextIO]:
    """The job of this process, which is then held to its memory, and where the lines of its answer go."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no line of ours
    job: dict[str, Any] = json.loads(sys.stdin.read())
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return job, output


def main() -> None:
    job, output = read_job()
    known = entries(job["source"])
    worker = _Worker(job, output)
    pairs = [(known[name], dtype) for name, dtype in job["pairs"]]
    if job["role"] == "audit":
        from repdl.interception.recording import recording

        with recording() as recorder:
            for entry, dtype in pairs:
                worker.write({"start": [entry.name, dtype]})
                worker.write(_audited(entry, dtype, worker.amount, recorder))
        return
    repdl.enable()
    worker.run(pairs)


if __name__ == "__main__":
    main()
