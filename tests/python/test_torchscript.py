# SPDX-License-Identifier: MIT
"""TorchScript under `repdl.enable()`: the bits of the module itself, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import repdl
from support import same_bits

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(8, 6, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.cells(x)[0]  # type: ignore[no-any-return]


class _Sums(nn.Module):
    """What a fuser would take together, and rows of one operand."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 6), nn.Linear(8, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x).exp() * self.b(x).sin() + self.a(x).tanh()
        return (y / (y.square() + 1.5)).softmax(-1).sum(0)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "convolutions and batch norm": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.Hardswish(), nn.ConvTranspose2d(8, 4, 2), nn.ReLU()
        ),
        (2, 3, 8, 8),
    ),
    "linear and batch norm": (
        lambda: nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.5), nn.LayerNorm(8)),
        (5, 8),
    ),
    "a volume": (lambda: nn.Sequential(nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), nn.SiLU()), (1, 2, 5, 5, 5)),
    "LSTM": (_Recurrent, (2, 5, 8)),
    "sums": (_Sums, (5, 8)),
}

WAYS: dict[str, Callable[[nn.Module, torch.Tensor], Any]] = {
    "script": lambda model, x: torch.jit.script(model),
    "trace": lambda model, x: torch.jit.trace(model, x, check_trace=False),
    "freeze": lambda model, x: torch.jit.freeze(torch.jit.script(model)),
    "freeze a trace": lambda model, x: torch.jit.freeze(torch.jit.trace(model, x, check_trace=False)),
    "optimize for inference": lambda model, x: torch.jit.optimize_for_inference(torch.jit.script(model)),
}


def _made(name: str, dtype: torch.dtype) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model = make().to(dtype)
    for buffer in model.buffers():
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 2)
    return model.eval(), torch.randn(shape).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_the_bits_are_those_of_the_module(name: str, way: str, dtype: torch.dtype) -> None:
    with repdl.reproducible():
        model, x = _made(name, dtype)
        expected = model(x)
        scripted = WAYS[way](model, x)
        for records in (True, False):  # the second and third runs are those that TorchScript optimizes
            with torch.set_grad_enabled(records):
                assert all(same_bits(scripted(x), expected) for _ in range(3))


def test_what_was_optimized_before_is_refused() -> None:
    """oneDNN's convolution, which no dispatcher sees, would run; what the error says to call gives the bits."""
    model, x = _made("convolutions and batch norm", torch.float32)
    optimized = torch.jit.optimize_for_inference(torch.jit.script(model))
    if "mkldnn" not in str(optimized.graph):
        pytest.skip("This torch has no oneDNN.")
    frozen = torch.jit.freeze(torch.jit.script(model), optimize_numerics=False)
    with repdl.reproducible():
        for _ in range(3):
            with pytest.raises(RuntimeError, match=r"aten::to_mkldnn\].*optimize_numerics=False"):
                optimized(x)
        assert same_bits(frozen(x), model(x))


def test_torch_has_its_own_ways_back() -> None:
    model, _ = _made("convolutions and batch norm", torch.float32)
    with repdl.reproducible():
        assert "batch_norm" in str(torch.jit.freeze(torch.jit.script(model)).graph)
    assert "batch_norm" not in str(torch.jit.freeze(torch.jit.script(model)).graph)
