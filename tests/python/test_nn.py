# SPDX-License-Identifier: MIT
"""Layers, functions and conversion: torch's meaning, our bits."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import pytest
import torch
from torch import nn

import repdl
from repdl import func
from repdl.nn import functional as F
from support import same_bits


def close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=2e-4, atol=2e-5)


def compare(ours: Any, theirs: Any, *inputs: torch.Tensor) -> None:
    """Results and gradients of two functions of the same tensors."""
    leaves = [[x.clone().requires_grad_(x.is_floating_point()) for x in inputs] for _ in range(2)]
    results = [f(*x) for f, x in zip((ours, theirs), leaves, strict=True)]
    close(*results)
    weights = torch.randn_like(results[0])
    for result in results:
        (result * weights).sum().backward()
    for a, b in zip(*leaves, strict=True):
        if a.requires_grad:
            close(a.grad, b.grad)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(7, 5), (5,), (3, 5, 2, 4)])
def test_cross_entropy_has_every_option_of_torch(
    reduction: str, smoothing: float, weighted: bool, shape: tuple[int, ...]
) -> None:
    x = torch.randn(shape)
    sample_shape = shape[:1] + shape[2:] if len(shape) > 1 else ()
    weight = torch.rand(5) + 0.5 if weighted else None
    target = torch.randint(0, 5, sample_shape)
    options: dict[str, Any] = {"weight": weight, "reduction": reduction, "label_smoothing": smoothing}
    for ignore in (-100, 2):
        compare(
            lambda x, o=options | {"ignore_index": ignore}: F.cross_entropy(x, target, **o),
            lambda x, o=options | {"ignore_index": ignore}: nn.functional.cross_entropy(x, target, **o),
            x,
        )
    probabilities = torch.rand(shape)
    compare(
        lambda x, t: F.cross_entropy(x, t, **options),
        lambda x, t: nn.functional.cross_entropy(x, t, **options),
        x,
        probabilities,
    )


def test_cross_entropy_reads_the_old_names() -> None:
    x, t = torch.randn(6, 4), torch.randint(0, 4, (6,))
    for size_average, reduce in itertools.product((None, True, False), repeat=2):
        with pytest.warns(UserWarning, match="deprecated") if (size_average, reduce) != (None, None) else _nothing():
            expected = nn.functional.cross_entropy(x, t, size_average=size_average, reduce=reduce)
        close(F.cross_entropy(x, t, size_average=size_average, reduce=reduce), expected)


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()


@pytest.mark.parametrize(
    ("channels", "out", "kernel", "options"),
    [
        (3, 4, 3, {}),
        (3, 4, (3, 2), {"stride": (2, 1), "padding": (1, 2)}),
        (4, 6, 3, {"groups": 2, "padding": 2, "dilation": 2}),
        (6, 6, 3, {"groups": 6, "stride": 2, "padding": 1}),
        (3, 5, 4, {"padding": "same"}),
        (3, 5, (2, 3), {"padding": "same", "dilation": (3, 1)}),
        (3, 5, 3, {"padding": "valid"}),
        (3, 5, 3, {"padding": 2, "padding_mode": "circular"}),
        (3, 5, 3, {"padding": 1, "padding_mode": "reflect", "bias": False}),
        (3, 5, 3, {"padding": "same", "padding_mode": "replicate"}),
        (2, 3, 1, {"stride": 3}),
    ],
)
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_conv2d_has_every_option_of_torch(channels: int, out: int, kernel: Any, options: dict[str, Any]) -> None:
    theirs = nn.Conv2d(channels, out, kernel, **options)
    ours = repdl.from_torch_module(theirs)
    assert type(ours) is repdl.nn.Conv2d
    x = torch.randn(2, channels, 9, 11)
    compare(ours, theirs, x)
    close(ours.weight.grad, theirs.weight.grad)  # type: ignore[union-attr, arg-type]
    if theirs.bias is not None:
        close(ours.bias.grad, theirs.bias.grad)  # type: ignore[union-attr, arg-type]
    compare(ours, theirs, x[0])


@pytest.mark.parametrize("shape", [(5, 8), (8,), (2, 3, 4, 8), (0, 8)])
def test_linear_takes_any_rank(shape: tuple[int, ...]) -> None:
    theirs = nn.Linear(8, 3)
    ours = repdl.from_torch_module(theirs)
    compare(ours, theirs, torch.randn(shape))
    close(ours.weight.grad, theirs.weight.grad)  # type: ignore[union-attr, arg-type]
    close(ours.bias.grad, theirs.bias.grad)  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("track", [True, False])
@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.BatchNorm2d])
def test_batch_norm_is_torchs(affine: bool, track: bool, momentum: float | None, kind: Any) -> None:
    theirs = kind(4, affine=affine, track_running_stats=track, momentum=momentum)
    if affine:
        nn.init.normal_(theirs.weight)
        nn.init.normal_(theirs.bias)
    ours = repdl.from_torch_module(theirs)
    shape = (6, 4, 5) if kind is nn.BatchNorm1d else (6, 4, 5, 3)
    for _ in range(3):
        compare(ours, theirs, torch.randn(shape) * 2 + 1)
        if kind is nn.BatchNorm1d:
            compare(ours, theirs, torch.randn(7, 4))
    for name, buffer in theirs.named_buffers():
        close(dict(ours.named_buffers())[name], buffer)
    assert track == ("running_var" in dict(ours.named_buffers()))
    ours.eval()
    theirs.eval()
    compare(ours, theirs, torch.randn(shape))


def test_running_statistics_are_updated_in_place() -> None:
    layer = repdl.nn.BatchNorm2d(3)
    mean, var = layer.running_mean, layer.running_var
    layer(torch.randn(4, 3, 5, 5))
    assert layer.running_mean is mean and mean is not None and mean.abs().sum() > 0
    assert layer.running_var is var
    assert int(layer.num_batches_tracked) == 1  # type: ignore[arg-type]


def test_batch_norm_takes_repdls_name_of_the_argument() -> None:
    x, w, b = torch.randn(5, 3), torch.ones(3), torch.zeros(3)
    close(F.batch_norm(x, None, None, w, b, batch_statistics=True), nn.functional.batch_norm(x, None, None, w, b, True))


def test_other_layers_are_torchs() -> None:
    x = torch.randn(3, 4, 7, 9)
    for layer in (
        nn.ReLU(), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1, ceil_mode=True), nn.Softmax(1),
        nn.LogSoftmax(-1), nn.MaxPool2d((2, 3), stride=(1, 2), dilation=(2, 1)),
    ):  # fmt: skip
        ours = repdl.from_torch_module(layer)
        assert type(ours).__module__.startswith("repdl.nn")
        compare(lambda t, f=ours: f(t * 1.0), lambda t, f=layer: f(t * 1.0), x)
    output, indices = repdl.nn.MaxPool2d(2, return_indices=True)(x)
    expected = nn.functional.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(output, expected[0]) and torch.equal(indices, expected[1])


def test_conversion_keeps_ties_and_the_original() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(10, 6)
            self.head = nn.Linear(6, 10, bias=False)
            self.head.weight = self.embedding.weight
            self.again = self.head

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.again(self.embedding(x))  # type: ignore[no-any-return]

    original = Tied()
    before = original.head.weight.detach().clone()
    model = repdl.from_torch_module(original)
    assert model.head.weight is model.embedding.weight
    assert model.again is model.head
    assert type(original.head) is nn.Linear
    assert model.head.weight is not original.head.weight
    with torch.no_grad():
        model.head.weight.zero_()
    assert torch.equal(original.head.weight, before)


def test_conversion_keeps_hooks_subclasses_and_modes() -> None:
    class Doubled(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) * 2

    class Named(nn.Linear):
        extra = "kept"

    model = nn.Sequential(Doubled(4, 3), Named(3, 2), nn.BatchNorm1d(2))
    calls = []
    model[1].register_forward_hook(lambda *_: calls.append(1))
    model[2].eval()
    model[0].weight.requires_grad_(False)
    ours = repdl.from_torch_module(model)
    x = torch.randn(5, 4)
    close(ours(x), model(x))
    assert isinstance(ours[0], Doubled) and isinstance(ours[0], repdl.nn.Linear)  # type: ignore[index]
    assert isinstance(ours[1], Named) and ours[1].extra == "kept"  # type: ignore[index]
    assert len(calls) == 2
    assert not ours[2].training and not ours[0].weight.requires_grad  # type: ignore[index]
    with repdl.order("sequential"):
        assert same_bits(ours[0](x), repdl.ops.linear(x, ours[0].weight, ours[0].bias) * 2)  # type: ignore[index]


class Tripled(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * 3


def test_converted_models_copy_and_pickle() -> None:
    model = repdl.from_torch_module(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), Tripled(8, 3)))
    x = torch.randn(2, 1, 4, 4)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(again[0]) is repdl.nn.Conv2d
        assert isinstance(again[2], Tripled) and isinstance(again[2], repdl.nn.Linear)
        assert same_bits(again(x), model(x))


def test_conversion_twice_is_conversion_once() -> None:
    model = repdl.from_torch_module(nn.Sequential(nn.Linear(3, 3), Tripled(3, 3)))
    again = repdl.from_torch_module(model)
    assert [type(m) for m in again.modules()] == [type(m) for m in model.modules()]


def test_conversion_draws_what_repdl_draws() -> None:
    """RepDL 0.1 builds its layers anew, which moves torch's generator."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(5, 6), nn.Linear(6, 2, bias=False), nn.BatchNorm1d(2))
    torch.manual_seed(3)
    repdl.from_torch_module(model)
    ours = torch.rand(4)
    torch.manual_seed(3)
    nn.Conv2d(3, 4, 3), nn.Linear(5, 6), nn.Linear(6, 2, bias=False)
    assert torch.equal(ours, torch.rand(4))


def test_func_is_differentiable() -> None:
    x = torch.randn(3, 4)
    compare(func.mean2d_dim0, lambda t: t.mean(0), x)
    compare(func.mean1d, torch.mean, torch.randn(11))
    compare(func.mean4d_dim023, lambda t: t.mean((0, 2, 3)), torch.randn(2, 3, 4, 5))
    other = torch.randn(5, 4)
    compare(lambda t: func.expand_as(t, other), lambda t: t.expand_as(other), torch.randn(4))
    images = torch.randn(2, 3, 4, 5)
    compare(lambda t: func.expand_as(t, images), lambda t: t.expand_as(images), torch.randn(3, 1, 1))


def test_a_training_step_is_the_same_on_every_target() -> None:
    from repdl import _core

    def digests() -> list[str]:
        torch.manual_seed(1)
        with repdl.random.stream("torch"):
            model = repdl.from_torch_module(
                nn.Sequential(
                    nn.Conv2d(2, 5, 3, padding=1, stride=2), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Flatten(), nn.Linear(45, 7), nn.BatchNorm1d(7), nn.Linear(7, 3),
                )
            )  # fmt: skip
            x = torch.empty(6, 2, 12, 12).uniform_(-1, 1)
        optimizer = repdl.optim.AdamW(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(x), torch.arange(6) % 3).backward()
            optimizer.step()
        return [repdl.utils.get_hash(model), repdl.utils.get_hash(model[1].running_var)]  # type: ignore[arg-type, index]

    seen = {}
    for order in ("blocked", "sequential"):
        with repdl.order(order):
            for target in _core.supported_targets():
                _core.set_target(target)
                for threads in (1, 2, 3):
                    repdl.set_num_threads(threads)
                    assert seen.setdefault(order, digests()) == digests(), (target, threads)
