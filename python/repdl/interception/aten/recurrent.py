# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN, above autograd: one op for each direction of each layer.

Where the op does not serve, torch's own steps do, one call each, with the same bits. On devices they are those
of `recurrent_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from repdl import ops
from repdl._torch import PLAIN
from repdl.interception.aten.packed_steps import over_packed_steps
from repdl.interception.aten.recurrent_steps import Layer, Step, gru_step, in_steps, lstm_step, projected, rnn_step
from repdl.interception.native import LOW_DTYPES, Kernel, elsewhere, is_served, native_of
from repdl.interception.override import composite
from repdl.interception.strict import not_reproducible
from repdl.interception.unwatched import in_vmap, transformed

States = Sequence[torch.Tensor]


def _lstm_layer(gates: torch.Tensor, states: States, weight: Any, bias: Any, reverse: bool) -> tuple[torch.Tensor, ...]:
    hx, cx = states
    return ops.lstm(gates, hx, cx, weight, bias, reverse)[:3]


def _gru_layer(gates: torch.Tensor, states: States, weight: Any, bias: Any, reverse: bool) -> tuple[torch.Tensor, ...]:
    (hx,) = states
    return ops.gru(gates, hx, weight, bias, reverse)[:2]


def _rnn_layer(nonlinearity: str) -> Layer:
    def layer(gates: torch.Tensor, states: States, weight: Any, bias: Any, reverse: bool) -> tuple[torch.Tensor, ...]:
        (hx,) = states
        return ops.rnn(gates, hx, weight, bias, nonlinearity, reverse)

    return layer


def _are_plain(input: torch.Tensor, states: Sequence[torch.Tensor], params: Sequence[torch.Tensor]) -> bool:
    """Whether the tensors are plain ones of one type and device, and nobody traces or transforms the call."""
    dtype, device = input.dtype, input.device
    if not dtype.is_floating_point or input.is_meta or not is_served(device):
        return False
    if torch.is_autocast_enabled(device.type) or transformed():
        return False
    return all(
        type(t) in PLAIN and t.dtype == dtype and t.device == device and t.layout == torch.strided
        for t in (input, *states, *params)
    )


def _fits_the_op(
    input: torch.Tensor,
    states: Sequence[torch.Tensor],
    params: Sequence[torch.Tensor],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    gates: int,
) -> bool:
    """Whether the tensors are plain ones whose shapes belong together."""
    each, layers = 4 if has_biases else 2, num_layers * (2 if bidirectional else 1)
    if input.dim() != 3 or len(params) != layers * each or input.dtype in LOW_DTYPES:
        return False
    if not _are_plain(input, states, params):
        return False
    steps, batch = (input.shape[1], input.shape[0]) if batch_first else input.shape[:2]
    hidden, width = states[0].shape[-1], input.shape[2]
    if steps == 0 or any(state.shape != (layers, batch, hidden) for state in states):
        return False
    rows = gates * hidden
    for i in range(0, len(params), each):
        if params[i].shape != (rows, width if i < each * layers // num_layers else hidden * layers // num_layers):
            return False
        if params[i + 1].shape != (rows, hidden) or any(b.shape != (rows,) for b in params[i + 2 : i + each]):
            return False
    return True


def _in_layers(
    layer_of: Callable[[Any], Layer],
    x: torch.Tensor,
    states: Sequence[torch.Tensor],
    params: Sequence[torch.Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[torch.Tensor, ...]:
    """`layer_of` makes a layer of its projection, or None."""
    each, directions = _params_of_each(has_biases, states), 2 if bidirectional else 1
    states_of_layers = list(zip(*(state.unbind(0) for state in states), strict=True))
    last = []
    for number in range(num_layers):
        outputs = []
        for direction in range(directions):
            i = number * directions + direction
            weight_ih, weight_hh, *others = params[i * each : (i + 1) * each]
            bias_ih, bias_hh = others[:2] if has_biases else (None, None)
            output, *ends = layer_of(others[-1] if each % 2 else None)(
                F.linear(x, weight_ih, bias_ih), states_of_layers[i], weight_hh, bias_hh, direction == 1
            )
            outputs.append(output)
            last.append(ends)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout != 0 and train and number < num_layers - 1:
            x = torch.dropout(x, dropout, True)
    return x, *(torch.stack(ends) for ends in zip(*last, strict=True))


def _params_of_each(has_biases: bool, states: Sequence[torch.Tensor]) -> int:
    """An odd number with a projection."""
    return (4 if has_biases else 2) + (len(states) == 2 and states[0].shape[-1:] != states[1].shape[-1:])


def _apart(params: Sequence[torch.Tensor], has_biases: bool, states: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The parameters, those of each step behind a view: their gradients are added before those of other calls."""
    each = _params_of_each(has_biases, states)
    return [p.view_as(p) if i % each in (1, 3) else p for i, p in enumerate(params)]


def _natively(name: str, native: Kernel, args: tuple[Any, ...]) -> Any:
    """torch's own steps. On devices other than the CPU they are others, whose gradients have other sums."""
    if args[0].device.type in ("cpu", "meta"):
        return native(*args)
    return not_reproducible(name, args, {}, native, "device")


def _declare(name: str, layer: Layer, step: Step, gates: int) -> None:
    native, native_of_packed = native_of(f"{name}.input"), native_of(f"{name}.data")
    has_c = name == "lstm"

    def steps_of(projection: Any) -> Layer:
        return in_steps(step if projection is None else projected(step, projection))

    def fits_the_steps(
        input: torch.Tensor,
        states: Sequence[torch.Tensor],
        params: Sequence[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        bidirectional: bool,
    ) -> bool:
        """Whether the tensors are as many as belong together, and plain ones on a device or within `torch.vmap`."""
        if len(states) != 1 + has_c or any(state.dim() != 3 for state in states):
            return False
        if len(params) != num_layers * (2 if bidirectional else 1) * _params_of_each(has_biases, states):
            return False
        return in_vmap() or (input.device.type in elsewhere and _are_plain(input, states, params))

    @composite(f"{name}.input")
    def recurrent(
        input: torch.Tensor,
        hx: Any,
        params: Sequence[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[torch.Tensor, ...]:
        states = list(hx) if has_c else [hx]
        sizes = has_biases, num_layers, bidirectional, batch_first
        if len(states) == 1 + has_c and _fits_the_op(input, states, params, *sizes, gates):
            x = input.transpose(0, 1) if batch_first else input
            x, *last = _in_layers(
                lambda _: layer, x, states, params, has_biases, num_layers, dropout, train, bidirectional
            )
            if not bidirectional and x.requires_grad:
                x = x.clone()  # the op's own output is saved for its gradient, and a program may write to this one
            return x.transpose(0, 1) if batch_first else x, *last
        own = _apart(params, has_biases, states)
        if (
            fits_the_steps(input, states, params, has_biases, num_layers, bidirectional)
            and input.dim() == 3
            and input.shape[1 if batch_first else 0] > 0
        ):
            x = input.transpose(0, 1) if batch_first else input
            x, *last = _in_layers(steps_of, x, states, own, has_biases, num_layers, dropout, train, bidirectional)
            return x.transpose(0, 1) if batch_first else x, *last
        args = input, hx, own, has_biases, num_layers, dropout, train, bidirectional, batch_first
        return _natively(f"{name}.input", native, args)

    @composite(f"{name}.data")
    def packed(
        data: torch.Tensor,
        batch_sizes: torch.Tensor,
        hx: Any,
        params: Sequence[torch.Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[torch.Tensor, ...]:
        states = list(hx) if has_c else [hx]
        own = _apart(params, has_biases, states)
        sizes = has_biases, num_layers, dropout, train, bidirectional
        if fits_the_steps(data, states, params, has_biases, num_layers, bidirectional):
            lengths = batch_sizes.tolist()

            def packed_layer(projection: Any) -> Layer:
                of_op = projection is None and data.dtype not in LOW_DTYPES and name != "gru" and not in_vmap()
                return over_packed_steps(layer if of_op else steps_of(projection), lengths)

            return _in_layers(packed_layer, data, states, own, *sizes)
        # torch reads them one after another in memory, whatever their strides.
        return _natively(f"{name}.data", native_of_packed, (data, batch_sizes.contiguous(), hx, own, *sizes))


_declare("lstm", _lstm_layer, lstm_step, 4)
_declare("gru", _gru_layer, gru_step, 3)
_declare("rnn_tanh", _rnn_layer("tanh"), rnn_step("tanh"), 1)
_declare("rnn_relu", _rnn_layer("relu"), rnn_step("relu"), 1)
