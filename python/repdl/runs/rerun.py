# SPDX-License-Identifier: MIT
"""A process of `repdl diff --cause`: runs a program again up to one of its calls, and makes that in every way."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch.utils._pytree import tree_leaves

from repdl import _order
from repdl._needs import library
from repdl.cli._program import run_program
from repdl.conformance.settings import Setting
from repdl.experiments import devices
from repdl.experiments.call import Call, Results, Slot, UntriedError, take
from repdl.experiments.compare import Answer, hashes
from repdl.experiments.edits import edit
from repdl.experiments.engine import Engine
from repdl.experiments.rounding import rounded
from repdl.experiments.settings import State
from repdl.experiments.variations import BATCH, KINDS, NUMBERS_OF_THREADS, PROCESS, RUN, Again, chosen
from repdl.experiments.workers import Workers, instruction_sets
from repdl.interception import choices, reproducible, strict
from repdl.runs.cause import Way
from repdl.runs.columns import as_written
from repdl.runs.log import Log
from repdl.runs.recorder import Recorded, Recorder, recording
from repdl.runs.told import CHOICES, FEWER, RESULT, ROUNDING, SETTINGS
from repdl.runs.window import Window

VARIED = tuple(kind for kind in KINDS if kind != BATCH)
"""Both runs had the whole batch."""


@dataclass(frozen=True)
class Reached:
    """The call as it is recorded, and as it can be made again, or why not.

    results: what the program's own gave. places: which of them each output of the record is.
    """

    recorded: Recorded
    call: Call | UntriedError
    results: Results
    places: list[int | None]


class Rerun(Recorder):
    """Hands over the call before which so many count as a difference, once it is recorded, and does not go on."""

    def __init__(
        self,
        log: Log,
        steps: range,
        window: Window,
        counted: int,
        reached: Callable[[Rerun, Reached], NoReturn],
    ) -> None:
        super().__init__(log, steps, window)
        self.counted, self.reached = counted, reached

    def make(self, call: Recorded, func: Any, args: Any, kwargs: Any) -> Any:
        if self.log.counted != self.counted:
            return super().make(call, func, args, kwargs)
        try:
            taken: Call | UntriedError = take(func, args, kwargs)
        except UntriedError as error:
            taken = error
        outcome = super().make(call, func, args, kwargs)
        call.end(outcome)
        results = taken.results(args, kwargs, outcome) if isinstance(taken, Call) else []
        places = [next((i for i, x in enumerate(results) if x is made), None) for made in call.results(outcome)]
        self.reached(self, Reached(call, taken, results, places))


def is_call(recorded: Recorded, job: dict[str, Any]) -> bool:
    """Whether it is the one of run A, on the inputs that it had there."""
    generator = recorded.generator and recorded.generator[1].hex()
    inputs = [[as_written(kind), value.hex()] for kind, value, _ in recorded.inputs]
    return [recorded.op.name, as_written(", ".join(recorded.texts))] == job["op"] and (inputs, generator) == (
        job["inputs"],
        job["generator"],
    )


def experiments(reached: Reached, of_b: dict[str, Any], wanted: list[str], engine: Engine) -> dict[str, Any]:
    """What the call gave in the program, and gives in each way; hashes are in the order of the record.

    wanted: those of B.
    """
    here = _in_order(Answer(hashes=hashes(reached.results)), reached.places).hashes
    told: dict[str, Any] = {"untried": "", "here": here, "without": engine.without, "ways": []}
    if isinstance(reached.call, UntriedError):
        return told | {"untried": f"the call cannot be made again: {reached.call}"}
    whole = reached.call.attempt()
    if whole is None:
        return told | {"untried": "the op refuses to be called again"}
    ways = [*_ways(reached, whole, of_b, engine), *_edits(reached, wanted)]
    return told | {"ways": [asdict(way) for way in ways]}


def capture(reached: Reached, path: Path) -> dict[str, Any]:
    """Keeps the tensors of the call in a file: what it read, by the names of its arguments, and what it gave."""
    if isinstance(reached.call, UntriedError):
        return {"untried": f"the call cannot be made again: {reached.call}"}
    tensors = reached.call.tensors()
    kept = {}
    for name, value in reached.call.named().items():
        slots = [leaf for leaf in tree_leaves([value]) if isinstance(leaf, Slot)]
        for i, slot in enumerate(slots):
            kept[f"input.{name}.{i}" if isinstance(value, list | tuple) else f"input.{name}"] = tensors[slot.index]
    given = [reached.results[place] for place in reached.places if place is not None]
    kept |= {f"output.{i}": x for i, x in enumerate(given) if isinstance(x, torch.Tensor)}
    save_file = library("safetensors.torch").save_file
    save_file({name: x.detach().clone(memory_format=torch.contiguous_format) for name, x in kept.items()}, path)
    return {"untried": "", "here": _in_order(Answer(hashes=hashes(reached.results)), reached.places).hashes}


def _ways(reached: Reached, whole: Results, of_b: dict[str, Any], engine: Engine) -> Iterator[Way]:
    assert isinstance(reached.call, Call)

    def way(kind: str, name: str, answer: Answer) -> Way:
        return Way(kind, name, _in_order(answer, reached.places))

    yield way(RUN, "run 1", Answer.to(reached.results, whole, True))
    trial = engine.trial(reached.call)
    if not any(trial[kind].found for kind in (RUN, PROCESS) if kind in trial):  # which say nothing of settings
        for name, answer in _settings_of_b(reached.call, whole, of_b):
            yield way(SETTINGS, name, answer)
        for again in rounded(reached.call, whole):
            yield way(ROUNDING, again.name, Answer.to(again.expected, again.got, True))
        for kind, again in _other_choices(reached.call, whole):
            yield way(kind, again.name, Answer.to(again.expected, again.got, True))
    for kind, outcome in trial.items():
        for name, found in outcome.hashes.items():
            yield way(kind, name, Answer(outcome.found.get(name), None, found))
        yield from (Way(kind, name, Answer(refused="the op does not run there")) for name in outcome.refused)


def _other_choices(call: Call, whole: Results) -> Iterator[tuple[str, Again]]:
    """Each that the engine does not try: it goes back to all bits alone."""
    for choice, now in choices.of_calls(call.device != devices.CPU):
        for value in choice.values:
            if value != now and not (choice.fewer and value == choice.values[0]):
                yield FEWER if choice.fewer else CHOICES, chosen(call, whole, choice, value)


def _edits(reached: Reached, wanted: list[str]) -> Iterator[Way]:
    """The result of the program, with a small change that gives it the hash of B."""
    changed, names = [x.cpu() if isinstance(x, torch.Tensor) else x for x in reached.results], []
    mine = hashes(reached.results)
    for place, hash_of_b in zip(reached.places, wanted, strict=False):
        if place is None or mine[place] in (hash_of_b, None):
            continue
        if (found := edit(changed[place], hash_of_b)) is None:
            return
        changed[place] = found[1]  # on the CPU, as all are that are edited
        names.append(found[0])
    if names:
        answer = _in_order(Answer.to(reached.results, changed, True), reached.places)
        yield Way(RESULT, " and ".join(dict.fromkeys(names)), answer)


def _in_order(answer: Answer, places: list[int | None]) -> Answer:
    """Of the outputs of the record, in the place of results."""
    found = answer.difference
    if found is not None and found.first is not None:
        output = places.index(found.first.result) if found.first.result in places else found.first.result
        found = replace(found, first=found.first._replace(result=output))
    told = [None if place is None else answer.hashes[place] for place in places] if answer.refused is None else []
    return Answer(found, answer.refused, told)


def _settings_of_b(call: Call, whole: Results, of_b: dict[str, Any]) -> Iterator[tuple[str, Answer]]:
    """Each that the engine does not try, and all together."""
    state, names = State.now(), []
    environment: dict[str, str] = {}
    alone: list[tuple[str, State, dict[str, str]]] = []
    if threads := of_b.get("threads"):
        names.append(f"{threads} thread{'s' * (threads > 1)}")
        if threads not in NUMBERS_OF_THREADS:
            alone.append((names[-1], replace(state, threads=threads, own_threads=threads), {}))
        state = replace(state, threads=threads, own_threads=threads)
    if capability := of_b.get("capability"):
        names.append(f"ATEN_CPU_CAPABILITY={capability}")
        environment = {"ATEN_CPU_CAPABILITY": capability}
        if names[-1] not in {setting.name for setting in instruction_sets()}:
            alone.append((names[-1], State.now(), environment))
    if "enabled" in of_b:
        names.append("repdl.enable()" if of_b["enabled"] else "torch's own kernels")
        enabled = (strict.DEFAULT_LEVEL, _order.get_order(), "philox") if of_b["enabled"] else None
        alone.append((names[-1], replace(State.now(), enabled=enabled), {}))
        state = replace(state, enabled=enabled)
    for name in ("deterministic", "precision", "onednn"):  # each of which is tried alone as a choice
        if name in of_b:
            names.append(f"{name}={of_b[name]}")
            state = replace(state, **{name: of_b[name]})
    variables = {name: value for name, value in of_b.get("environment", {}).items() if name not in environment}
    if variables:
        names.append(" ".join(f"{name}={value}" for name, value in variables.items()))
        alone.append((names[-1], State.now(), variables))
        environment = environment | variables
    together = [(" and ".join(names), state, environment)] if len(names) > 1 else []
    for name, settings, variables in [*alone, *together]:
        with Workers([Setting(name, variables)]) as workers:
            workers.ask(call, whole, settings, hashing=True)
            yield from workers.answers().items()


def _answer(folder: Path, told: dict[str, Any]) -> None:
    """All of it or, on a full disk, nothing; the program must not catch that either."""
    whole, part = folder / "answer", folder / "part"
    try:
        part.write_text(json.dumps(told), encoding="utf-8")
        part.replace(whole)
    except OSError as error:
        print(f"repdl: {whole} cannot be written: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(1)


def main(folder: Path) -> None:
    job = json.loads(Path(folder, "job").read_text(encoding="utf-8"))

    def of_job(found: Reached) -> dict[str, Any]:
        if "capture" in job:
            return capture(found, job["capture"])
        with Engine(VARIED, hashing=True) as engine:
            return experiments(found, job["of_b"], job["wanted"], engine)

    def reached(recorder: Rerun, found: Reached) -> NoReturn:
        recorder.log.close("reached", 0.0, 0.0)
        if is_call(found.recorded, job):
            try:
                told = of_job(found)
            except Exception as error:  # the program must not catch it
                told = {"untried": f"making the call again failed: {error!r}", "here": [], "ways": []}
            _answer(folder, told)
        sys.stdout.flush()
        os._exit(0)  # the program is not to go on, nor to handle its end

    if torch.get_num_threads() != job["threads"]:
        torch.set_num_threads(job["threads"])
    sys.path[:] = map(os.path.abspath, sys.path)
    os.chdir(job["directory"])
    target, *arguments = job["program"]
    kind = partial(Rerun, counted=job["counted"], reached=reached)
    with (
        reproducible() if job["enabled"] else nullcontext(),
        recording(folder / "again", range(*job["sampling"]), quiet=True, kind=kind, window=Window(*job["window"])),
    ):
        run_program(target, arguments, job["is_module"])


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
