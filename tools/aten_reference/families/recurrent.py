# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN, a sample at a time; each step rounds to the dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..functions import sigmoid, tanh
from ..numbers import add, mul, sub
from ..registry import reference
from ..sums import product_of
from ..tensors import Tensor, rounded

Rows = list[list[float]]
"""Numbers of each step of a sample."""

Low = Callable[[float], float]
Step = Callable[[list[float], list[float], list[list[float]], Low], list[list[float]]]
"""From the input's part of the gates, that of h, and the states: the states, of which the first is the output."""


def _halves(values: list[float], count: int) -> list[list[float]]:
    n = len(values) // count
    return [values[i * n : (i + 1) * n] for i in range(count)]


def _lstm(given: list[float], own: list[float], states: list[list[float]], low: Low) -> list[list[float]]:
    gates = [low(add(q, x)) for q, x in zip(own, given, strict=True)]
    enters, stays, new, shows = _halves(gates, 4)
    cells = []
    for i, f, g, c in zip(enters, stays, new, states[1], strict=True):
        kept, taken = mul(low(sigmoid(f)), c), mul(low(sigmoid(i)), low(tanh(g)))
        cells.append(low(add(low(kept), low(taken))))
    return [[low(mul(low(sigmoid(o)), low(tanh(c)))) for o, c in zip(shows, cells, strict=True)], cells]


def _gru(given: list[float], own: list[float], states: list[list[float]], low: Low) -> list[list[float]]:
    (r_in, z_in, n_in), (r_own, z_own, n_own) = _halves(given, 3), _halves(own, 3)
    found = []
    for j, h in enumerate(states[0]):
        r = low(sigmoid(low(add(r_own[j], r_in[j]))))
        z = low(sigmoid(low(add(z_own[j], z_in[j]))))
        n = low(tanh(low(add(n_in[j], low(mul(n_own[j], r))))))
        found.append(low(add(low(mul(low(sub(h, n)), z)), n)))
    return [found]


def _rnn(function: Callable[[float], float]) -> Step:
    def step(given: list[float], own: list[float], states: list[list[float]], low: Low) -> list[list[float]]:
        return [[low(function(low(add(q, x)))) for q, x in zip(own, given, strict=True)]]

    return step


def _linear(x: Sequence[float], weight: Tensor, bias: Tensor | None, order: str, low: Low) -> list[float]:
    k = weight.shape[1]
    found = []
    for m in range(weight.shape[0]):
        value = product_of(x, weight.data[m * k : (m + 1) * k], order)
        found.append(low(value if bias is None else add(value, bias.data[m])))
    return found


def _direction(
    step: Step, rows: Rows, states: list[list[float]], params: list[Any], order: str, low: Low
) -> tuple[Rows, list[list[float]]]:
    weight_ih, weight_hh, bias_ih, bias_hh = params
    outputs = []
    for x in rows:
        given = _linear(x, weight_ih, bias_ih, order, low)
        states = step(given, _linear(states[0], weight_hh, bias_hh, order, low), states, low)
        outputs.append(states[0])
    return outputs, states


def _layers(
    step: Step, samples: list[Rows], hx: list[Tensor], params: list[Tensor], has_biases: bool, num_layers: int,
    bidirectional: bool, order: str,
) -> tuple[list[Rows], list[Tensor]]:  # fmt: skip
    """The outputs of each sample, and the last states."""
    dtype, each, directions = hx[0].dtype, 4 if has_biases else 2, 1 + bidirectional

    def low(x: float) -> float:
        return rounded(x, dtype)  # type: ignore[no-any-return]

    last = [state.copy() for state in hx]
    for layer in range(num_layers):
        for b, rows in enumerate(samples):
            sides = []
            for side in range(directions):
                at = layer * directions + side
                of_side: list[Any] = list(params[at * each : (at + 1) * each]) + [None] * (4 - each)
                widths = [state.shape[2] for state in hx]
                states = [[s[at, b, j] for j in range(n)] for s, n in zip(hx, widths, strict=True)]
                outputs, ends = _direction(step, rows[::-1] if side else rows, states, of_side, order, low)
                sides.append(outputs[::-1] if side else outputs)
                for state, end in zip(last, ends, strict=True):
                    for j, value in enumerate(end):
                        state[at, b, j] = value
            samples[b] = [[x for side in row for x in side] for row in zip(*sides, strict=True)]
    return samples, last


def _params(gates: int, t: str, width: int, hidden: int, layers: int, directions: int, biases: bool) -> str:
    found, seed = [], 10
    for layer in range(layers):
        for _ in range(directions):
            of_input = width if layer == 0 else hidden * directions
            for shape in (
                f"{gates * hidden}, {of_input}",
                f"{gates * hidden}, {hidden}",
                *[str(gates * hidden)] * (2 * biases),
            ):
                found.append(f"uniform{t}[{shape}]#{seed}")
                seed += 1
    return ", ".join(found)


_LOW = ("", ".bfloat16", ".float16")
_FORMS = [
    *((t, "normal", 4, 3, 5, 7, 1, 1, True, False) for t in _LOW),
    ("", "special", 3, 2, 5, 6, 1, 1, True, False),
    ("", "wide", 2, 2, 300, 5, 1, 1, False, False),
    ("", "zeros", 3, 2, 5, 6, 2, 2, True, True),
    (".bfloat16", "normal", 3, 2, 5, 6, 2, 2, True, True),
]
"""Dtype, input, steps, batch, width, hidden, layers, directions, biases, batch first."""


def _declare(name: str, step: Step, gates: int, states: int) -> None:
    def numbers(form: Any) -> tuple[str, str]:
        t, _, _, batch, width, hidden, layers, directions, biases, _ = form
        held = [f"normal{t}[{layers * directions}, {batch}, {hidden}]#{seed}" for seed in (4, 5)]
        hx = f"[{', '.join(held)}]" if states == 2 else held[0]
        params = _params(gates, t, width, hidden, layers, directions, biases)
        return hx, (
            f"params=[{params}], has_biases={biases}, num_layers={layers}, dropout=0.0, train=False, "
            f"bidirectional={directions == 2}"
        )

    def given(hx: Any) -> list[Tensor]:
        return hx if states == 2 else [hx]

    cases = []
    for form in _FORMS:
        t, generator, steps, batch, width, *_, batch_first = form
        hx, rest = numbers(form)
        shape = f"{batch}, {steps}, {width}" if batch_first else f"{steps}, {batch}, {width}"
        cases.append(f"input={generator}{t}[{shape}]#1, hx={hx}, {rest}, batch_first={batch_first}")
    cases.append(f"{cases[4]}, order='sequential'")

    @reference(f"{name}.input", cases=cases)
    def run(
        input: Tensor, hx: Any, params: list[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool, order: str = "blocked",
    ) -> list[Any]:  # fmt: skip
        first, second, width = input.shape
        batch, steps = (first, second) if batch_first else (second, first)

        def row(b: int, s: int) -> list[float]:
            return [input[(b, s, j) if batch_first else (s, b, j)] for j in range(width)]

        samples = [[row(b, s) for s in range(steps)] for b in range(batch)]
        samples, last = _layers(step, samples, given(hx), params, has_biases, num_layers, bidirectional, order)
        rows = samples if batch_first else [list(row) for row in zip(*samples, strict=True)]
        data = [x for of_first in rows for row in of_first for x in row]
        return [Tensor(input.dtype, (first, second, len(rows[0][0])), data), last]

    packed = []
    for form in _FORMS:
        t, generator, steps, _, width, *_ = form
        lengths = [(steps - 1 - i) // 2 + 1 for i in range(steps)]  # of `falling`
        hx, rest = numbers((*form[:3], lengths[0], *form[4:]))
        packed.append(
            f"data={generator}{t}[{sum(lengths)}, {width}]#1, batch_sizes=falling.int64[{steps}]#0, hx={hx}, {rest}"
        )

    @reference(f"{name}.data", cases=packed)
    def run_packed(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: list[Tensor], has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool,
    ) -> list[Any]:  # fmt: skip
        width, sizes = data.shape[1], batch_sizes.data
        first = [sum(sizes[:s]) for s in range(len(sizes))]
        samples = [
            [data.data[(first[s] + b) * width :][:width] for s, size in enumerate(sizes) if size > b]
            for b in range(sizes[0])
        ]
        samples, last = _layers(step, samples, given(hx), params, has_biases, num_layers, bidirectional, "blocked")
        rows = [samples[b][s] for s, size in enumerate(sizes) for b in range(size)]
        return [Tensor(data.dtype, (len(rows), len(rows[0])), [x for row in rows for x in row]), last]


def _relu(x: float) -> float:
    return x if x != x or x > 0 else 0.0


_declare("lstm", _lstm, 4, 2)
_declare("gru", _gru, 3, 1)
_declare("rnn_tanh", _rnn(tanh), 1, 1)
_declare("rnn_relu", _rnn(_relu), 1, 1)
