# SPDX-License-Identifier: MIT
"""Recurrent layers: 64 features, 32 steps, a batch of 16."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from accuracy.calls import Call, Draw, family
from accuracy.precise import Array, sigmoid

SETTINGS = (True, 1, 0.0, False, False, False)
"""Biases, one layer, no dropout, no training, one direction, time first."""


def _lstm(x: Tensor, *weights: Tensor) -> Tensor:
    start = x.new_zeros(1, x.shape[1], 64)
    return torch._VF.lstm(x, (start, start), weights, *SETTINGS)[0]


def _gru(x: Tensor, *weights: Tensor) -> Tensor:
    return torch._VF.gru(x, x.new_zeros(1, x.shape[1], 64), weights, *SETTINGS)[0]


def _rnn(x: Tensor, *weights: Tensor) -> Tensor:
    return torch._VF.rnn_tanh(x, x.new_zeros(1, x.shape[1], 64), weights, *SETTINGS)[0]


def _exact_lstm(x: Array, w: Array, u: Array, b: Array, c: Array) -> Array:
    hidden = cell = np.zeros((x.shape[1], 64), dtype=x.dtype)
    steps = []
    for step in x:
        take, forget, new, out = np.split(step @ w.T + b + hidden @ u.T + c, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(take) * np.tanh(new)
        hidden = sigmoid(out) * np.tanh(cell)
        steps.append(hidden)
    return np.array(steps)


def _exact_gru(x: Array, w: Array, u: Array, b: Array, c: Array) -> Array:
    hidden = np.zeros((x.shape[1], 64), dtype=x.dtype)
    steps = []
    for step in x:
        (r, z, n), (rh, zh, nh) = np.split(step @ w.T + b, 3, axis=1), np.split(hidden @ u.T + c, 3, axis=1)
        keep = sigmoid(z + zh)
        hidden = (1 - keep) * np.tanh(n + sigmoid(r + rh) * nh) + keep * hidden
        steps.append(hidden)
    return np.array(steps)


def _exact_rnn(x: Array, w: Array, u: Array, b: Array, c: Array) -> Array:
    hidden = np.zeros((x.shape[1], 64), dtype=x.dtype)
    steps = []
    for step in x:
        hidden = np.tanh(step @ w.T + b + hidden @ u.T + c)
        steps.append(hidden)
    return np.array(steps)


@family("recurrent layers")
def _recurrent(draw: Draw) -> Iterator[Call]:
    for name, function, exact, gates in (
        ("LSTM", _lstm, _exact_lstm, 4),
        ("GRU", _gru, _exact_gru, 3),
        ("RNN", _rnn, _exact_rnn, 1),
    ):
        for kind, size in (("", 0.125), (", large weights", 0.5)):
            weights = [draw.between(-size, size, 64 * gates, *of) for of in ((64,), (64,), (), ())]
            yield Call(f"{name}, 64 features, 32 steps{kind}", function, (draw.normal(32, 16, 64), *weights), exact)
