# SPDX-License-Identifier: MIT
"""Jagged nested tensors: each component has the bits that it has as the only one, and so have its gradients.

torch computes some functions of theirs in other steps than those of dense tensors: `rms_norm`, attention, means.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*(nested|deprecated)")
Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

# Of a component, or of all of them, and weights.
FUNCTIONS: dict[str, Function] = {
    "linear": lambda x, w: F.linear(x, w, w[0]),
    "layer_norm": lambda x, w: F.layer_norm(x, (8,), w[0], w[1]),
    "rms_norm": lambda x, w: F.rms_norm(x, (8,), w[0]),
    "softmax": lambda x, w: torch.softmax(x, -1),
    "log_softmax": lambda x, w: torch.log_softmax(x * w[0], -1),
    "sum": lambda x, w: x.sum(-1, keepdim=True),
    "gelu": lambda x, w: F.gelu(x) * 0.3 + w[0],
    "attention": lambda x, w: F.scaled_dot_product_attention(_heads(F.linear(x, w)), _heads(x), _heads(x * w[0])),
}


WITHOUT_GRADIENT = ("log_softmax", "sum")
"""Of these torch has no gradient."""


def _heads(x: torch.Tensor) -> torch.Tensor:
    return x.unflatten(-1, (2, 4)).transpose(-2, -3)  # type: ignore[no-any-return]


def _given(dtype: torch.dtype) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Components of several lengths, one of them empty, with a subnormal number and -0."""
    generator = torch.Generator().manual_seed(3)
    parts = [torch.randn(n, 8, generator=generator) for n in (3, 1, 0, 40)]
    parts[0][1, :2] = torch.tensor([1e-40, -0.0])
    return [part.to(dtype) for part in parts], torch.randn(8, 8, generator=generator).to(dtype)


def _all(parts: list[torch.Tensor]) -> torch.Tensor:
    result: torch.Tensor = torch.nested.nested_tensor(parts, layout=torch.jagged)
    return result


def _results_and_slopes(
    name: str, parts: list[torch.Tensor], w: torch.Tensor
) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
    x = _all(parts).requires_grad_()
    results = FUNCTIONS[name](x, w)
    if name in WITHOUT_GRADIENT:
        return results.unbind(), results.unbind()
    (grad,) = torch.autograd.grad(results.values().sin().sum(), x)
    return results.unbind(), grad.unbind()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_component_has_the_bits_that_it_has_alone(name: str, dtype: torch.dtype) -> None:
    function = FUNCTIONS[name]
    parts, w = _given(dtype)
    if name == "attention":
        parts = [part for part in parts if len(part)]
    for threads in (1, 3):
        torch.set_num_threads(threads)
        with repdl.reproducible():
            results, slopes = _results_and_slopes(name, parts, w)
            for part, result, slope in zip(parts, results, slopes, strict=True):
                (alone,), (slope_alone,) = _results_and_slopes(name, [part], w)
                assert same_bits(result, alone) and same_bits(slope, slope_alone)
                if name in ("linear", "layer_norm", "softmax", "gelu"):
                    assert same_bits(result, function(part[None], w)[0])
    torch.set_num_threads(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sums_and_maxima_over_a_component(dtype: torch.dtype) -> None:
    parts, _ = _given(dtype)
    parts = [part for part in parts if len(part)]
    with repdl.reproducible():
        x = _all(parts)
        for op in (torch.sum, torch.mean, torch.amax):
            for result, part in zip(op(x, 1), parts, strict=True):
                assert same_bits(result, op(_all([part]), 1)[0])
                assert op is torch.mean or same_bits(result, op(part, 0))
        for result, part in zip(torch.softmax(x, 1).unbind(), parts, strict=True):
            assert same_bits(result, torch.softmax(part, 0))
        padded = x.to_padded_tensor(7.0)
        for row, part in zip(padded, parts, strict=True):
            assert same_bits(row[: len(part)], part) and (row[len(part) :] == 7).all()
