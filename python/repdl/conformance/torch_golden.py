# SPDX-License-Identifier: MIT
"""Runs the golden lines of torch's ops: this torch, on this machine, gives the bits of the reference.

Each line runs in several forms, all of which have its digest: with operands in several layouts, with several numbers of
threads, in place and with `out=`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

import repdl
from repdl import _core
from repdl._machine import describe_machine
from repdl.conformance import digests
from repdl.conformance.layouts import LAYOUTS, Layout, stepped
from repdl.conformance.report import Report, Result
from repdl.conformance.suite import GOLDEN, Progress, check_names
from repdl.conformance.torch_case import (
    FLOATS,
    PARTS,
    DtypeName,
    QuantizedText,
    SparseText,
    TensorText,
    TorchCase,
    read_torch_case,
)
from repdl.interception.dtypes import map_tensors
from repdl.interception.machine import CAPABILITY
from repdl.interception.native import overload
from repdl.interception.override import layouts
from repdl.interception.strict import NotReproducibleError
from repdl.interception.variants import variants

TORCH_GOLDEN = GOLDEN / "torch"
"""The folder of the golden files of torch's ops, one for each packet of overloads."""

THREADS = (1, 2)

Form = tuple[str, Callable[[], Sequence[torch.Tensor] | None]]
"""What is particular about a way to run a case, and the run: its results, or None if the case has no such form."""


def _as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x


_CPU = torch.device("cpu")

_LAYOUTS: dict[str, Layout] = {"packed": _as_it_is, **LAYOUTS}

_WITH_THREADS = {name: _LAYOUTS[name] for name in ("packed", "reversed")}
"""Those that are tried with every number of threads; the others with the first."""


def run_torch_golden(
    ops: Sequence[str] = (),
    progress: Progress = lambda done, total, what: None,
    *,
    threads: Sequence[int] = THREADS,
    golden: Path = TORCH_GOLDEN,
    device: torch.device = _CPU,
) -> Report:
    """Runs the golden lines of the ops of torch, "maximum", "add", … (all if none is named), under `repdl.enable`.

    `threads` are the numbers of threads, each of which a line runs with; they are as before afterwards. A line that
    fails in some form is part of the report, with the form and where the results first differ. One whose overload this
    torch does not have, or which has no kernel for `device`, has the status "no kernel".

    Raises ValueError for an op without golden lines, and for a golden file that is broken.
    """
    all_ops = sorted(path.stem for path in golden.glob("*.txt"))
    check_names("golden file of torch's op", ops, all_ops)
    lines = {op: _core.read_golden(str(golden / f"{op}.txt")) for op in dict.fromkeys(ops or all_ops)}
    place = f"torch {torch.__version__}, {CAPABILITY.upper() if device == _CPU else device}"
    report = Report(describe_machine(), repdl.arithmetic_version, max(threads))
    total, start = sum(map(len, lines.values())), time.perf_counter()
    before = repdl.get_num_threads(), torch.get_num_threads()
    try:
        with repdl.reproducible(strict="error", order="blocked"):
            for op, cases in lines.items():
                progress(len(report.results), total, f"{place}: {op}")
                report.results += [_run_line(line, place, threads, device) for line in cases]
    finally:
        repdl.set_num_threads(before[0])
        torch.set_num_threads(before[1])
    report.seconds[place] = round(time.perf_counter() - start, 3)
    progress(total, total, "done")
    return report


def _run_line(line: tuple[str, str, str], place: str, threads: Sequence[int], device: torch.device) -> Result:
    expected, marks, text = line
    case = read_torch_case(text)
    op, form = case.packet, ""
    try:
        function = overload(case.overload)
    except AttributeError:
        return Result(op, text, place, "no kernel")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for form, run in _forms(case, function, threads, device):
                results = run()
                if results is None:
                    continue
                bits = [bits_of(result) for result in as_read(results, case)]
                if (found := digests.digest(bits)) != expected:
                    detail = f"{form}: {digests.first_difference(bits, marks)}"
                    return Result(op, text, place, "failed", found, detail)
    except (NotReproducibleError, NotImplementedError) as error:
        if device == _CPU or getattr(error, "reason", "device") != "device":
            return Result(op, text, place, "failed", None, f"{form}: {type(error).__name__}: {error}")
        return Result(op, text, place, "no kernel")
    except Exception as error:
        return Result(op, text, place, "failed", None, f"{form}: {type(error).__name__}: {error}")
    return Result(op, text, place, "passed", expected)


def _blocks(pivots: torch.Tensor) -> torch.Tensor:
    rows = pivots.flatten(0, -2).tolist() if pivots.dim() > 1 else [pivots.tolist()]
    for row in rows:
        k = 0
        while k < len(row):
            if row[k] < 0:
                row[k], row[k + 1] = len(row) - row[k], 0
                k += 1
            k += 1
    return torch.tensor(rows, dtype=torch.int64).reshape(pivots.shape)


_READ: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as is": lambda x: x,
    "columns": lambda x: x.mT,
    "int64": lambda x: x.to(torch.int64),
    "blocks": _blocks,
}
"""What words of `read` make of a result."""

_NOT_RETURNED: dict[str, Callable[[Sequence[int]], torch.Tensor]] = {
    "info": lambda shape: torch.zeros(shape[:-2], dtype=torch.int64),
    "order": lambda shape: torch.arange(shape[-1]).expand(*shape[:-2], shape[-1]),
}
"""What words of `read` stand for, by the shape of the first operand."""


def as_read(results: Sequence[torch.Tensor], case: TorchCase) -> Iterator[torch.Tensor]:
    """What the digest of a case is of."""
    words, left = case.arguments.get("read", ["as is"] * len(results)), iter(results)
    for word in words:
        if word in _NOT_RETURNED:
            yield _NOT_RETURNED[word](next(iter(case.arguments.values())).shape)
        elif (x := next(left)).layout == torch.sparse_coo:
            yield from (x._indices(), x._values())
        elif x.layout == torch.sparse_csr:
            yield from (x.crow_indices(), x.col_indices(), x.values())
        elif word != "left out":
            yield _READ[word](x)


def bits_of(x: torch.Tensor) -> digests.Bits:
    """The elements of a result as its digest reads them: of complex numbers both parts, of quantised ones the steps."""
    if x.is_complex():
        x = torch.view_as_real(x.resolve_conj())
    if x.is_quantized:
        x = x.int_repr()
    name = str(x.dtype).removeprefix("torch.")
    x = x.detach().resolve_neg().cpu().contiguous()
    if name in FLOATS:
        return digests.with_one_nan(x.view(_WHOLE[x.element_size()]).numpy().view(FLOATS[name]), name)
    return digests.with_one_nan(x.numpy(), name)


_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""By their size, integers that hold the bits of numbers."""


def tensor_of(text: TensorText) -> torch.Tensor:
    """A tensor of a case, packed in memory of its own."""
    bits, shape, parts = text.bits(), text.shape, PARTS.get(text.dtype, text.dtype)
    if text.dtype in PARTS:
        shape = (*shape, 2)
    if parts in FLOATS:
        bits = bits.view(f"i{bits.itemsize}")
    dtype: torch.dtype = getattr(torch, parts)
    tensor = torch.tensor(bits).view(dtype).reshape(shape)
    return torch.view_as_complex(tensor) if text.dtype in PARTS else tensor


def sparse_of(text: SparseText) -> torch.Tensor:
    """A sparse tensor of a case."""
    values = tensor_of(text.values)
    if text.layout == "csr":
        begins, columns, numbers = map(torch.tensor, text.rows())
        return torch.sparse_csr_tensor(begins, columns, values[numbers], text.size, check_invariants=True)
    return torch.sparse_coo_tensor(torch.tensor(text.places()), values, text.size, check_invariants=True)


def _made(value: Any, layout: Layout) -> Any:
    if isinstance(value, TensorText):
        return layout(tensor_of(value))
    if isinstance(value, SparseText):
        return sparse_of(value).to(layout(torch.empty(0)).device)
    if isinstance(value, QuantizedText):
        steps = tensor_of(value.steps)
        return torch._make_per_tensor_quantized_tensor(layout(steps), value.scale, value.zero_point)
    if isinstance(value, list):
        return [_made(item, layout) for item in value]
    return getattr(torch, value.name) if isinstance(value, DtypeName) else value


def _forms(case: TorchCase, function: Any, threads: Sequence[int], device: torch.device) -> Iterator[Form]:
    """The ways to run a case."""
    here = partial(_on, device)
    texts = [t for t in _flat(case.arguments.values()) if isinstance(t, TensorText)]
    for count in threads:
        repdl.set_num_threads(count)
        torch.set_num_threads(count)
        for name, layout in _LAYOUTS.items() if count == threads[0] else _WITH_THREADS.items():
            if name == "packed" or any(_differs(name, text) for text in texts):
                yield f"{count} threads, operands {name}", partial(_run, case, function, here(layout))
    if not _written(function):
        yield from _other_forms(case, function, here)


def _on(device: torch.device, layout: Layout) -> Layout:
    return lambda x: layout(x.to(device))


def _differs(layout: str, text: TensorText) -> bool:
    """Whether a layout is another than packed for a tensor."""
    rank = len(text.shape)
    return rank >= {"channels last": 4, "reversed": 2, "transposed": 3}.get(layout, 1)


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


_RENAMED = {"grad": "grad_output"}
"""What torch 2.14 calls some arguments, by their names before: those of `_cdist_backward` and `_pdist_backward`."""


def _arguments(case: TorchCase, function: Any, layout: Layout) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments for torch, and those for us."""
    known = {argument.name for argument in function._schema.arguments}
    made = {name: _made(value, layout) for name, value in case.arguments.items()}
    for before, now in _RENAMED.items():
        if before in made and before not in known and now in known:
            made[now] = made.pop(before)
    ours: dict[str, Any] = {
        name: made.pop(name) for name in ("order", "seed", "read") if name not in known and name in made
    }
    if "device" in known and (device := layout(torch.empty(0)).device) != _CPU:  # for what makes tensors of numbers
        made["device"] = device
    return made, ours


def _call(function: Any, arguments: dict[str, Any], ours: dict[str, Any]) -> Any:
    if "seed" in ours:
        torch.manual_seed(ours["seed"])
    with repdl.order(ours.get("order", "blocked")):
        return function(**arguments)


def _written(function: Any) -> list[str]:
    return [a.name for a in function._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def _run(case: TorchCase, function: Any, layout: Layout) -> list[torch.Tensor]:
    """The arguments that the call writes, and what it returns that is none of them."""
    made, ours = _arguments(case, function, layout)
    returned = _call(function, made, ours)
    values = returned if isinstance(returned, (list, tuple)) else (returned,)
    new = [v for v, r in zip(values, function._schema.returns, strict=False) if r.alias_info is None]
    if len(function._schema.returns) == 1 and isinstance(returned, (list, tuple)):  # a list of tensors
        new = list(values)
    changed = [made[name] for name in _written(function)]
    return [t for t in _flat([*changed, *new]) if isinstance(t, torch.Tensor)]


_KEYS = {"coo": "SparseCPU", "csr": "SparseCsrCPU"}
"""The dispatch keys of sparse tensors."""


def _other_forms(case: TorchCase, function: Any, here: Callable[[Layout], Layout]) -> Iterator[Form]:
    """In place and with out=; of sparse tensors those that are ours, as torch refuses most others."""
    keys = [_KEYS[value.layout] for value in case.arguments.values() if isinstance(value, SparseText)]
    for name, _, _ in variants(case.overload):
        if any(name not in layouts[key] for key in keys):
            continue
        other = overload(name)
        outs = [a.name for a in other._schema.arguments if a.is_out]
        if outs:
            yield name, partial(_run_out, case, function, other, outs, here(_as_it_is), _as_it_is)
            yield f"{name} with strides", partial(_run_out, case, function, other, outs, here(_as_it_is), stepped)
        else:
            yield name, partial(_run_in_place, case, function, other, here(_as_it_is))


def _run_in_place(case: TorchCase, function: Any, other: Any, packed: Layout) -> list[torch.Tensor] | None:
    made, ours = _arguments(case, other, packed)
    first = made[other._schema.arguments[0].name]
    expected = list(_flat([_call(function, *_arguments(case, function, packed))]))
    targets = list(_flat([first]))
    if [(t.dtype, t.shape) for t in expected] != [(t.dtype, t.shape) for t in targets]:
        return None
    _call(other, made, ours)
    return targets


def _run_out(
    case: TorchCase, function: Any, other: Any, outs: list[str], packed: Layout, layout: Layout
) -> list[torch.Tensor] | None:
    made, ours = _arguments(case, other, packed)
    expected = _call(function, *_arguments(case, function, packed))
    if any(t is None or t.is_quantized or t.layout != torch.strided for t in _flat([expected])):
        # no memory for those is made here
        return None
    targets = map_tensors(lambda t: layout(torch.full_like(t, 1, memory_format=torch.contiguous_format)), expected)
    named = targets if isinstance(targets, tuple) else (targets,)
    if len(named) != len(outs):
        return None
    _call(other, made | dict(zip(outs, named, strict=True)), ours)
    return [t for t in _flat(named) if isinstance(t, torch.Tensor)]
