# SPDX-License-Identifier: MIT
"""Convolutions of every rank, transposed too: as torch's, and what absent terms must not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import repdl
from repdl import nn, ops

Ints = tuple[int, ...]
Call = tuple[str, Ints, Ints, dict[str, Any]]

CALLS: list[Call] = [
    ("conv1d", (2, 6, 40), (4, 3, 5), {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}),
    ("conv1d", (2, 9, 33), (9, 1, 4), {"padding": 3, "groups": 9}),
    ("conv1d", (1, 3, 20), (2, 3, 4), {"padding": "same", "dilation": 3}),
    ("conv2d", (2, 4, 9, 8), (6, 2, 3, 2), {"padding": (1, 2), "groups": 2, "dilation": (2, 1)}),
    ("conv2d", (2, 20, 12, 13), (40, 1, 3, 3), {"padding": 1, "groups": 20}),
    ("conv3d", (2, 4, 5, 6, 7), (6, 2, 3, 2, 3), {"stride": (1, 2, 1), "padding": 1, "groups": 2}),
    ("conv3d", (2, 3, 4, 4, 5), (2, 3, 3, 1, 1), {"padding": (1, 0, 0)}),
    ("conv3d", (2, 3, 4, 5, 6), (4, 3, 1, 1, 1), {}),
    ("conv_transpose1d", (2, 4, 7), (4, 3, 6), {"stride": 3, "padding": 2, "output_padding": 1}),
    ("conv_transpose1d", (2, 4, 7), (4, 3, 2), {"stride": 2, "dilation": 4, "output_padding": 3}),
    ("conv_transpose2d", (2, 4, 5, 6), (4, 3, 2, 2), {"stride": 2, "output_padding": (1, 0)}),
    ("conv_transpose2d", (3, 6, 1, 1), (6, 2, 4, 3), {"groups": 2}),
    ("conv_transpose3d", (1, 4, 3, 4, 2), (4, 2, 3, 2, 4), {"stride": 2, "padding": 1, "groups": 2}),
]


def _operands(shape: Ints, kernel: Ints, name: str, groups: int, dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    outputs = kernel[1] * groups if "transpose" in name else kernel[0]
    return [torch.randn(size, generator=generator).to(dtype).requires_grad_() for size in (shape, kernel, (outputs,))]


def _results(function: Callable[..., Any], operands: list[torch.Tensor], **settings: Any) -> list[torch.Tensor]:
    output = function(*operands, **settings)
    grad = torch.arange(output.numel()).remainder(17).sub(8).to(output.dtype).reshape(output.shape)
    return [output, *torch.autograd.grad(output, operands, grad)]


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize(("name", "shape", "kernel", "settings"), CALLS)
def test_values_gradients_and_strides_are_torchs(
    name: str, shape: Ints, kernel: Ints, settings: dict[str, Any]
) -> None:
    for dtype, tolerance in ((torch.float32, 2e-4), (torch.float64, 1e-11), (torch.bfloat16, 5e-2)):
        operands = _operands(shape, kernel, name, settings.get("groups", 1), dtype)
        theirs = _results(getattr(F, name), operands, **settings)
        with repdl.reproducible():
            found = _results(getattr(F, name), operands, **settings)
        for a, b in zip(found, theirs, strict=True):
            assert a.dtype == b.dtype and a.stride() == b.stride()
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * 4)
        if dtype != torch.bfloat16:
            for a, b in zip(_results(getattr(nn.functional, name), operands, **settings), found, strict=True):
                assert torch.equal(a, b)
            single = getattr(nn.functional, name)(operands[0][0], *operands[1:], **settings)
            assert torch.equal(single, found[0][0])


@pytest.mark.parametrize(("name", "shape", "kernel", "settings"), [c for c in CALLS if len(c[1]) > 3])
def test_channels_last_gives_the_same_bits_in_torchs_strides(
    name: str, shape: Ints, kernel: Ints, settings: dict[str, Any]
) -> None:
    format = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    plain = _operands(shape, kernel, name, settings.get("groups", 1), torch.float32)
    last = [t.detach().to(memory_format=format).requires_grad_() if t.dim() > 1 else t for t in plain]
    stock = getattr(F, name)(*last, **settings)
    with repdl.reproducible():
        expected, found = (_results(getattr(F, name), operands, **settings) for operands in (plain, last))
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    # torch lays a small volume out row by row, or not, by the number of threads.
    assert found[0].stride() == stock.stride() or (
        name == "conv3d" and found[0].is_contiguous(memory_format=torch.channels_last_3d)
    )


LAYERS = [
    (nn.Conv1d, (4, 6, 3), (2, 4, 9), {"padding": 1, "padding_mode": "circular"}),
    (nn.Conv3d, (4, 6, 3), (2, 4, 5, 4, 5), {"padding": 1, "padding_mode": "replicate", "groups": 2}),
    (nn.ConvTranspose1d, (4, 6, 3), (2, 4, 9), {"stride": 2}),
    (nn.ConvTranspose2d, (4, 6, 3), (2, 4, 5, 6), {"stride": 2, "output_padding": 1, "padding": 1}),
    (nn.ConvTranspose3d, (4, 6, 2), (2, 4, 3, 3, 3), {"stride": 2, "bias": False}),
]


@pytest.mark.parametrize(("kind", "sizes", "shape", "settings"), LAYERS)
def test_layers_are_converted(kind: Any, sizes: Ints, shape: Ints, settings: dict[str, Any]) -> None:
    theirs = getattr(torch.nn, kind.__name__)(*sizes, **settings)
    ours = repdl.from_torch_module(theirs)
    assert type(ours) is kind
    x = torch.randn(shape)
    torch.testing.assert_close(ours(x), theirs(x))
    if "Transpose" in kind.__name__ and settings.get("stride") == 2:
        size = [n + 1 for n in theirs(x).shape[2:]]
        if "output_padding" not in settings:
            torch.testing.assert_close(ours(x, size), theirs(x, size))


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 3e38, 1e-45])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_absent_terms_do_not_see_what_they_lack(rank: int, value: float) -> None:
    """The first channel's bits do not know the second one, whose numbers decide how absent terms are left out."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 3, *[7] * rank, generator=generator)
    w = torch.randn(2, 3, *[3] * rank, generator=generator)
    odd = w.clone()
    odd[1] = value
    for settings in ({"padding": 2}, {"padding": 1, "stride": 2}, {"padding": 4, "dilation": 2}):
        plain = ops.convolution(x, w, None, **settings)
        assert torch.equal(ops.convolution(x, odd, None, **settings)[:, 0], plain[:, 0])
        transposed = {**settings, "transposed": True}
        w2, odd2, g = w.transpose(0, 1).contiguous(), odd.transpose(0, 1).contiguous(), x
        plain = ops.convolution(g, w2, None, **transposed)
        assert torch.equal(ops.convolution(g, odd2, None, **transposed)[:, 0], plain[:, 0])
        grad = torch.randn(ops.convolution(x, w, None, **settings).shape, generator=generator)
        odd_grad = grad.clone()
        odd_grad[:, 1] = value
        plain = ops.convolution_grad_kernel(x, tuple(w.shape), grad, **settings)
        found = ops.convolution_grad_kernel(x, tuple(w.shape), odd_grad, **settings)
        assert torch.equal(found[0], plain[0])


def test_a_chain_that_has_become_minus_zero_stays_so() -> None:
    """-tiny * tiny underflows to -0, which the absent terms behind it must leave alone, whatever their weights."""
    x, w = torch.full((1, 1, 4), -1e-30), torch.full((1, 1, 3), 1e-30)
    for groups in (1, 9):
        many = ops.convolution(x.repeat(1, groups, 1), w.repeat(groups, 1, 1), None, padding=2, groups=groups)
        assert torch.equal(many[0, 0, :].signbit(), torch.ones(6, dtype=torch.bool))


def test_empty_batches_and_channels() -> None:
    for rank in (1, 2, 3):
        x, w = torch.ones(0, 2, *[5] * rank), torch.ones(3, 2, *[2] * rank)
        assert ops.convolution(x, w).shape == (0, 3, *[4] * rank)
        assert ops.convolution(x, w.transpose(0, 1).contiguous(), transposed=True).shape == (0, 3, *[6] * rank)
        assert not ops.convolution_grad_kernel(x, tuple(w.shape), torch.ones(0, 3, *[4] * rank)).any()
        bias = torch.tensor([1.0, 2.0, 3.0])
        none = ops.convolution(torch.ones(2, 0, *[5] * rank), torch.ones(3, 0, *[2] * rank), bias)
        assert torch.equal(none, bias.reshape(1, 3, *[1] * rank).expand_as(none))


X, W = torch.ones(1, 4, 5), torch.ones(6, 4, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.convolution(X[0], W), r"\[convolution\] input must have the shape \(n, c, …\)"),
        (lambda: ops.convolution(X, W[0]), r"\[convolution\] weight must have the shape .* as many dimensions"),
        (lambda: ops.convolution(X, W, stride=(1, 1)), r"\[convolution\] stride must have one number, or one for each"),
        (lambda: ops.convolution(X, W, stride=0), r"\[convolution\] stride must be at least 1"),
        (lambda: ops.convolution(X, W, groups=3), r"groups=3 does not divide the 4 input channels"),
        (lambda: ops.convolution(X, W, dilation=9), r"weight .* is larger than the padded input"),
        (lambda: ops.convolution(X, W, transposed=True), r"weight .* takes 6 input channels, but input .* has 4"),
        (lambda: ops.convolution(X, W[:4], transposed=True, padding=9), r"has no output"),
        (lambda: ops.convolution(X, W[:4], transposed=True, output_padding=1), r"output_padding must be smaller"),
        (lambda: ops.convolution(X, W, X[0, 0]), r"bias must have the shape \(6,\)"),
        (lambda: ops.convolution_grad_input((1, 4, 5), W, X), r"grad_output must have the shape \(1, 6, 3\)"),
        (lambda: ops.conv3d(X, W), r"\[conv3d\] input must have 5 dimensions"),
        (lambda: nn.functional.conv_transpose2d(X[0], W), r"\[conv_transpose2d\] input must have 3 or 4 dimensions"),
    ],
)
def test_errors_name_the_remedy(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
