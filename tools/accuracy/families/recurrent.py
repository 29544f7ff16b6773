# SPDX-License-Identifier: MIT
"""Recurrent layers: 64 features, 32 steps, a batch of 16."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from accuracy.calls import Call, Draw, Exact, family
from accuracy.precise import Array, sigmoid


def _settings(training: bool) -> tuple[bool, int, float, bool, bool, bool]:
    """Biases, one layer, no dropout, one direction, time first."""
    return True, 1, 0.0, training, False, False


def lstm(x: Tensor, *weights: Tensor, training: bool = False) -> Tensor:
    start = x.new_zeros(1, x.shape[1], 64)
    return torch._VF.lstm(x, (start, start), weights, *_settings(training))[0]


def _gru(x: Tensor, *weights: Tensor) -> Tensor:
    return torch._VF.gru(x, x.new_zeros(1, x.shape[1], 64), weights, *_settings(False))[0]


def _rnn(x: Tensor, *weights: Tensor) -> Tensor:
    return torch._VF.rnn_tanh(x, x.new_zeros(1, x.shape[1], 64), weights, *_settings(False))[0]


Cell = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
"""Of the gates by a step of the input, those by the hidden state, that state and that of the cell: the next states."""


def _unrolled(cell: Cell) -> Exact:
    def exact(x: Array, w: Array, u: Array, b: Array, c: Array) -> Array:
        hidden = inner = np.zeros((x.shape[1], 64), dtype=x.dtype)
        steps = []
        for step in x:
            hidden, inner = cell(step @ w.T + b, hidden @ u.T + c, hidden, inner)
            steps.append(hidden)
        return np.array(steps)

    return exact


def _lstm_cell(x: Array, h: Array, hidden: Array, inner: Array) -> tuple[Array, Array]:
    take, forget, new, out = np.split(x + h, 4, axis=1)
    inner = sigmoid(forget) * inner + sigmoid(take) * np.tanh(new)
    return sigmoid(out) * np.tanh(inner), inner


def _gru_cell(x: Array, h: Array, hidden: Array, inner: Array) -> tuple[Array, Array]:
    (r, z, n), (rh, zh, nh) = np.split(x, 3, axis=1), np.split(h, 3, axis=1)
    keep = sigmoid(z + zh)
    return (1 - keep) * np.tanh(n + sigmoid(r + rh) * nh) + keep * hidden, inner


def _rnn_cell(x: Array, h: Array, hidden: Array, inner: Array) -> tuple[Array, Array]:
    return np.tanh(x + h), inner


@family("recurrent layers")
def _recurrent(draw: Draw) -> Iterator[Call]:
    for name, function, cell, gates in (
        ("LSTM", lstm, _lstm_cell, 4),
        ("GRU", _gru, _gru_cell, 3),
        ("RNN", _rnn, _rnn_cell, 1),
    ):
        for kind, size in (("", 0.125), (", large weights", 0.5)):
            weights = [draw.between(-size, size, 64 * gates, *of) for of in ((64,), (64,), (), ())]
            operands = draw.normal(32, 16, 64), *weights
            yield Call(f"{name}, 64 features, 32 steps{kind}", function, operands, _unrolled(cell))
