# SPDX-License-Identifier: MIT
"""LSTM, GRU and RNN as one op a direction of a layer have the bits of torch's steps, one call each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import repdl
from repdl import _core
from repdl.interception.aten import recurrent
from support import TARGETS, same_bits

KINDS = {
    "lstm": (nn.LSTM, {}),
    "gru": (nn.GRU, {}),
    "tanh": (nn.RNN, {}),
    "relu": (nn.RNN, {"nonlinearity": "relu"}),
}


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


def made(kind: str, *sizes: int, dtype: torch.dtype = torch.float32, **options: Any) -> nn.RNNBase:
    torch.manual_seed(3)
    layer, more = KINDS[kind]
    return layer(*sizes, dtype=dtype, **options, **more)  # type: ignore[no-any-return]


def both_ways(monkeypatch: pytest.MonkeyPatch, call: Any) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    torch.manual_seed(5)
    ours = call()
    with monkeypatch.context() as patch:
        patch.setattr(recurrent, "_fits_the_op", lambda *args: False)
        torch.manual_seed(5)
        return ours, call()


def assert_same(ours: list[torch.Tensor], steps: list[torch.Tensor], what: str) -> None:
    assert len(ours) == len(steps)
    for i, (a, b) in enumerate(zip(ours, steps, strict=True)):
        assert a.shape == b.shape and a.stride() == b.stride() and a.dtype == b.dtype, (what, i)
        assert same_bits(a, b), (what, i)


def flat(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else [t for r in results for t in flat(r)]


def trained(model: nn.RNNBase, x: torch.Tensor, states: Any, which: Any) -> list[torch.Tensor]:
    """The results, and all gradients of some of them."""
    leaf = x.clone().requires_grad_()
    hx = [s.clone().requires_grad_() for s in states]
    outputs = flat(model(leaf, tuple(hx) if len(hx) == 2 else hx[0]))
    generator = torch.Generator().manual_seed(7)
    chosen = [outputs[i] for i in which if i < len(outputs)]
    cotangents = [torch.randn(o.shape, generator=generator, dtype=o.dtype) for o in chosen]
    grads = torch.autograd.grad(chosen, [leaf, *hx, *model.parameters()], cotangents)
    return [*(o.detach() for o in outputs), *grads]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"batch_first": True},
    {"bidirectional": True},
    {"num_layers": 2, "dropout": 0.5},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_give_the_same_bits(monkeypatch: pytest.MonkeyPatch, kind: str, options: dict[str, Any]) -> None:
    for dtype in (torch.float32, torch.float64):
        model = made(kind, 6, 11, dtype=dtype, **options)
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        x, first = (
            torch.randn(5, 4, 6, dtype=dtype),
            torch.randn(2 if kind == "lstm" else 1, layers, 4, 11, dtype=dtype),
        )
        if options.get("batch_first"):
            x = x.transpose(0, 1)
        for which in ((0, 1, 2), (0,), (1,), (2,)) if kind == "lstm" else ((0, 1), (0,), (1,)):
            ours, steps = both_ways(monkeypatch, lambda m=model, w=which, x=x, s=first: trained(m, x, s, w))
            assert_same(ours, steps, f"{dtype}, gradients of {which}")


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_numbers(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Infinities, NaN, subnormal numbers and zeros of both signs, in weights, inputs and states."""
    hard = torch.tensor([0.0, -0.0, 1e-42, -1e-38, 3e38, torch.inf, -torch.inf, torch.nan, 1.0, -30.0])
    for seed in range(4):
        model = made(kind, 5, 7)
        generator = torch.Generator().manual_seed(seed)

        def some(*shape: int, generator: torch.Generator = generator) -> torch.Tensor:
            x = torch.randn(shape, generator=generator)
            hit = torch.rand(shape, generator=generator) < 0.03
            return torch.where(hit, hard[torch.randint(len(hard), shape, generator=generator)], x)

        with torch.no_grad():
            for p in model.parameters():
                p.copy_(some(*p.shape) if seed % 2 else p)
        x, first = some(4, 3, 5), some(2 if kind == "lstm" else 1, 1, 3, 7)
        ours, steps = both_ways(monkeypatch, lambda m=model, x=x, s=first: trained(m, x, s, (0, 1, 2)))
        assert_same(ours, steps, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_threads_and_targets(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Above the sizes where a call forks, by samples and by units, and around vectors and chunks."""
    for batch, hidden, steps in ((1, 190, 3), (9, 130, 2), (30, 64, 3), (300, 9, 2), (3, 258, 1)):
        model = made(kind, 4, hidden)
        x, first = torch.randn(steps, batch, 4), torch.randn(2 if kind == "lstm" else 1, 1, batch, hidden)
        torch.set_num_threads(1)
        with monkeypatch.context() as patch:
            patch.setattr(recurrent, "_fits_the_op", lambda *args: False)
            expected = trained(model, x, first, (0, 1, 2))
        for number, target in enumerate(TARGETS):
            _core.set_target(target)
            for threads in (1, 2, 3, 7) if number == 0 else (number % 3 + 1,):
                torch.set_num_threads(threads)
                assert_same(trained(model, x, first, (0, 1, 2)), expected, f"{batch}, {hidden}, {target}, {threads}")
        _core.set_target(TARGETS[0])


@pytest.mark.parametrize("order", ["blocked", "sequential"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_alone_gives_the_bits_of_the_batch(kind: str, order: str) -> None:
    model = made(kind, 6, 40, num_layers=2, bidirectional=True)
    x = torch.randn(5, 13, 6)
    with repdl.order(order):
        output, states = model(x)
        for b in (0, 4, 12):
            alone, alone_states = model(x[:, b : b + 1])
            assert same_bits(alone, output[:, b : b + 1])
            for s, t in zip(flat(states), flat(alone_states), strict=True):
                assert same_bits(t, s[:, b : b + 1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_is_its_steps(kind: str) -> None:
    """One call over all steps, calls of a step each, the cell, and a packed sequence."""
    model = made(kind, 6, 20)
    x = torch.randn(7, 3, 6)
    whole, last = model(x)
    states = None
    for t in range(7):
        output, states = model(x[t : t + 1], states)
        assert same_bits(output, whole[t : t + 1])
    assert all(same_bits(a, b) for a, b in zip(flat(last), flat(states), strict=True))
    cell = {"lstm": nn.LSTMCell, "gru": nn.GRUCell}.get(kind)
    of_cell = cell(6, 20) if cell else nn.RNNCell(6, 20, nonlinearity=kind)
    of_cell.load_state_dict({k.removesuffix("_l0"): v for k, v in model.state_dict().items()})
    h = None
    for t in range(7):
        h = of_cell(x[t], h)
        assert same_bits(flat(h)[0], whole[t])
    lengths = torch.tensor([7, 5, 2])
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
    padded, _ = nn.utils.rnn.pad_packed_sequence(model(packed)[0])
    for b, n in enumerate(lengths):
        assert same_bits(padded[:n, b], whole[:n, b])


@pytest.mark.parametrize("kind", KINDS)
def test_shared_parameters(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Gradients of two calls of one layer are added call by call, either way."""
    model, x = made(kind, 6, 9), torch.randn(4, 3, 6)

    def call() -> list[torch.Tensor]:
        first, states = model(x)
        second, _ = model(x.flip(0), states)
        return list(torch.autograd.grad((first * second).sum(), list(model.parameters())))

    assert_same(*both_ways(monkeypatch, call), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_gradients(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    model, x = made(kind, 4, 5, dtype=torch.float64, bidirectional=True), torch.randn(3, 2, 4, dtype=torch.float64)

    def call() -> list[torch.Tensor]:
        leaf = x.clone().requires_grad_()
        output, states = model(leaf)
        loss = output.square().sum() + sum(s.sin().sum() for s in flat(states))
        (grad,) = torch.autograd.grad(loss, leaf, create_graph=True)
        return [grad.detach(), *torch.autograd.grad(grad.square().sum(), [leaf, *model.parameters()])]

    ours, steps = both_ways(monkeypatch, call)
    assert same_bits(ours[0], steps[0])
    for a, b in zip(ours, steps, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_op_does_not_serve(kind: str) -> None:
    """Autocast, transforms, forward gradients, 16 bits, other shapes: torch's steps."""
    model, x = made(kind, 6, 9), torch.randn(4, 3, 6)
    leaf = x.clone().requires_grad_()
    (grad,) = torch.autograd.grad(model(leaf)[0].sum(), leaf)
    assert same_bits(torch.func.grad(lambda y: model(y)[0].sum())(x), grad)
    with torch.autocast("cpu", torch.bfloat16):
        assert model(x)[0].isfinite().all()
    assert made(kind, 6, 9, dtype=torch.bfloat16)(x.bfloat16())[0].dtype == torch.bfloat16
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        assert torch.autograd.forward_ad.unpack_dual(model(dual)[0]).tangent.isfinite().all()
    with pytest.raises(RuntimeError, match=r"input\.size"):
        model(torch.randn(4, 3, 7))
    assert model(torch.randn(4, 0, 6))[0].shape == (4, 0, 9)
    with pytest.raises(RuntimeError, match="larger than 0"):
        model(torch.randn(0, 3, 6))


def test_a_program_may_write_to_the_output() -> None:
    for kind in KINDS:
        model, x = made(kind, 6, 9), torch.randn(4, 3, 6)
        output, _ = model(x)
        expected = torch.autograd.grad((output * 2).sum(), list(model.parameters()))
        output, _ = model(x)
        output.mul_(2)
        assert_same(list(torch.autograd.grad(output.sum(), list(model.parameters()))), list(expected), kind)


def test_a_projected_lstm() -> None:
    model, x = nn.LSTM(6, 9, 2, proj_size=4, bidirectional=True), torch.randn(4, 3, 6)
    output, _ = model(x)
    assert output.shape == (4, 3, 8)
    output.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # from the first import of torch's jvp
@pytest.mark.parametrize("options", [*OPTIONS[:4], {"num_layers": 2}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_each_entry_of_a_batch(kind: str, options: dict[str, Any]) -> None:
    model, x = made(kind, 5, 7, **options), torch.randn(6, 2, 3, 5)
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params: Any, x: torch.Tensor) -> torch.Tensor:
        output, _ = torch.func.functional_call(model, params, (x,))
        return output.sin().sum()

    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)
    for i, entry in enumerate(x):
        model.zero_grad()
        loss(dict(model.named_parameters()), entry).backward()
        for name, p in model.named_parameters():
            assert p.grad is not None
            assert same_bits(found[name][i], p.grad), (name, i)


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
def test_autocast_gives_the_type_that_torch_has_without_onednn() -> None:
    layer, x = nn.LSTM(4, 3), torch.randn(5, 1, 4)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.backends.mkldnn.flags(enabled=False):
            stock = layer(x)[0]
        with repdl.reproducible():
            assert layer(x)[0].dtype == stock.dtype == torch.float32
