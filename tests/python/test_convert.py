# SPDX-License-Identifier: MIT
"""`repdl.from_torch_module` of any model: its bits are those under `repdl.reproducible()`; all others stay torch's."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import repdl
from repdl.interception import local
from support import same_bits, without_kernel

X = torch.linspace(-3, 3, 8 * 6).reshape(8, 6)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    stock = torch.exp(X)
    yield
    assert not repdl.is_enabled()
    gc.collect()
    assert local._held is None or local._held() is None, "something still holds the kernels"
    assert torch.equal(stock, torch.exp(X))


def is_stock_here() -> bool:
    """Whether torch's own kernels compute now: theirs of many sigmoids are not all correctly rounded."""
    x = torch.linspace(-4, 4, 4001)
    return not same_bits(torch.sigmoid(x), repdl.ops.sigmoid(x))


class Block(nn.Module):
    """Layers that are converted, layers that are not, and functions."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.gelu(self.linear(self.norm(x)))
        return torch.softmax(y @ y.T / 3, 1) @ x + y.mean()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 5)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"output": self.lstm(x[:, None])[0][:, 0]}


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x[:, None])[:, 0]  # type: ignore[no-any-return]


def result(output: Any) -> torch.Tensor:
    return output["output"] if isinstance(output, dict) else output


def gradients(model: nn.Module, x: torch.Tensor, weight: torch.Tensor) -> list[torch.Tensor]:
    """The output and all gradients. The loss is a product, which torch computes alike everywhere."""
    x = x.clone().requires_grad_()
    output = result(model(x))
    output.backward(weight)
    return [output.detach(), x.grad, *(p.grad for p in model.parameters())]  # type: ignore[list-item]


@pytest.mark.parametrize("make", [Block, Recurrent, Attention, lambda: nn.Sequential(nn.Linear(6, 5), nn.GELU())])
def test_bits_are_those_of_reproducible(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(1)
    stock = make()
    weight = torch.randn(result(stock(X)).shape)
    with repdl.reproducible():
        expected = gradients(copy.deepcopy(stock), X, weight)
    plain = gradients(copy.deepcopy(stock), X, weight)
    model = repdl.from_torch_module(stock)
    ours = gradients(model, X, weight)
    assert all(map(same_bits, ours, expected))
    assert not all(map(same_bits, ours, plain)), "a test that cannot fail"
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        again.zero_grad()
        assert [type(m).__name__ for m in again.modules()] == [type(m).__name__ for m in stock.modules()]
        assert all(map(same_bits, gradients(again, X, weight), expected))
    assert is_stock_here()


def test_what_is_around_the_model_stays_torchs() -> None:
    """Before it in the graph, after it, beside it, and in it through a closure; whichever was called first."""
    torch.manual_seed(1)
    before, beside, after = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
    block = Block()
    seen: list[bool] = []

    class Watch(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            seen.append(is_stock_here())
            without_kernel(grad)  # would raise
            return grad

    def watch(x: torch.Tensor) -> torch.Tensor:
        return Watch.apply(x)  # type: ignore[no-any-return, no-untyped-call]

    model = repdl.from_torch_module(block)
    first = watch(beside(watch(X)))
    x = watch(before(watch(X.clone().requires_grad_())))
    y = model(x)
    assert is_stock_here()
    last = watch(beside(watch(X)))
    (watch(after(watch(y))) + first + last).sum().backward()
    assert seen == [True] * len(seen) and len(seen) == 6
    # And its own nodes are ours all the same.
    with repdl.reproducible():
        z = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(block(z), [block.norm.weight], torch.ones(8, 6))
    model.zero_grad()
    model(x.detach()).backward(torch.ones(8, 6))
    assert same_bits(model.norm.weight.grad, g)  # type: ignore[union-attr, arg-type]


def test_a_failure_leaves_nothing_on() -> None:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return without_kernel(grad)

    class Model(nn.Module):
        def forward(self, x: torch.Tensor, fail: bool = False) -> torch.Tensor:
            assert not is_stock_here()
            y = Bad.apply(x.exp()).exp()  # type: ignore[no-untyped-call]
            return without_kernel(y) if fail else y  # type: ignore[no-any-return]

    model = repdl.from_torch_module(Model())
    x = X.clone().requires_grad_()
    for _ in range(2):
        with pytest.raises(repdl.NotReproducibleError):
            model(x).sum().backward()
        assert is_stock_here()
        with pytest.raises(repdl.NotReproducibleError):
            model(x, fail=True)
        assert is_stock_here()
        Bad.apply(X.clone().requires_grad_()).sum().backward()  # type: ignore[no-untyped-call]
    with repdl.allow_native("a test"):
        model(x, fail=True)


def test_other_threads_stay_torchs() -> None:
    inside, go_on = threading.Event(), threading.Event()

    class Waits(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inside.set()
            assert go_on.wait(60)
            return x.exp()

    model = repdl.from_torch_module(Waits())
    results = []
    thread = threading.Thread(target=lambda: results.append(model(X)))
    thread.start()
    assert inside.wait(60)
    stock = is_stock_here()
    without_kernel(X)
    go_on.set()
    thread.join()
    assert stock and same_bits(results[0], repdl.ops.exp(X))


def test_the_graph_outlives_the_model_and_the_thread() -> None:
    model = repdl.from_torch_module(Block())
    with repdl.reproducible():
        expected = gradients(copy.deepcopy(model), X, torch.ones(8, 6))
    x = X.clone().requires_grad_()
    output = model(x)
    parameters = list(model.parameters())
    del model
    gc.collect()
    thread = threading.Thread(target=lambda: output.backward(torch.ones(8, 6)))
    thread.start()
    thread.join()
    assert all(map(same_bits, [x.grad, *(p.grad for p in parameters)], expected[1:]))


def test_gradients_of_gradients() -> None:
    def penalty(model: nn.Module) -> list[torch.Tensor]:
        x = X.clone().requires_grad_()
        (grad,) = torch.autograd.grad(model(x), x, torch.ones(8, 6), create_graph=True)
        grad.backward(X)
        return [x.grad, *(p.grad for p in model.parameters() if p.grad is not None)]  # type: ignore[list-item]

    block = Block()
    block.linear = nn.GELU()  # type: ignore[assignment]
    with repdl.reproducible():
        expected = penalty(copy.deepcopy(block))
    ours = penalty(repdl.from_torch_module(block))
    assert len(ours) == 3 and all(map(same_bits, ours, expected))


def test_submodules_hooks_and_checkpoints() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Block(), Block()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = checkpoint(self.first, x, use_reentrant=False)  # type: ignore[assignment]
            return self.second(x).detach()  # type: ignore[no-any-return]

    def run(model: nn.Module) -> list[torch.Tensor]:
        features: list[torch.Tensor] = []
        model.second.register_forward_hook(lambda m, args, out: features.append(out))  # type: ignore[union-attr, operator]
        model(X)
        features[0].backward(torch.ones(8, 6))
        model.second(X).backward(torch.ones(8, 6))  # type: ignore[operator]
        return [p.grad for p in model.parameters()]  # type: ignore[misc]

    stock = Two()
    with repdl.reproducible():
        expected = run(copy.deepcopy(stock))
    assert all(map(same_bits, run(repdl.from_torch_module(stock)), expected))


def test_compiled_it_runs_eagerly() -> None:
    torch._dynamo.reset()
    block = Block()
    with repdl.reproducible():
        expected = gradients(copy.deepcopy(block), X, torch.ones(8, 6))
    seen: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        seen.append(graph)
        return graph.forward

    model = repdl.from_torch_module(block)
    compiled = torch.compile(model, backend=backend)
    output = compiled(X.clone().requires_grad_())
    output.backward(torch.ones(8, 6))
    assert same_bits(output.detach(), expected[0])
    assert all(map(same_bits, (p.grad for p in model.parameters()), expected[2:]))
    assert not seen
    torch._dynamo.reset()


def test_functional_transforms() -> None:
    block = Block()
    block.linear = nn.GELU()  # type: ignore[assignment]
    model = repdl.from_torch_module(block)

    def loss(module: nn.Module) -> Callable[..., torch.Tensor]:
        return lambda values: (torch.func.functional_call(module, values, (X,)) * X).amax()

    with repdl.reproducible():
        expected = torch.func.grad(loss(block))(dict(block.named_parameters()))
    ours = torch.func.grad(loss(model))(dict(model.named_parameters()))
    assert all(same_bits(ours[name], expected[name]) for name in expected)


def test_an_audit_sees_it() -> None:
    block = Block()

    def program(x: torch.Tensor) -> torch.Tensor:
        return repdl.from_torch_module(block)(x)  # type: ignore[no-any-return]

    report = repdl.audit(program, X)
    assert {"aten::native_layer_norm", "aten::native_layer_norm_backward", "aten::gelu"} <= {row.op for row in report}
    assert report.ok


def test_enabled_and_disabled_between() -> None:
    block = Block()
    with repdl.reproducible():
        expected = gradients(copy.deepcopy(block), X, torch.ones(8, 6))
        model = repdl.from_torch_module(block)
        x = X.clone().requires_grad_()
        output = model(x)
    assert is_stock_here()
    output.backward(torch.ones(8, 6))
    assert same_bits(x.grad, expected[1])
    with repdl.reproducible():
        assert not is_stock_here()
        assert same_bits(model(X).detach(), expected[0])
    assert is_stock_here()


class LeNet(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3))


def test_a_model_of_converted_layers_needs_nothing() -> None:
    model = repdl.from_torch_module(LeNet())
    assert type(model) is LeNet
    assert local._held is None or local._held() is None
    model(torch.ones(2, 1, 8, 8)).sum().backward()


def test_within_a_stream_of_random_numbers() -> None:
    def weights(convert: bool) -> torch.Tensor:
        torch.manual_seed(3)
        with repdl.random.stream("torch"):
            model = repdl.from_torch_module(nn.Sequential(nn.GELU())) if convert else None
            layer = nn.Linear(50, 50)
        del model
        return layer.weight

    assert same_bits(weights(True), weights(False))
    model = repdl.from_torch_module(nn.Sequential(nn.GELU()))
    torch.empty(3).uniform_()
    del model


class Stateful(nn.Module):
    """With a state of its own making."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.cache = nn.Linear(6, 2), object()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.cache = "made anew"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).sigmoid()  # type: ignore[no-any-return]


def test_its_own_pickling_is_kept() -> None:
    model = repdl.from_torch_module(Stateful())
    again = pickle.loads(pickle.dumps(model))
    assert again.cache == "made anew" and isinstance(again, Stateful)
    assert same_bits(again(X), model(X))


def test_gradients_of_a_product_are_ours_in_the_model_alone() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.prod(1)

    def gradient(model: nn.Module) -> torch.Tensor:
        x = X.clone().requires_grad_()
        return torch.autograd.grad(model(x).sum(), x)[0]

    stock = gradient(Model())
    with repdl.reproducible():
        ours = gradient(Model())
    assert not same_bits(stock, ours)
    model = repdl.from_torch_module(Model())
    assert same_bits(gradient(model), ours) and same_bits(gradient(Model()), stock)


class OfItsType(nn.Linear):
    """It copies itself by making one of its type."""

    def __deepcopy__(self, memo: Any) -> nn.Module:
        copied = type(self)(self.in_features, self.out_features)
        copied.load_state_dict(self.state_dict())
        return copied

    def another(self) -> nn.Module:
        return type(self)(self.in_features, self.out_features)


@pytest.mark.filterwarnings("ignore:.*was compiled by torch.compile", "ignore:`isinstance.treespec:FutureWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.fx.symbolic_trace(Block()),
        lambda: torch.export.export(Block(), (X,)).module(),
        lambda: torch.compile(Block(), backend="eager"),
        lambda: OfItsType(6, 6),
    ],
    ids=["fx", "export", "compile", "of its type"],
)
def test_classes_that_copy_themselves(make: Callable[[], nn.Module]) -> None:
    model = repdl.from_torch_module(make())
    expected = model(X)
    for again in (copy.deepcopy(model), repdl.from_torch_module(model), copy.deepcopy(copy.deepcopy(model))):
        assert same_bits(again(X), expected)
        assert type(again).__call__ is type(model).__call__, "it computes as torch does"
    if isinstance(model, OfItsType):
        assert model.another()(X).shape == X.shape
