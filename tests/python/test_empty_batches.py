# SPDX-License-Identifier: MIT
"""Calls without a number, and norms with a negative eps: what torch gives for them, gradients too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import repdl

Call = Callable[[torch.dtype], torch.Tensor]


def empty(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype, requires_grad=True)


def of_shapes(function: Callable[..., torch.Tensor], *shapes: tuple[int, ...]) -> Call:
    return lambda dtype: function(*(empty(*shape, dtype=dtype) for shape in shapes))


CALLS: dict[str, Call] = {
    "layer_norm": of_shapes(lambda x, w: F.layer_norm(x, (3,), w), (0, 3), (3,)),
    "layer_norm of nothing": of_shapes(lambda x, w: F.layer_norm(x, (0,), w), (2, 0), (0,)),
    "rms_norm": of_shapes(lambda x: F.rms_norm(x, (3,)), (0, 3)),
    "group_norm": of_shapes(lambda x, w: F.group_norm(x, 2, w), (0, 6, 3), (6,)),
    "group_norm of no places": of_shapes(lambda x: F.group_norm(x, 2), (2, 6, 0)),
    "batch_norm": of_shapes(lambda x, m, v: F.batch_norm(x, m.detach(), v.detach() + 1), (0, 6, 3), (6,), (6,)),
    "softmax": of_shapes(lambda x: x.softmax(1), (3, 0)),
    "log_softmax": of_shapes(lambda x: x.log_softmax(0), (0, 3)),
    "conv1d": of_shapes(F.conv1d, (0, 4, 5), (4, 4, 3), (4,)),
    "conv2d": of_shapes(F.conv2d, (0, 4, 5, 6), (4, 4, 3, 3), (4,)),
    "conv2d in groups": of_shapes(lambda x, w: F.conv2d(x, w, groups=2), (0, 4, 5, 6), (4, 2, 3, 3)),
    "conv3d": of_shapes(F.conv3d, (0, 4, 5, 5, 6), (4, 4, 3, 3, 3), (4,)),
    "conv_transpose2d": of_shapes(F.conv_transpose2d, (0, 4, 5, 6), (4, 2, 3, 3), (2,)),
    "conv_transpose3d": of_shapes(F.conv_transpose3d, (0, 4, 5, 5, 6), (4, 2, 3, 3, 3), (2,)),
    "grid_sample": of_shapes(lambda x, g: F.grid_sample(x, g, align_corners=False), (0, 3, 5, 5), (0, 2, 2, 2)),
    "linear": of_shapes(F.linear, (2, 0), (4, 0), (4,)),
    "mse_loss": of_shapes(F.mse_loss, (0, 3), (0, 3)),
    "cross_entropy": lambda dtype: F.cross_entropy(empty(0, 3, dtype=dtype), torch.zeros(0, dtype=torch.int64)),
    "norm": of_shapes(lambda x: torch.linalg.vector_norm(x, dim=1), (0, 3)),
    "var": of_shapes(lambda x: x.var(0), (0, 3)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:var")
def test_nothing(name: str, dtype: torch.dtype) -> None:
    results = []
    for enabled in (False, True):
        operands: list[torch.Tensor] = []

        def made(*shape: int, dtype: torch.dtype, into: list[torch.Tensor] = operands) -> torch.Tensor:
            into.append(torch.zeros(shape, dtype=dtype, requires_grad=True))
            return into[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(globals(), "empty", made)
            if enabled:
                with repdl.reproducible():
                    output = CALLS[name](dtype)
                    output.sum().backward()
            else:
                output = CALLS[name](dtype)
                output.sum().backward()
        results.append([output.detach(), *(x.grad for x in operands)])
    for stock, ours in zip(*results, strict=True):
        if stock is None or ours is None:
            assert stock is ours
            continue
        assert (ours.shape, ours.dtype, ours.stride()) == (stock.shape, stock.dtype, stock.stride())
        assert torch.equal(ours.nan_to_num(7.0), stock.nan_to_num(7.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_negative_eps(dtype: torch.dtype) -> None:
    """The root of a negative number is NaN; of what is left the norm."""
    x = torch.randn(64, 6, 4, dtype=dtype, generator=torch.Generator().manual_seed(1))
    norms: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: F.layer_norm(x, (4,), eps=-0.5),
        lambda x: F.group_norm(x, 3, eps=-0.5),
        lambda x: F.rms_norm(x, (4,), eps=-0.5),
        lambda x: torch.batch_norm(
            x, None, None, torch.zeros(6).to(x), torch.linspace(0, 2, 6).to(x), False, 0.1, -0.5, False
        ),
    ]
    for norm in norms:
        stock = norm(x)
        with repdl.reproducible():
            ours = norm(x)
            assert torch.equal(norm(x[3:4]).nan_to_num(7.0), ours[3:4].nan_to_num(7.0))
        assert torch.equal(ours.isnan(), stock.isnan())
        assert stock.isnan().any() and stock.isfinite().any()
        assert torch.allclose(ours, stock, rtol=1e-3, atol=1e-3, equal_nan=True)
