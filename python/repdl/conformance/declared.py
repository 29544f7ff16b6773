# SPDX-License-Identifier: MIT
"""`repdl.declare`, and what tries its claim: the same bits in every setting, for the calls that the caller gives.

check = repdl.conformance.check_declared("boxes::inside", [(boxes, points)])
assert check.passed, check
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from repdl.conformance.libraries import loaded
from repdl.conformance.settings import Setting, settings_here
from repdl.interception.declarable import check_name
from repdl.interception.declared import reasons

SHOWN = 5
SECONDS = 600


@dataclass
class DeclaredCheck:
    """What became of a check.

    failures: what differs, in words. runs: how often the op ran. settings: of the processes that ran it.
    refused: calls in other layouts that the op did not take, which is no failure.
    """

    op: str
    failures: list[str] = field(default_factory=list)
    runs: int = 0
    settings: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.runs > 0 and not self.failures

    def __str__(self) -> str:
        if self.passed:
            return f"{self.op} gave the same bits in {self.runs} runs, in {len(self.settings)} settings"
        shown = "".join(f"\n    {failure}" for failure in self.failures[:SHOWN])
        more = len(self.failures) - SHOWN
        return f"{self.op} does not give the same bits:{shown}" + (f"\n    and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Claim:
    """What `check_declared` takes of one op."""

    op: str
    samples: Sequence[Any]
    batched: Sequence[int] = ()


def declare(op: str, reason: str, samples: Sequence[Any] | None = None) -> None:
    """Says that a compiled op gives the same bits on every machine, so that it runs under `repdl.enable()`.

    It holds in this process, and in those that multiprocessing starts while it is enabled, for tensors on the CPU. The
    claim is the caller's: `repdl.conformance.check_declared` tries it. It may be made before the library is loaded.
    An op of torch for which there is no kernel, "aten::_compute_linear_combination", may be declared as well; where
    there is one it keeps that, for the types that it takes, and so has an op of another library.

    Args:
        op: "library::name", which is every overload of it, or "library::name.overload".
        reason: why its bits are the same everywhere; `repdl.audit` repeats it.
        samples: calls to try first, as `repdl.conformance.check_declared` takes them.

    Raises:
        ValueError: without a reason; for what is no op, or one that needs no declaration; and if a sample shows that
            the bits are not the same.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError('[declare] reason must say why the bits are the same: declare("boxes::inside", "compares")')
    check_name(op)
    if samples is not None:
        check = check_declared(op, samples)
        if not check.passed:
            raise ValueError(f"[declare] {check}")
    reasons[op] = reason


def check_declared(
    op: str, samples: Sequence[Any], *, batched: Sequence[int] = (), load: Sequence[str] | None = None
) -> DeclaredCheck:
    """Runs samples of an op in processes of every kind, and compares the results bit by bit, every NaN alike.

    Each process has another of torch's instruction sets and of our targets, or MKL and oneDNN held back. There each
    sample is run with 1, 2, 3 and 7 threads, and again; with its tensors transposed, stepped, misaligned and expanded;
    and with hostile values in the place of its floating-point numbers (zeros of both signs, NaN, infinities, subnormal
    numbers, ties). Gradients are compared too, for tensors that require them. Everything runs under `repdl.enable()`,
    with what was declared here. So take samples that are large enough for threads to start.

    Args:
        op: "library::name", of which each sample chooses the overload, or "library::name.overload".
        samples: of each call the arguments, a tuple; or two, a tuple and a dict, for those that have names.
        batched: the places of the arguments whose first dimension is a batch: then each row must have the bits alone
            that it has in the batch.
        load: what the processes load before: modules, "torchvision", and files of libraries, "/path/ops.so". None for
            what this process has loaded of both.

    Raises:
        ValueError: if there is no sample, no such op, or no such argument.
        TypeError: if samples, batched or load is no list.
    """
    (check,) = check_claims([Claim(op, samples, batched)], load=load)
    return check


def check_claims(claims: Sequence[Claim], *, load: Sequence[str] | None = None) -> list[DeclaredCheck]:
    """`check_declared` for several ops in the same processes, most of whose time goes to the import of torch.

    All are declared there, so that of an op and that of its gradient can be tried together.
    """
    jobs = []
    for claim in claims:
        check_name(claim.op)
        calls = [_call(claim.op, sample) for sample in _listed("samples", claim.samples)]
        if not calls:
            raise ValueError(f"[check_declared] there is no sample of {claim.op}; give at least one call")
        jobs.append((claim.op, calls, _places(_listed("batched", claim.batched), calls)))
    if load is None:
        load = list(dict.fromkeys(what for claim in claims for what in loaded(claim.op.partition("::")[0])))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job")
        path.write_bytes(pickle.dumps({"load": _listed("load", load), "claims": jobs, "declared": reasons}))
        settings = settings_here()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda setting: _run(path, setting), settings))
    checks = [DeclaredCheck(claim.op, settings=[setting.name for setting in settings]) for claim in claims]
    for i, check in enumerate(checks):
        _compare(check, [outcome if isinstance(outcome, str) else outcome[i] for outcome in outcomes])
    return checks


def _listed(name: str, values: Any) -> list[Any]:
    """The values of a sequence. A text, which is one of letters, is meant as one value."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"[check_declared] {name} must be a list, got {type(values).__name__}; put it into one")
    return list(values)


def _places(batched: list[Any], calls: list[Any]) -> list[int]:
    count = min(len(args) for args, _ in calls)
    for place in batched:
        if not isinstance(place, int) or not 0 <= place < count:
            raise ValueError(
                f"[check_declared] batched must hold places of arguments that each sample has without a name, 0 for "
                f"the first; got {place!r}, and a sample has {count}"
            )
    return batched


def _call(op: str, sample: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(sample, torch.Tensor) or not isinstance(sample, (tuple, list)):
        raise ValueError(
            f"[check_declared] a sample of {op} must be a tuple of its arguments, got {type(sample).__name__}"
        )
    if len(sample) == 2 and isinstance(sample[0], tuple) and isinstance(sample[1], dict):
        args, kwargs = sample
    else:
        args, kwargs = tuple(sample), {}
    alone = tree_map_only(torch.Tensor, lambda x: x.detach().clone().requires_grad_(x.requires_grad), (args, kwargs))
    return alone  # type: ignore[no-any-return]


def _run(job: Path, setting: Setting) -> list[dict[str, Any]] | str:
    """What a process found, or why it did not."""
    try:
        result = subprocess.run(
            [sys.executable, "-m", "repdl.conformance.declared_process", str(job)],
            env=setting.of_process(),
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"the process took more than {SECONDS} s"
    if result.returncode == 0:
        return pickle.loads(result.stdout)  # type: ignore[no-any-return]
    last = result.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return f"the process ended with status {result.returncode}" + "".join(f": {line}" for line in last)


def _compare(check: DeclaredCheck, outcomes: Sequence[dict[str, Any] | str]) -> None:
    """Of one op, what each process found."""
    digests: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for setting, outcome in zip(check.settings, outcomes, strict=True):
        if isinstance(outcome, str):
            check.failures.append(f"{outcome} ({setting})")
            continue
        check.runs += outcome["runs"]
        check.failures += [f"{text} ({setting})" for text in outcome["failures"]]
        check.refused += [text for text in outcome["refused"] if text not in check.refused]
        for what, digest in outcome["digests"].items():
            digests[what][digest].append(setting)
    for what, places in digests.items():
        if len(places) > 1:
            groups = "; ".join(", ".join(names) for names in places.values())
            check.failures.append(f"{what}: {len(places)} results, by setting: {groups}")
