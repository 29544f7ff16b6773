# SPDX-License-Identifier: MIT
"""Recurrent layers: one direction of one layer over a whole sequence, from the input's part of the gates on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from repdl._aliases import aliases
from repdl._op import Sample, Tensor, no_rows, op, sample
from repdl.ops.elementwise.activation import relu, sigmoid
from repdl.ops.elementwise.hyperbolic import tanh
from repdl.ops.linear import linear


@op(outputs=("output", "h_n", "c_n", "saved"))
def lstm(
    gates: Tensor,
    hx: Tensor,
    cx: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    reverse: bool = False,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One direction of one layer of an LSTM.

    Args:
        gates: float32 or float64, (t, b, 4h), the input's part: `linear(input, weight_ih, bias_ih)`.
        hx: as gates, (b, h).
        cx: as gates, (b, h).
        weight: as gates, (4h, h), torch's weight_hh; the gates are i, f, g and o.
        bias: as gates, (4h), or None.
        reverse: whether the steps go from the end of the sequence to its beginning.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The output (t, b, h), the last h and c (b, h), and what the gradient reads (t, b, 5h).
    """


@op(outputs=("grad_gates", "grad_states", "grad_weight", "grad_bias"))
def lstm_grad(
    output: Tensor,
    saved: Tensor,
    hx: Tensor,
    cx: Tensor,
    weight: Tensor,
    grad_output: Tensor | None = None,
    grad_h_n: Tensor | None = None,
    grad_c_n: Tensor | None = None,
    reverse: bool = False,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of lstm by gates, by hx and cx in one tensor (2, b, h), by weight and by bias."""


@op(outputs=("output", "h_n", "saved"))
def gru(
    gates: Tensor,
    hx: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    reverse: bool = False,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """One direction of one layer of a GRU.

    Args:
        gates: float32 or float64, (t, b, 3h), the input's part: `linear(input, weight_ih, bias_ih)`.
        hx: as gates, (b, h).
        weight: as gates, (3h, h), torch's weight_hh; the gates are r, z and n.
        bias: as gates, (3h), or None.
        reverse: whether the steps go from the end of the sequence to its beginning.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The output (t, b, h), the last h (b, h), and what the gradient reads (t, b, 4h).
    """


@op(outputs=("grad_gates", "grad_hx", "grad_weight", "grad_bias"))
def gru_grad(
    output: Tensor,
    saved: Tensor,
    hx: Tensor,
    weight: Tensor,
    grad_output: Tensor | None = None,
    grad_h_n: Tensor | None = None,
    reverse: bool = False,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of gru by gates, hx, weight and bias."""


@op(outputs=("output", "h_n"))
def rnn(
    gates: Tensor,
    hx: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    nonlinearity: str = "tanh",
    reverse: bool = False,
    order: str | None = None,
) -> tuple[Tensor, Tensor]:
    """One direction of one layer of Elman's RNN.

    Args:
        gates: float32 or float64, (t, b, h), the input's part: `linear(input, weight_ih, bias_ih)`.
        hx: as gates, (b, h).
        weight: as gates, (h, h), torch's weight_hh.
        bias: as gates, (h), or None.
        nonlinearity: "tanh" or "relu".
        reverse: whether the steps go from the end of the sequence to its beginning.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        The output (t, b, h) and the last h (b, h).
    """


@op(outputs=("grad_gates", "grad_hx", "grad_weight", "grad_bias"))
def rnn_grad(
    output: Tensor,
    hx: Tensor,
    weight: Tensor,
    grad_output: Tensor | None = None,
    grad_h_n: Tensor | None = None,
    nonlinearity: str = "tanh",
    reverse: bool = False,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of rnn by gates, hx, weight and bias."""


@lstm.backward(saves=("gates", "hx", "cx", "weight", "bias", "output", "saved"), non_differentiable=("saved",))
def _lstm_backward(saved: Any, grad: Any, grad_h: Any, grad_c: Any) -> Mapping[str, Any]:
    import torch

    if torch.is_grad_enabled():  # somebody differentiates the gradient
        return _differentiable(_lstm_step, saved, ("hx", "cx"), (grad, grad_h, grad_c))
    gates, states, weight, bias = lstm_grad(
        saved.output, saved.saved, saved.hx, saved.cx, saved.weight, grad, grad_h, grad_c, saved.reverse, saved.order
    )
    return {"gates": gates, "hx": states[0], "cx": states[1], "weight": weight, "bias": bias}


@gru.backward(saves=("gates", "hx", "weight", "bias", "output", "saved"), non_differentiable=("saved",))
def _gru_backward(saved: Any, grad: Any, grad_h: Any) -> Mapping[str, Any]:
    import torch

    if torch.is_grad_enabled():
        return _differentiable(_gru_step, saved, ("hx",), (grad, grad_h))
    grads = gru_grad(saved.output, saved.saved, saved.hx, saved.weight, grad, grad_h, saved.reverse, saved.order)
    return dict(zip(("gates", "hx", "weight", "bias"), grads, strict=True))


@rnn.backward(saves=("gates", "hx", "weight", "bias", "output"))
def _rnn_backward(saved: Any, grad: Any, grad_h: Any) -> Mapping[str, Any]:
    import torch

    if torch.is_grad_enabled():
        step = _relu_step if saved.nonlinearity == "relu" else _tanh_step
        return _differentiable(step, saved, ("hx",), (grad, grad_h))
    grads = rnn_grad(saved.output, saved.hx, saved.weight, grad, grad_h, saved.nonlinearity, saved.reverse, saved.order)
    return dict(zip(("gates", "hx", "weight", "bias"), grads, strict=True))


def _lstm_step(q: Any, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    i, f, g, o = (q + x).chunk(4, 1)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def _gru_step(q: Any, x: Any, h: Any) -> tuple[Any]:
    (q_r, q_z, q_n), (x_r, x_z, x_n) = q.chunk(3, 1), x.chunk(3, 1)
    r, z = sigmoid(q_r + x_r), sigmoid(q_z + x_z)
    n = tanh(x_n + q_n * r)
    return ((h - n) * z + n,)


def _tanh_step(q: Any, x: Any, h: Any) -> tuple[Any]:
    return (tanh(q + x),)


def _relu_step(q: Any, x: Any, h: Any) -> tuple[Any]:
    return (relu(q + x),)


def _differentiable(
    step: Callable[..., tuple[Any, ...]], saved: Any, states: Sequence[str], grads: Sequence[Any]
) -> Mapping[str, Any]:
    """The gradients in single ops, of which each has a gradient."""
    import torch

    operands = {name: getattr(saved, name) for name in ("gates", *states, "weight", "bias")}
    wanted = aliases(operands)
    operands |= wanted
    state, outputs = [operands[name] for name in states], []
    gates = operands["gates"].unbind(0)
    for x in reversed(gates) if saved.reverse else gates:
        state = list(step(linear(state[0], operands["weight"], operands["bias"], saved.order), x, *state))
        outputs.append(state[0])
    output = torch.stack(outputs[::-1] if saved.reverse else outputs)
    given = [(o, g) for o, g in zip((output, *state), grads, strict=True) if g is not None]
    results = torch.autograd.grad(
        [o for o, _ in given], list(wanted.values()), [g for _, g in given], create_graph=True, allow_unused=True
    )
    return dict(zip(wanted, results, strict=True))


lstm.shapes(
    lambda call: [
        (*call["gates"].shape[:2], call["weight"].shape[1]),
        call["hx"].shape,
        call["cx"].shape,
        (*call["gates"].shape[:2], 5 * call["weight"].shape[1]),
    ]
)
gru.shapes(
    lambda call: [
        (*call["gates"].shape[:2], call["weight"].shape[1]),
        call["hx"].shape,
        (*call["gates"].shape[:2], 4 * call["weight"].shape[1]),
    ]
)
rnn.shapes(lambda call: [call["gates"].shape, call["hx"].shape])


def _grad_shapes(call: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    (t, b, _), width, states = call["output"].shape, call["weight"].shape[0], tuple(call["hx"].shape)
    return [(t, b, width), (2, *states) if "cx" in call else states, tuple(call["weight"].shape), (width,)]


lstm_grad.shapes(_grad_shapes)
gru_grad.shapes(_grad_shapes)
rnn_grad.shapes(_grad_shapes)

# The samples are the second dimension of a sequence.
lstm.rows(no_rows)
lstm_grad.rows(no_rows)
gru.rows(no_rows)
gru_grad.rows(no_rows)
rnn.rows(no_rows)
rnn_grad.rows(no_rows)


def _calls() -> Iterator[tuple[tuple[int, int, int], dict[str, Any]]]:
    """Sizes (t, b, h), kinds of numbers and options."""
    yield (3, 5, 7), {}
    yield (4, 2, 33), {"reverse": True}
    yield (1, 1, 1), {"bias": None}
    yield (2, 300, 3), {}  # chunks of the product over the samples
    # And over the units, and worth a fork. Gates of ordinary size would make errors grow from step to step.
    yield (2, 3, 258), {"gates": "wide", "reverse": True}
    yield (5, 16, 40), {"gates": "wide"}
    yield (3, 0, 4), {}
    yield (2, 3, 5), {"gates": "special", "hx": "infinite"}
    yield (2, 3, 5), {"gates": "tiny", "weight": "wide", "grad_output": "bits", "saved": "special"}


def _samples(gates: int, states: Sequence[str], kept: int, grad: bool, **options: Any) -> Iterator[Sample]:
    for number, ((t, b, h), call) in enumerate(_calls()):
        shapes = {
            "gates": [t, b, gates * h],
            "output": [t, b, h],
            "saved": [t, b, kept * h],
            **{name: [b, h] for name in states},
            "weight": [gates * h, h],
            "bias": [gates * h],
            "grad_output": [t, b, h],
            **{f"grad_{name[0]}_n": [b, h] for name in states},
        }
        kinds = {"output": "unit", "saved": "unit", "weight": "uniform", **call}
        made = {
            name: None if kinds.get(name, "") is None else f"{kinds.get(name, 'normal')}{shape}#{seed}"
            for seed, (name, shape) in enumerate(shapes.items(), 1)
        }
        if grad:
            names = ["output", *(["saved"] if kept else []), *states, "weight", "grad_output"]
            # Each gradient alone, and all.
            given = [f"grad_{name[0]}_n" for name in states]
            names += given if number % 3 else []
            if number == 1:
                names.remove("grad_output")
            if number == 4 and "grad_c_n" in names:
                names = [name for name in names if name not in ("grad_output", "grad_h_n")]
        else:
            names = ["gates", *states, "weight", "bias"]
        yield sample(**{name: made[name] for name in names}, **options, reverse=call.get("reverse", False))


lstm.samples(lambda: _samples(4, ("hx", "cx"), 5, False))
lstm_grad.samples(lambda: _samples(4, ("hx", "cx"), 5, True))
gru.samples(lambda: _samples(3, ("hx",), 4, False))
gru_grad.samples(lambda: _samples(3, ("hx",), 4, True))


def _samples_of_rnn(grad: bool) -> Iterator[Sample]:
    yield from _samples(1, ("hx",), 0, grad)
    yield from islice(_samples(1, ("hx",), 0, grad, nonlinearity="relu"), 0, None, 4)


rnn.samples(lambda: _samples_of_rnn(False))
rnn_grad.samples(lambda: _samples_of_rnn(True))


def _sequence(
    step: Callable[..., tuple[Any, ...]], gates: Any, states: Sequence[Any], weight: Any, bias: Any, reverse: bool
) -> tuple[Any, ...]:
    """The output, the last states and what each step saved."""
    output: list[Any] = [None] * len(gates)
    saved: list[Any] = [None] * len(gates)
    for t in reversed(range(len(gates))) if reverse else range(len(gates)):
        q = states[0] @ weight.T + (0 if bias is None else bias)
        *states, saved[t] = step(q, gates[t], *states)
        output[t] = states[0]
    return np.stack(output), *states, np.stack(saved)


def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@lstm.oracle
def _lstm_oracle(gates: Any, hx: Any, cx: Any, weight: Any, bias: Any = None, reverse: bool = False) -> Any:
    def step(q: Any, x: Any, h: Any, c: Any) -> tuple[Any, ...]:
        i, f, g, o = np.split(q + x, 4, 1)
        i, f, g, o = _logistic(i), _logistic(f), np.tanh(g), _logistic(o)
        c = f * c + i * g
        return o * np.tanh(c), c, np.concatenate([i, f, g, o, c], 1)

    return _sequence(step, gates, (hx, cx), weight, bias, reverse)


@gru.oracle
def _gru_oracle(gates: Any, hx: Any, weight: Any, bias: Any = None, reverse: bool = False) -> Any:
    def step(q: Any, x: Any, h: Any) -> tuple[Any, ...]:
        (q_r, q_z, q_n), (x_r, x_z, x_n) = np.split(q, 3, 1), np.split(x, 3, 1)
        r, z = _logistic(q_r + x_r), _logistic(q_z + x_z)
        n = np.tanh(x_n + q_n * r)
        return (h - n) * z + n, np.concatenate([r, z, n, q_n], 1)

    return _sequence(step, gates, (hx,), weight, bias, reverse)


@rnn.oracle
def _rnn_oracle(
    gates: Any, hx: Any, weight: Any, bias: Any = None, nonlinearity: str = "tanh", reverse: bool = False
) -> Any:
    def step(q: Any, x: Any, h: Any) -> tuple[Any, ...]:
        return np.maximum(q + x, 0) if nonlinearity == "relu" else np.tanh(q + x), h

    return _sequence(step, gates, (hx,), weight, bias, reverse)[:2]
