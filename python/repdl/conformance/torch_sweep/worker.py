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
from typing import Any

import torch

import repdl
from repdl.conformance.layouts import LAYOUTS
from repdl.conformance.torch_sweep import calls
from repdl.conformance.torch_sweep.accuracy import wrong
from repdl.conformance.torch_sweep.database import Entry, entries
from repdl.conformance.torch_sweep.exact_values import STOCK_IS_OFF, wrong_function
from repdl.conformance.torch_sweep.layouts import LAYOUT_IS_ASKED, laid_out, rows
from repdl.conformance.torch_sweep.samples import Sample
from repdl.conformance.torch_sweep.stock import ROWS, Stock, ask_stock, attempt, gradients, row_of
from repdl.conformance.torch_sweep.trials import SHORT, WHOLE, Trial, trials

MEMORY = 12 * 2**30
"""Bytes of address space: a call that wants more is an error, and no sample."""

SECONDS = 40.0
"""After so long the rest of the trials of an entry and dtype is left out, and the line says so."""

Line = dict[str, Any]


class _Worker:
    def __init__(self, job: dict[str, Any], output: Any) -> None:
        self.role: str = job["role"]
        self.amount = SHORT if job["short"] else WHOLE
        self.output = output

    def write(self, line: Line) -> None:
        self.output.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.output.flush()

    def run(self, entry: Entry, dtype: str) -> None:
        self.write({"start": [entry.name, dtype]})
        begin = time.monotonic()
        try:
            tries = self.trials_of(entry, dtype)
        except Exception as error:
            self.write({"no samples": [entry.name, dtype], "error": f"{type(error).__name__}: {error}"[:200]})
            return
        differentiable = entry.differentiable(dtype)
        stocks = self.stocks(tries, dtype, differentiable) if self.role == "base" else [None] * len(tries)
        for number, (trial, stock) in enumerate(zip(tries, stocks)):
            if time.monotonic() - begin > SECONDS:
                self.write({"cut": [entry.name, dtype], "trials": len(tries) - number})
                break
            line: Line = {"entry": entry.name, "dtype": dtype, "case": trial.label}
            if stock is not None and stock.error is not None:
                self.write(line | {"status": "no sample"})
                continue
            try:
                self.write(line | _Run(entry, trial, differentiable, stock).line())
            except Exception as error:  # of the sweep itself, which must go on
                traceback.print_exc()
                failure = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                self.write(line | {"inputs": "", "status": "fails", "breaks": {"sweep": failure}})

    def trials_of(self, entry: Entry, dtype: str) -> list[Trial]:
        with repdl.allow_native("samples"):
            samples = list(entry.samples(dtype))
            return list(trials(entry.name, samples, dtype, self.amount))

    def stocks(self, tries: list[Trial], dtype: str, differentiable: bool) -> list[Stock | None]:
        torch.set_num_threads(1)
        self.write({"phase": "stock"})
        repdl.disable()
        try:
            return [ask_stock(trial.sample, getattr(torch, dtype), differentiable) for trial in tries]
        finally:
            repdl.enable()
            self.write({"phase": "ours"})


class _Run:
    """One trial, under `repdl.enable()`."""

    def __init__(self, entry: Entry, trial: Trial, differentiable: bool, stock: Stock | None) -> None:
        self.entry, self.trial, self.sample, self.stock = entry, trial, trial.sample, stock
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
        self.forms(forward)
        if self.stock is not None:
            self.judge(forward, both)
            self.vary(forward)
        elif not self.trial.is_large:
            self.again("stepped, 3 threads", laid_out(self.sample, "stepped"), 3)
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
        if calls.digest(both[0]) != self.bits["forward"] and not calls.writes(sample):
            self.differs.append(("forward", "with a gradient"))
        return both

    def forms(self, forward: Any) -> None:
        allowed = {"in place", "out"} if self.stock is None else self.stock.forms
        first = self.sample.args[0] if self.sample.args else None
        if self.sample.in_place is not None and "in place" in allowed:
            self.attempt("in place", lambda: calls.in_place(self.sample, self.sample.in_place))
            alike = (
                isinstance(forward, torch.Tensor) and isinstance(first, torch.Tensor) and forward.dtype == first.dtype
            )
            self.compare("in place", forward if alike else None)
        if self.sample.out and "out" in allowed:
            self.attempt("out", lambda: calls.into(self.sample, forward, False))
            self.compare("out", forward)
            if self.stock is not None:
                stepped, error = attempt(calls.into, self.sample, forward, True)
                if error is None and calls.digest(stepped) != calls.digest(_as_out(forward)):
                    self.differs.append(("out", "stepped"))

    def compare(self, form: str, forward: Any) -> None:
        if forward is not None and form in self.bits and self.bits[form] != calls.digest(_as_out(forward)):
            self.differs.append((form, "not as forward"))

    def judge(self, forward: Any, both: Any) -> None:
        """Compares with the exact values, as far as they are known."""
        stock = self.stock
        if stock is None or stock.random:
            return
        one = not self.trial.is_large and len(self.sample.tensors()) == 1 and isinstance(forward, torch.Tensor)
        with torch.no_grad():
            if one:
                self.told("forward", wrong_function, self.entry.name, self.sample.tensors()[0], forward)
            if self.entry.name in STOCK_IS_OFF:
                return
            values = [None if x is None else self.sample.reduced(x) for x in (forward, stock.forward, stock.wide)]
            self.told("forward", wrong, *values, self.entry.elementwise)
            if both is not None and stock.gradient is not None:
                self.told("gradient", wrong, gradients(both), stock.gradient, stock.wide_gradient, False)
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

    def vary(self, forward: Any) -> None:
        """Threads, layouts and rows must not change a bit."""
        large = self.trial.is_large
        for threads in (2, 3, 7) if large else (3,):
            self.again(f"{threads} threads", self.sample, threads)
        if not self.entry.name.startswith(LAYOUT_IS_ASKED):
            for name in ("transposed", "stepped") if large else LAYOUTS:
                self.again(name, laid_out(self.sample, name), 3 if large else 1)
            if not large:
                self.again("first transposed", laid_out(self.sample, "transposed", first_only=True), 1)
        if self.stock is not None and self.stock.row_by_row:
            for row in ROWS:
                alone = rows(self.sample, row)
                found, error = attempt(calls.forward, alone) if alone is not None else (None, "")
                if error is None and calls.digest(row_of(forward, row)) != calls.digest(row_of(found, 0)):
                    self.differs.append(("forward", f"row {row} alone"))

    def again(self, how: str, sample: Sample | None, threads: int) -> None:
        """Calls once more in another way, and compares with the bits that are known."""
        if sample is None:
            return
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


def _audited(entry: Entry, dtype: str, short: bool, write: Any, recorder: Any) -> None:
    from repdl.interception.classes import Counted
    from repdl.interception.report import Report

    write({"start": [entry.name, dtype]})
    with recorder.hidden():
        samples = attempt(lambda: list(entry.samples(dtype)))[0] or []
        tries = list(trials(entry.name, samples, dtype, SHORT if short else WHOLE))
    differentiable = entry.differentiable(dtype)
    found = Counted()
    for trial in tries:
        if trial.is_large:
            continue
        for form in ("forward", "gradient") if differentiable else ("forward",):
            recorder.report = Report()
            call = calls.forward if form == "forward" else calls.gradient
            if attempt(call, trial.sample)[1] is None:
                found.add(recorder.report)
    write({"entry": entry.name, "dtype": dtype, "classes": found.words()})


def main() -> None:
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no line of ours
    job = json.loads(sys.stdin.read())
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    known = entries(job["source"])
    if job["role"] == "audit":
        from repdl.interception.recording import recording

        with recording() as recorder:

            def write(line: Line) -> None:
                output.write(json.dumps(line) + "\n")
                output.flush()

            for name, dtype in job["pairs"]:
                _audited(known[name], dtype, job["short"], write, recorder)
        return
    worker = _Worker(job, output)
    repdl.enable()
    for name, dtype in job["pairs"]:
        worker.run(known[name], dtype)


if __name__ == "__main__":
    main()
