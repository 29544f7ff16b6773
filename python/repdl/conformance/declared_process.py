# SPDX-License-Identifier: MIT
"""A process of `check_declared`: runs the samples of a job, and writes what it found, pickled, to its output."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

import repdl
from repdl.conformance.layouts import LAYOUTS, Layout, packed
from repdl.conformance.libraries import load
from repdl.interception import declared

Call = tuple[tuple[Any, ...], dict[str, Any]]

THREADS = (1, 2, 3, 7)
HOSTILE = {
    "zeros of both signs": (0.0, -0.0),
    "zeros and NaN": (-0.0, float("nan"), 0.0),
    "infinities": (float("inf"), 1.0, float("-inf")),
    "subnormal numbers": (1e-45, -1e-40, 1.1754942e-38),
    "ties": (1.0, 1.0, 2.0, 1.0),
    "numbers near overflow": (3.4e38, -3.4e38, 1.0),
    "mixed": (0.0, 1.5, -0.0, float("nan"), -2.5, float("inf"), 1e-40, 1.5, float("-inf")),
}


def _floats(values: Any) -> Iterator[torch.Tensor]:
    for value in tree_flatten(values)[0]:
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.is_floating_point():
            yield value


def _changed(change: Layout, call: Call) -> Call:
    """The call with other tensors, which require gradients as those did."""

    def new(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_quantized:
            return value
        return change(value.detach()).requires_grad_(value.requires_grad)

    return tree_map(new, call)  # type: ignore[no-any-return]


def _first_expanded(x: torch.Tensor) -> torch.Tensor:
    return x[:1].clone().expand(x.shape) if x.dim() and len(x) else x.clone()


def _hostile(numbers: tuple[float, ...]) -> Layout:
    def change(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point():
            return packed(x)
        return torch.tensor(numbers, dtype=x.dtype).repeat(x.numel() // len(numbers) + 1)[: x.numel()].view(x.shape)

    return change


def _digest(values: Any) -> str:
    """Of types, shapes and bits; every NaN as one."""
    sha = hashlib.sha256()
    for value in tree_flatten(values)[0]:
        if not isinstance(value, torch.Tensor):
            sha.update(repr(value).encode())
            continue
        x = value.detach().resolve_conj().resolve_neg()
        x = x.dequantize() if x.is_quantized else x.to_dense() if x.layout != torch.strided else x
        sha.update(f"{x.dtype} {list(x.shape)}".encode())
        x = torch.view_as_real(x) if x.is_complex() else x
        if x.is_floating_point():
            x = torch.where(x.isnan(), torch.full_like(x, float("nan")), x)
        sha.update(bytes(x.contiguous().reshape(-1).view(torch.uint8).numpy()))
    return sha.hexdigest()


class _Check:
    def __init__(self, op: str, batched: list[int]) -> None:
        namespace, _, name = op.partition("::")
        packet, _, overload = name.partition(".")
        self.op = getattr(getattr(torch.ops, namespace), packet)
        if overload:
            self.op = getattr(self.op, overload)
        self.batched = batched
        self.runs = 0
        self.digests: dict[str, str] = {}
        self.failures: list[str] = []
        self.refused: list[str] = []

    def results(self, call: Call) -> list[Any]:
        """What the op gives, what became of its arguments, and the gradients; or the error, in words."""
        args, kwargs = call
        self.runs += 1
        try:
            result = self.op(*args, **kwargs)
            leaves = [x for x in _floats((args, kwargs)) if x.requires_grad and x.is_leaf]
            outputs = [x for x in tree_flatten(result)[0] if isinstance(x, torch.Tensor) and x.requires_grad]
            grads = []
            if leaves and outputs:
                ones = [torch.ones_like(x) for x in outputs]
                grads = list(torch.autograd.grad(outputs, leaves, ones, allow_unused=True))
        except (RuntimeError, NotImplementedError, ValueError, IndexError, TypeError) as error:
            return [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
        return [result, args, kwargs, grads]

    def sample(self, name: str, call: Call) -> list[Any]:
        """Runs a call, packed, with each number of threads, and again; the result is kept."""
        found: dict[int, str] = {}
        for threads in (*THREADS, THREADS[-1], THREADS[0]):
            torch.set_num_threads(threads)
            results = self.results(_changed(packed, call))
            digest = results[0].partition(":")[0] if isinstance(results[0], str) else _digest(results)
            if threads in found and digest != found[threads]:
                self.failures.append(f"{name}: other bits in a second run")
            found.setdefault(threads, digest)
        if len(set(found.values())) > 1:
            self.failures.append(f"{name}: other bits with other threads of {', '.join(map(str, THREADS))}")
        self.digests[name] = found[THREADS[0]]
        return results

    def layout(self, name: str, call: Call, layout: Layout, expected: list[Any]) -> None:
        for threads in THREADS:
            torch.set_num_threads(threads)
            got = self.results(_changed(layout, call))
            if isinstance(got[0], str):  # it does not take the layout, and says so
                if not isinstance(expected[0], str):
                    self.refused.append(f"{name}: {got[0]}")
            elif _digest(expected) != _digest(got):
                self.failures.append(f"{name}, {threads} threads: other bits than of packed tensors")

    def rows(self, name: str, call: Call, whole: list[Any]) -> None:
        args, kwargs = call
        if isinstance(whole[0], str):
            return
        sizes = [len(args[i]) for i in self.batched if isinstance(args[i], torch.Tensor)]
        for row in sorted({0, 1, sizes[0] // 2, sizes[0] - 1} & set(range(sizes[0]))) if sizes else ():
            part = [x[row : row + 1] if i in self.batched else x for i, x in enumerate(args)]
            alone = self.results(_changed(packed, (tuple(part), kwargs)))
            of_batch = tree_map(
                lambda x, row=row: x[row : row + 1] if isinstance(x, torch.Tensor) and x.dim() else x, whole[0]
            )
            if _digest(of_batch) != _digest(alone[0]):
                self.failures.append(f"{name}, row {row}: other bits alone than in the batch")

    def run(self, name: str, call: Call) -> None:
        results = self.sample(name, call)
        if isinstance(results[0], str):
            self.failures.append(f"{name} does not run: {results[0]}")
            return
        for layout, change in LAYOUTS.items():
            self.layout(f"{name}, {layout}", call, change, results)
        same = _changed(lambda x: packed(_first_expanded(x)), call)
        self.layout(f"{name}, expanded", same, _first_expanded, self.results(_changed(packed, same)))
        self.rows(name, call, results)
        if not any(True for _ in _floats(call)):
            return
        for values, numbers in HOSTILE.items():
            hostile = _changed(_hostile(numbers), call)
            results = self.sample(f"{name}, {values}", hostile)
            self.rows(f"{name}, {values}", hostile, results)
            for layout, change in LAYOUTS.items():
                self.layout(f"{name}, {values}, {layout}", hostile, change, results)


def main() -> None:
    output = os.dup(1)
    os.dup2(2, 1)  # what libraries print
    warnings.simplefilter("ignore")
    job = pickle.loads(Path(sys.argv[1]).read_bytes())
    for what in job["load"]:
        load(what)
    repdl.enable(strict="error")
    found = []
    declared.reasons.update(job["declared"] | {op: "as it is tried" for op, *_ in job["claims"]})
    for op, calls, batched in job["claims"]:
        check = _Check(op, batched)
        for i, call in enumerate(calls):
            check.run(f"sample {i}", call)
        found.append({name: getattr(check, name) for name in ("runs", "digests", "failures", "refused")})
    with open(output, "wb") as file:
        file.write(pickle.dumps(found))


if __name__ == "__main__":
    main()
