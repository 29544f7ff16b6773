# SPDX-License-Identifier: MIT
"""TorchScript under `repdl.enable()`: the bits of the module itself, or an error."""

from __future__ import annotations

import io
import warnings
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


def _dirty() -> None:
    """Leaves sevens in what the allocator will give next."""
    for count in (2, 3, 4, 8, 12, 1000):
        [torch.full((count,), 7.0) for _ in range(9)]


def _empty(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(3, 4)


def _empty_like(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def _new_empty(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty([1000])


def _empty_strided(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided([2, 3], [3, 1], dtype=x.dtype)


def _resized(x: torch.Tensor) -> torch.Tensor:
    return x.clone().resize_([1000])[x.numel() :]


def _resized_as(x: torch.Tensor) -> torch.Tensor:
    return x.clone().resize_as_(torch.zeros(1000))[x.numel() :]


def _of_a_branch(x: torch.Tensor) -> torch.Tensor:
    if x.numel() > 2:
        return torch.empty(8)
    return x


def _of_another(x: torch.Tensor) -> torch.Tensor:
    return _empty(x) + 1


def _in_a_fork(x: torch.Tensor) -> torch.Tensor:
    return torch.jit.wait(torch.jit.fork(_empty, x))


class _Layer(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.empty(12)


class _Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = _Layer()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)  # type: ignore[no-any-return]


def _loaded(x: torch.Tensor) -> Any:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(_Outer()), file)
    file.seek(0)
    return torch.jit.load(file)


ASKING = (_empty, _empty_like, _new_empty, _empty_strided, _resized, _resized_as, _of_a_branch, _of_another, _in_a_fork)
SCRIPTS: dict[str, Callable[[torch.Tensor], Any]] = {
    **{function.__name__: lambda x, function=function: torch.jit.script(function) for function in ASKING},
    "a trace": lambda x: torch.jit.trace(_new_empty, x, check_trace=False),
    "a module": lambda x: torch.jit.script(_Outer()),
    "a loaded module": _loaded,
}


def _settings() -> tuple[bool, bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_memory_that_a_script_gets_is_filled(script: str) -> None:
    x = torch.ones(4)
    scripted = SCRIPTS[script](x)
    before = _settings()
    with repdl.reproducible():
        for _ in range(3):  # the second and third runs are those that TorchScript optimizes
            _dirty()
            assert scripted(x).isnan().all()
    assert _settings() == before


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch calls it deprecated
    SCRIPTED_EMPTY = torch.jit.script(_empty)


def test_memory_of_a_constant_of_a_frozen_script_is_filled() -> None:
    x, scripted = torch.ones(4), torch.jit.script(_Outer().eval())
    with repdl.reproducible():
        _dirty()
        assert torch.jit.freeze(scripted)(x).isnan().all()


class _Telling(nn.Module):
    """Tells whether torch fills memory while it runs, also after another script, and whether that is only a warning."""

    @torch.jit.ignore
    def told(self, x):  # TorchScript does not read annotations of such a method that are words
        if x.numel() > 5:
            raise ValueError("more than five elements")
        SCRIPTED_EMPTY(x)
        return torch.tensor(_settings()[:2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.told(x)


class _TellingAndAsking(_Telling):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.told(torch.empty_like(x))


def test_torch_fills_memory_while_a_script_that_asks_for_it_runs() -> None:
    telling, asking = torch.jit.script(nn.Sequential(_Telling())), torch.jit.script(_TellingAndAsking())
    x, before = torch.ones(3), _settings()
    with repdl.reproducible():
        assert asking(x).tolist() == [True, True] and telling(x).tolist() == [False, False]
        with pytest.raises(RuntimeError, match="more than five"):
            asking(torch.ones(6))
        assert _settings() == before
        torch.use_deterministic_algorithms(True)
        try:
            assert asking(x).tolist() == [True, False]
            assert _settings() == (True, False, True)
        finally:
            torch.use_deterministic_algorithms(False)
    assert asking(x).tolist() == [False, False]
