# SPDX-License-Identifier: MIT
"""A difference in a sentence, and as JSON."""

from __future__ import annotations

import re
from typing import Any

from repdl._content import UNHASHED
from repdl.runs import batches
from repdl.runs.columns import COLLECTIVE, Call
from repdl.runs.difference import Difference, different_values, unwritten_inputs
from repdl.runs.run import AnyRun


def sentence(found: Difference | None, a: AnyRun, b: AnyRun) -> str:
    if found is None:
        steps = f"{a.steps} step{'' if a.steps == 1 else 's'}"
        equal = f"{ops_of(a)} in {steps} are equal"
        if a.sampling[1] == 0:
            what = "batches, parameters, optimizers, results of models and numbers that the programs read"
            equal = f"the {what} are equal in {steps}"
        return f"No difference{_until(a, b)}: {equal}."
    parts = [_first(found, a, b), _loading(found), _settings(found)]
    parts += [more.sentence for more in (found.cause, found.captured) if more is not None]
    return " ".join(filter(None, parts))


def ops_of(run: AnyRun) -> str:
    """As many as `repdl record` has said; of a run that was cut off as many as it has, with states of generators."""
    counted = run.end and run.end.get("counted")
    number = counted if isinstance(counted, int) else run.ops
    return f"{number} op{'' if number == 1 else 's'}"


def _until(a: AnyRun, b: AnyRun) -> str:
    """Where equal runs end, if not with their programs."""
    cut_off = [name for name, run in zip("AB", (a, b), strict=True) if not run.end]
    return f" up to where {' and '.join(cut_off)} {'was' if len(cut_off) == 1 else 'were'} cut off" if cut_off else ""


def _first(found: Difference, a: AnyRun, b: AnyRun) -> str:
    where = f"The first difference is in {place(found.call)}"
    if found.kind == "end":
        ended, other = (a, "B") if found.a is None else (b, "A")
        how = "ended" if ended.end else "was cut off"
        which = "A" if found.a is None else "B"
        return f"{where}, where run {which} {how} and run {other} went on; all before it is equal."
    if found.kind == "path":
        return f"{where}: {_path(found)}."
    assert found.a is not None and found.b is not None
    if found.kind == "arguments":
        return f"{where}: it {_arguments(found.a, found.b)}."
    if found.kind == "input":
        return f"{where}: {_origins(found)}."
    return f"{where}: {_source(found)}."


def place(call: Call) -> str:
    line = f" at {call.line}" if call.line else ""
    module = f", {'' if call.name == batches.NAME else 'module '}{call.module}" if call.module else ""
    return f"step {call.step}, {call.phase}{module}, {call.name}{line}"


def _loading(found: Difference) -> str:
    """Of data: what is known beside the first op that differs."""
    were = "was" if len(found.generators) == 1 else "were"
    states = "" if found.kind == "result" else " and ".join(found.generators)
    return " ".join(filter(None, (states and f"{states} {were} in another state.", found.order)))


def _settings(found: Difference) -> str:
    """Of which each may be the cause."""
    if not found.settings:
        return ""
    each = [f"{name} ({x or 'none'} in A, {y or 'none'} in B)" for name, (x, y) in found.settings.items()]
    return f"The runs had other settings: {', '.join(each)}."


def _arguments(a: Call, b: Call) -> str:
    """What both were called with; of the options of an optimizer those that differ."""
    verb, texts = "was called with", [_signature(a), _signature(b)]
    if a.name.startswith("options of "):
        options = [re.split(r", (?=[\w.]+=|parameter )", call.text) for call in (a, b)]
        alone = [", ".join(o for o in options[i] if o not in options[1 - i]) for i in range(2)]
        verb, texts = ("had", alone) if any(alone) else (verb, texts)
    return f"{verb} {' and '.join(f'{text} in {run}' for text, run in zip(texts, 'AB', strict=True) if text)}"


def _signature(call: Call) -> str:
    kinds = ", ".join(value.kind for value in call.inputs)
    return f"({'; '.join(text for text in (kinds, call.text) if text)})"


def _path(found: Difference) -> str:
    alone = found.rows[found.at :]
    count = next((i for i, (x, y) in enumerate(alone) if x is not None and y is not None), len(alone))
    only_a = sum(x is not None for x, _ in alone[:count])
    only_b = sum(y is not None for _, y in alone[:count])
    has, lacks = ("A", "B") if found.a is not None else ("B", "A")
    if not only_a or not only_b:
        number = only_a + only_b
        more = "" if number == 1 else f" and the {number - 1} after it" if count < len(alone) else " and more after it"
        return f"run {has} has this op{more}, run {lacks} does not"
    other = next((y for _, y in alone[:count] if y is not None) if has == "A" else (x for x, _ in alone if x), None)
    instead = (
        "" if other is None else f", where run {lacks} has {other.name}{f' at {other.line}' if other.line else ''}"
    )
    return f"run {has} has this op{instead}"


def _origins(found: Difference) -> str:
    call = found.call
    parts = []
    for number, writer in found.origins:
        if writer is None:
            whence = "no recorded op has written it: it comes from another library, thread or process"
        elif all(value.hash == UNHASHED for value in writer.outputs):
            whence = f"it comes from {writer.name} in {_short(writer)}, whose result is not hashed"
        else:
            whence = f"it was equal when {writer.name} wrote it in {_short(writer)}, and something else has changed it"
        parts.append(f"input {number} ({call.inputs[number].kind}) differed already, and {whence}")
    return "; ".join(parts)


def _short(call: Call) -> str:
    return f"step {call.step}, {call.phase}" + (f" at {call.line}" if call.line else "")


def _source(found: Difference) -> str:
    assert found.a is not None and found.b is not None
    outputs = different_values(found.a.outputs, found.b.outputs)
    named = [f"output {i} ({found.a.outputs[i].kind})" for i in outputs[:3]]
    named += [f"{len(outputs) - 3} more"] if len(outputs) > 3 else []
    what, verb = " and ".join(named), "differs" if len(outputs) == 1 else "differ"
    if found.generators:
        were = "was" if len(found.generators) == 1 else "were"
        state = f"{' and '.join(found.generators)} {were} in another state"
        return f"its inputs were equal, but {state}, and {what} {verb}"
    if unwritten := unwritten_inputs(found.a):
        return f"it read memory that nothing had written (input {unwritten[0]}), and {what} {verb}"
    if found.a.phase == "data loading" and found.a.name.startswith("batch"):
        return f"{what} of the batch {verb}, made by the dataset or its workers"
    if "::" not in found.a.name:
        return f"{what} {verb}, and no recorded op has written that"
    if found.a.phase == COLLECTIVE:
        return (
            f"its inputs were equal here and {what} {verb}; it combines data of other ranks, so compare the records of "
            "those too"
        )
    return f"its inputs were equal and {what} {verb}, so this op is the source"


def as_json(found: Difference | None, a: AnyRun, b: AnyRun) -> dict[str, Any]:
    values: dict[str, Any] = {"equal": found is None, "sentence": sentence(found, a, b)}
    if found is not None:
        values |= {
            "kind": found.kind,
            "inputs_equal": found.inputs_equal,
            "generators": found.generators,
            "settings": {name: list(values) for name, values in found.settings.items()},
            "a": _call(found.a),
            "b": _call(found.b),
            "cause": found.cause and found.cause.as_json(),
            "captured": found.captured and found.captured.as_json(),
            "origins": [{"input": number, "writer": _call(writer)} for number, writer in found.origins],
        }
    runs = [{"path": str(r.path), "ops": r.ops, "steps": r.steps, "end": r.end, **r.header} for r in (a, b)]
    return values | {"runs": runs}


def _call(call: Call | None) -> dict[str, Any] | None:
    if call is None:
        return None
    values = [[{"kind": v.kind, "hash": v.hash.hex()} for v in side] for side in (call.inputs, call.outputs)]
    return {
        "number": call.number,
        "step": call.step,
        "phase": call.phase,
        "module": call.module,
        "op": call.name,
        "line": call.line,
        "arguments": call.text,
        "inputs": values[0],
        "outputs": values[1],
    }
