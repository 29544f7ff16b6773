# SPDX-License-Identifier: MIT
"""Functional forms that torch makes of what writes in place, which functionalization and decomposed exports call: their
bits are those of a copy on which the op in place was called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.func import functionalize

import repdl
from repdl.interception import switch
from support import same_bits

aten = torch.ops.aten
DRAWS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "uniform_": (aten.uniform, (-1.0, 2.0)),
    "normal_": (aten.normal_functional, (1.0, 2.0)),
    "exponential_": (aten.exponential, (1.5,)),
    "geometric_": (aten.geometric, (0.3,)),
    "cauchy_": (aten.cauchy, (0.5, 2.0)),
    "log_normal_": (aten.log_normal, (0.5, 0.7)),
    "random_": (aten.random, ()),
    "random_ below": (aten.random, (7,)),
    "random_ between": (aten.random, (2, 9)),
}


def dispatched(functional: Any, *args: Any) -> Any:
    """The result, also into `out`, beside which the generator begins anew."""
    torch.manual_seed(5)
    result = functional(*args)
    torch.manual_seed(5)
    into = aten.normal if functional is aten.normal_functional else functional
    assert same_bits(into(*args, out=torch.empty_like(args[0])), result)
    return result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rng", ["philox", "torch"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str, rng: str, dtype: torch.dtype) -> None:
    functional, args = DRAWS[name]
    method = name.split(" ")[0]
    x = torch.full((20, 30), 0.25, dtype=dtype).t()
    with repdl.reproducible(rng=rng):
        torch.manual_seed(5)
        expected = getattr(x.clone(), method)(*args)
        assert same_bits(dispatched(functional, x, *args), expected)
        torch.manual_seed(5)
        assert same_bits(functionalize(lambda t: getattr(t.clone(), method)(*args))(x), expected)
    assert (x == 0.25).all() and expected.unique().numel() > 4


def test_leaky_slopes_and_rows_of_an_embedding() -> None:
    x = torch.linspace(-3, 3, 60).reshape(12, 5)
    with repdl.reproducible():
        torch.manual_seed(5)
        noise = torch.zeros_like(x)
        expected = aten.rrelu_with_noise(x, noise, training=True)
        torch.manual_seed(5)
        result, drawn = aten.rrelu_with_noise_functional(x, torch.zeros_like(x), training=True)
        assert same_bits(result, expected) and same_bits(drawn, noise)
        index = torch.tensor([3, 7, 3, 0])
        expected = aten.embedding_renorm_(x.clone(), index, 1.3, 3.0)
        assert same_bits(dispatched(aten.embedding_renorm, x, index, 1.3, 3.0), expected)
        rows = functionalize(lambda w: F.embedding(index, w.clone(), max_norm=1.3, norm_type=3.0))(x)
        assert same_bits(rows, expected[index]) and not same_bits(expected, x)


_ADAM = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "amsgrad": False}
_SGD = {"momentum": 0.9, "dampening": 0.0, "nesterov": True, "is_first_step": False}
STEPS: dict[str, tuple[int, dict[str, Any]]] = {
    "_fused_adam": (2, _ADAM),
    "_fused_adamw": (2, _ADAM),
    "_fused_sgd": (1, _SGD),
    "_fused_adagrad": (1, {"lr_decay": 0.1, "eps": 1e-8}),
}
"""The lists of its states, and the settings that not all have."""


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_optimizers(name: str) -> None:
    states, settings = STEPS[name]
    settings = {"lr": 0.1, "weight_decay": 0.01, "maximize": False, **settings}

    def lists() -> list[list[torch.Tensor]]:
        made = [[torch.linspace(-2, 3, 37) * (i + 1) / 7, torch.linspace(1, 2, 4) / (i + 1)] for i in range(2 + states)]
        largest: list[list[torch.Tensor]] = [[]] if settings.get("amsgrad") is False else []
        counts = [] if name == "_fused_sgd" else [[torch.tensor(3.0), torch.tensor(3.0)]]
        return made + largest + counts

    with repdl.reproducible():
        changed = lists()
        getattr(aten, f"{name}_")(*changed, **settings)
        given = lists()
        results = getattr(aten, name)(*given, **settings)
        again = lists()
    for result, expected in zip(results, changed, strict=False):  # the counts, which stand last, some do not return
        assert all(map(same_bits, result, expected))
    assert all(same_bits(a, b) for mine, other in zip(given, again, strict=True) for a, b in zip(mine, other))
    assert len(results) >= 2 + states and not same_bits(changed[0][0], given[0][0])


class Noisy(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside, self.slopes = torch.nn.Linear(4, 4), torch.nn.RReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inside(x)
        y = y + torch.empty_like(y).uniform_(-0.1, 0.1) + torch.zeros_like(y).normal_()
        result: torch.Tensor = self.slopes(F.dropout(y, 0.3))
        return result * torch.empty(y.shape).exponential_()


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_decomposed_export_trains_as_the_model() -> None:
    torch.manual_seed(1)
    model, x = Noisy(), torch.linspace(-1, 1, 12).reshape(3, 4)
    with repdl.reproducible():
        program = torch.export.export(model, (x,)).run_decompositions().module()
        called = {str(node.target) for node in program.graph.nodes}
        assert {"aten.uniform.default", "aten.normal_functional.default", "aten.exponential.default"} <= called
        torch.manual_seed(5)
        expected = model(x)
        torch.manual_seed(5)
        assert same_bits(program(x), expected)


def test_each_has_no_kernel_of_its_own() -> None:
    """torch makes them: a copy, and a call of the op in place through the dispatcher, which is ours."""
    ours = switch.kernels()["CPU"]
    names = [*STEPS, "embedding_renorm", "rrelu_with_noise_functional", *(str(f) for f, _ in DRAWS.values())]
    has: Callable[..., bool] = torch._C._dispatch_has_kernel_for_dispatch_key
    for name in (name.removeprefix("aten.").removeprefix("aten::") for name in names):
        plain = name.partition(".")[0]
        in_place = plain.removesuffix("_functional") + ("" if plain.startswith("rrelu") else "_")
        assert not has(f"aten::{plain}", "CPU") and in_place in ours
