# SPDX-License-Identifier: MIT
"""Elementwise functions of float32 on one thread, against Sleef and torch: ratios above 1 are faster than both.

The C++ benchmark runs ours and Sleef's, and takes turns with torch.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from machine import describe
from repdl import _core
from repdl._op import registry
from timing import time_in_turn

SIZES = {"16Ki": 2**14, "8Mi": 2**23}
"""In the L2 cache, and in memory; named as in bench/cpp/function_bench.cc."""
USUAL = ("exp", "log", "sin", "cos", "tanh", "erf", "sigmoid", "gelu", "silu", "rsqrt", "pow")
"""What networks use most."""
CONTENDERS = ("repdl", "Sleef", "torch", "ratio")
ROUNDS = 3

Speeds = dict[str, dict[str, float]]
"""Million elements a second, by size and contender; and the ratio to the faster peer."""
Measured = dict[str, tuple[str, Speeds]]
"""By op: the ranges of its operands, and its speeds."""


def torch_function(op: str) -> Callable[..., object] | None:
    """What fills `out` in torch; nothing where torch would have to allocate, or lacks the function."""
    if op == "polygamma":  # torch's takes one order for all elements, ours has an operand of them
        return None
    aten = torch.ops.aten
    selu = {"alpha": 1.6732632423543772, "scale": 1.0507009873554805}

    def gradient(function: Callable[..., object], *parameters: object) -> Callable[..., object]:
        return lambda grad, x, *, out: function(grad, x, *parameters, grad_input=out)

    def elu_gradient(alpha: float, scale: float) -> Callable[..., object]:
        return lambda grad, x, *, out: aten.elu_backward.grad_input(grad, alpha, scale, 1, False, x, grad_input=out)

    buffer = torch.empty(0)
    others: dict[str, Callable[..., object]] = {
        "elu": aten.elu.out,
        "elu_grad": elu_gradient(1.0, 1.0),
        "gelu": aten.gelu.out,
        "gelu_grad": gradient(aten.gelu_backward.grad_input),
        "gelu_tanh": partial(aten.gelu.out, approximate="tanh"),
        "gelu_tanh_grad": gradient(partial(aten.gelu_backward.grad_input, approximate="tanh")),
        "logsigmoid": lambda x, *, out: aten.log_sigmoid_forward.output(x, output=out, buffer=buffer.resize_(x.shape)),
        "mish": aten.mish.out,
        "relu": partial(torch.clamp_min, min=0),
        "relu_grad": gradient(aten.threshold_backward.grad_input, 0),
        "selu": partial(aten.elu.out, **selu),
        "selu_grad": elu_gradient(**selu),
        "sigmoid_grad": gradient(aten.sigmoid_backward.grad_input),
        "silu": aten.silu.out,
        "silu_grad": gradient(aten.silu_backward.grad_input),
        "softplus": aten.softplus.out,
        "softplus_grad": gradient(aten.softplus_backward.grad_input, 1, 20),
        "tanh_grad": gradient(aten.tanh_backward.grad_input),
    }
    return others.get(op) or getattr(torch, op, None) or getattr(torch.special, op, None)


def drawn(low: float, high: float, n: int) -> torch.Tensor:
    """As bench/cpp/function_bench.cc fills its arrays."""
    period = high - (high - low) * torch.rand(65536)
    return period.repeat(max(1, n // 65536))[:n]


def error_of(op: str, function: Callable[..., object], ranges: list[list[float]]) -> str:
    """Says how a peer's results are wrong, and is empty if they are right: one that is wrong is no peer."""
    operands = [drawn(low, high, 4096) for low, high in ranges]
    result = torch.empty(4096)
    function(*operands, out=result)
    right = registry[op].kernel(*operands)
    if torch.allclose(result, right, rtol=1e-3, atol=1e-5, equal_nan=True):
        return ""
    worst = int(torch.where(result.isnan() != right.isnan(), torch.inf, (result - right).abs().nan_to_num()).argmax())
    at = ", ".join(f"{x[worst].item():.9g}" for x in operands)
    return f"torch's {op}({at}) is {result[worst].item():.9g} on this CPU, and should be {right[worst].item():.9g}"


def torch_calls(function: Callable[..., object], ranges: list[list[float]]) -> dict[str, Callable[[], object]]:
    """Of each size; and on empty tensors, which takes what Python and torch's dispatcher take of every call."""

    def call(n: int) -> Callable[[], object]:
        return partial(function, *(drawn(low, high, n) for low, high in ranges), out=torch.empty(n))

    return {size: call(n) for size, n in SIZES.items()} | {"empty": call(0)}


def program_output(program: Path, op: str) -> dict[str, Any]:
    command = [
        program, f"--benchmark_filter=^function/{op}/", "--benchmark_format=json", "--benchmark_min_time=0.05",
    ]  # fmt: skip
    output: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for result in output["benchmarks"]:
        if "error_message" in result:
            raise SystemExit(f"{result['name']}: {result['error_message']}")
    return output


def measure(program: Path, op: str, left_out: list[str]) -> tuple[str, Speeds]:
    """The ranges of the operands, and the speeds; a peer whose results are wrong here is told to `left_out`."""
    function = torch_function(op)
    found: dict[str, dict[str, list[float]]] = {size: defaultdict(list) for size in SIZES}
    for turn in range(ROUNDS):
        for result in program_output(program, op)["benchmarks"]:
            _, _, size, whose = result["name"].split("/")
            found[size][whose].append(1e-6 * result["items_per_second"])
            operands = result["label"]
        if function is None:
            continue
        if turn == 0:
            ranges = json.loads(f"[{operands}]")
            if error := error_of(op, function, ranges):
                left_out.append(error)
                function = None
                continue
            calls = torch_calls(function, ranges)
        times = time_in_turn(calls, seconds=0.1, rounds=1, clock=time.thread_time)
        for size, n in SIZES.items():
            found[size]["torch"].append(1e-6 * n / (times[size] - times["empty"]))
    speeds = {size: {who: statistics.median(values) for who, values in of.items()} for size, of in found.items()}
    for of in speeds.values():
        if peers := [speed for who, speed in of.items() if who != "repdl"]:
            of["ratio"] = of["repdl"] / max(peers)
    return operands, speeds


def summary(measured: Measured) -> dict[str, dict[str, float]]:
    """Over the ratios of each size."""

    def ratios(ops: Iterable[str], size: str) -> list[float]:
        speeds = [measured[op][1][size] for op in ops if op in measured]
        return [of["ratio"] for of in speeds if "ratio" in of]

    return {
        "geometric mean": {size: statistics.geometric_mean(ratios(USUAL, size)) for size in SIZES},
        "smallest": {size: min(ratios(measured, size)) for size in SIZES},
    }


def rounded(values: dict[str, float]) -> dict[str, float]:
    """Ratios to two places; speeds, which are greater, to none."""
    return {name: round(value) if name in CONTENDERS[:-1] else round(value, 2) for name, value in values.items()}


def save(path: Path, target: str, machine: str, measured: Measured) -> None:
    """Replaces what the file says of this target."""
    document = json.loads(path.read_text()) if path.exists() else {}
    document[target] = {
        "machine": machine,
        "mean of": [op for op in USUAL if op in measured],
        "summary": {name: rounded(ratios) for name, ratios in summary(measured).items()},
        "functions": {
            op: {"operands": operands} | {size: rounded(of) for size, of in speeds.items()}
            for op, (operands, speeds) in measured.items()
        },
    }
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")


def run(program: Path, results: Path | None) -> Table:
    """A row a function, and means; `program` is repdl_bench, `results` a JSON file that gets the figures."""
    torch.set_num_threads(1)
    command = [program, "--benchmark_list_tests", "--benchmark_filter=^function/"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    ops = list(dict.fromkeys(name.split("/")[1] for name in listed))
    progress = track(ops, "functions", console=Console(stderr=True), transient=True)
    left_out: list[str] = []
    measured = {op: measure(program, op, left_out) for op in progress}
    target = _core.active_target()
    if results is not None:
        sleef = program_output(program, ops[0])["context"]["sleef"]
        save(results, target, f"{describe()}, Sleef {sleef}", measured)

    table = Table(
        title=f"functions of float32, {target}, 1 thread: million elements/s, and ratio to the faster peer",
        caption=" ".join(
            [
                f"The geometric mean is that of {', '.join(op for op in USUAL if op in measured)}.",
                *(f"Left out: {error}." for error in left_out),
            ]
        ),
    )
    for column in ("function", "operands from", *(f"{size} {who}" for size in SIZES for who in CONTENDERS)):
        table.add_column(column, justify="left" if column in ("function", "operands from") else "right")
    for op, (operands, speeds) in measured.items():
        cells = [(who, of.get(who)) for of in speeds.values() for who in CONTENDERS]
        texts = ("" if v is None else f"{v:.2f}" if who == "ratio" else f"{v:.0f}" for who, v in cells)
        table.add_row(op, operands, *texts)
    table.add_section()
    for name, ratios in summary(measured).items():
        table.add_row(name, "", *(text for ratio in ratios.values() for text in ("", "", "", f"{ratio:.2f}")))
    return table
