# SPDX-License-Identifier: MIT
"""Resizing, samples of grids, average pools: layouts, rows, threads, infinities, gradients, bad arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import repdl
from repdl import ops

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _threads_as_before() -> Iterator[None]:
    before = repdl.get_num_threads()
    yield
    repdl.set_num_threads(before)


def drawn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 1) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    flat = x.view(-1)
    flat[::97], flat[5::89], flat[7::83] = -0.0, 1e-40, torch.inf
    return x


def bits(x: torch.Tensor) -> torch.Tensor:
    return (
        x.nan_to_num(0.5, torch.inf, -torch.inf)
        .contiguous()
        .view(torch.int64 if x.dtype.itemsize == 8 else torch.int32)
    )


def same(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and torch.equal(x.isnan(), y.isnan()) and torch.equal(bits(x), bits(y))


RESIZE: list[dict[str, Any]] = [
    {"size": (40, 61), "mode": "bilinear"},
    {"size": (40, 61), "mode": "bicubic", "align_corners": True},
    {"size": (11, 13), "mode": "bilinear", "antialias": True},
    {"size": (9, 70), "mode": "bicubic", "antialias": True},
    {"size": (9, 70), "mode": "lanczos", "antialias": True},
]


@pytest.mark.parametrize("how", RESIZE, ids=lambda how: "-".join(map(str, how.values())))
@pytest.mark.parametrize("channels", [3, 17])
def test_layouts_rows_and_threads(how: dict[str, Any], channels: int) -> None:
    x = drawn(4, channels, 33, 45)
    with repdl.reproducible():
        repdl.set_num_threads(1)
        expected = F.interpolate(x, **how)
        for threads in (2, 3, 7):
            repdl.set_num_threads(threads)
            assert same(F.interpolate(x, **how), expected)
        last = F.interpolate(x.contiguous(memory_format=torch.channels_last), **how)
        assert same(last, expected)
        assert last.is_contiguous(memory_format=torch.channels_last)
        turned = x.transpose(2, 3).contiguous().transpose(2, 3)
        assert same(F.interpolate(turned, **how), expected)
        assert same(F.interpolate(x[2:3], **how), expected[2:3])
        assert same(F.interpolate(x[:, 1:2], **how), expected[:, 1:2])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_gradient_of_layouts_and_threads(mode: str) -> None:
    smooth = {"bicubic": aten._upsample_bicubic2d_aa_backward, "lanczos": aten._upsample_lanczos2d_aa_backward}
    backward = smooth.get(mode, aten.upsample_bilinear2d_backward)
    grad = drawn(4, 9, 40, 31)
    args: Any = [40, 31], [4, 9, 33, 45], False
    with repdl.reproducible():
        repdl.set_num_threads(1)
        expected = backward(grad, *args)
        for threads in (2, 3, 7):
            repdl.set_num_threads(threads)
            assert same(backward(grad, *args), expected)
        last = backward(grad.contiguous(memory_format=torch.channels_last), *args)
        assert same(last, expected)
        assert last.is_contiguous(memory_format=torch.channels_last)


def test_factors_may_be_given_for_some_dimensions() -> None:
    x = drawn(1, 2, 6, 7, 5)
    with repdl.reproducible():
        alone = aten.upsample_trilinear3d(x, [6, 13, 5], False, None, 2.1, None)
        both = aten.upsample_trilinear3d(x, [6, 13, 5], False, 1.0, 2.1, 1.0)
        other = aten.upsample_trilinear3d(x, [6, 13, 5], False)
    assert same(alone, both)
    assert not same(alone, other)


def test_a_neighbour_counts_even_with_weight_0() -> None:
    """A product with an infinity is NaN; but a kept dimension has no neighbours, nor what lies outside of a filter."""
    x = torch.tensor([[[0.0, torch.inf, 0.0]]])
    with repdl.reproducible():
        assert F.interpolate(x, 5, mode="linear", align_corners=True).isnan().tolist() == [
            [[True, False, False, False, False]]
        ]
        kept = aten._upsample_bilinear2d_aa(x[None], [2, 3], False)
    assert kept[0, 0].tolist() == [[0.0, torch.inf, 0.0]] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements_are_those_of_torch(mode: str, dtype: torch.dtype) -> None:
    kernel = getattr(aten, {"nearest": "upsample_nearest1d", "nearest-exact": "_upsample_nearest_exact1d"}[mode])
    for size, new in itertools.product((1, 2, 3, 7, 49, 61), (1, 2, 3, 6, 7, 53, 98)):
        x = torch.arange(size, dtype=dtype).reshape(1, 1, size)
        for factor in (None, new / size, (new + 0.9) / size):
            found = ops.resample(x, (new,), mode, scales_w=factor)
            assert same(found, kernel(x, [new], factor)), (size, new, factor)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements_of_a_factor_are_those_of_every_layout_and_have_their_gradients(mode: str) -> None:
    x = drawn(2, 5, 60, 41).requires_grad_()
    x.data[0, 0, 0, :3] = torch.tensor([-0.0, torch.nan, torch.inf])
    with repdl.reproducible():
        y = F.interpolate(x, scale_factor=2.02, mode=mode)
        last = F.interpolate(x.contiguous(memory_format=torch.channels_last), scale_factor=2.02, mode=mode)
        assert last.is_contiguous(memory_format=torch.channels_last)
        assert same(y.detach(), last.detach())
        bytes = torch.arange(x.numel()).remainder(256).to(torch.uint8).reshape(x.shape)
        doubled = F.interpolate(bytes, scale_factor=2.02, mode=mode)
        assert doubled.dtype == torch.uint8
        assert same(doubled.float(), F.interpolate(bytes.float(), scale_factor=2.02, mode=mode))
        (grad,) = torch.autograd.grad(y, x, torch.ones_like(y))
    rows, columns = (ops.resample(torch.eye(n)[None], (m,), mode, scales_w=2.02) for n, m in ((60, 121), (41, 82)))
    assert same(grad[1, 2], rows[0].sum(1)[:, None] * columns[0].sum(1))


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest", "nearest-exact"])
@pytest.mark.parametrize("antialias", [False, True])
def test_gradients_of_the_op(mode: str, antialias: bool) -> None:
    x = torch.randn(2, 3, 4, 2, dtype=torch.float64, requires_grad=True)
    antialias = antialias and "nearest" not in mode
    assert torch.autograd.gradcheck(lambda t: ops.resample(t, (7, 3), mode, antialias, dim=1), x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("sizes", [(4, 5), (3, 4, 2)], ids=["image", "volume"])
def test_gradients_of_grid_sample(mode: str, padding: str, sizes: tuple[int, ...]) -> None:
    image = torch.randn(2, 3, *sizes, dtype=torch.float64, requires_grad=True)
    places = *(2 for _ in sizes[1:]), 3, len(sizes)
    grid = (torch.rand(2, *places, dtype=torch.float64) * 3 - 1.5).requires_grad_()
    assert torch.autograd.gradcheck(lambda t, g: ops.grid_sample(t, g, mode, padding), (image, grid))


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_a_cubic_sample_of_a_volume_that_is_one_image_is_that_of_the_image(padding: str) -> None:
    """torch has these samples of volumes since 2.15."""
    image = torch.randn(2, 3, 6, 5, dtype=torch.float64)
    grid = torch.rand(2, 4, 7, 3, dtype=torch.float64) * 3 - 1.5
    volume, places = image[:, :, None].expand(2, 3, 4, 6, 5), grid[:, None]
    found = ops.grid_sample(volume.contiguous(), places, "bicubic", padding)[:, :, 0]
    assert torch.allclose(found, ops.grid_sample(image, grid[..., :2].contiguous(), "bicubic", padding))
    deep, flat = image[..., None].expand(2, 3, 6, 5, 4), grid[..., 1:].contiguous()
    found = ops.grid_sample(deep.contiguous(), places, "bicubic", padding)[:, :, 0]
    assert torch.allclose(found, ops.grid_sample(image, flat, "bicubic", padding))
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15):
        stock = F.grid_sample(volume, places, "bicubic", padding, align_corners=False)
        assert torch.allclose(stock, ops.grid_sample(volume.contiguous(), places, "bicubic", padding))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_of_rows_layouts_and_threads(mode: str) -> None:
    image, grad = drawn(3, 9, 12, 10), drawn(3, 9, 40, 30, seed=2)
    grid = torch.rand(3, 40, 30, 2, generator=torch.Generator().manual_seed(3)) * 2.4 - 1.2
    grid[0, 0, 0, 0], grid[1, 1, 1, 1], grid[2, 3, 4, 0] = torch.nan, torch.inf, -torch.inf
    args: Any = ["bilinear", "nearest", "bicubic"].index(mode), 2, False

    def run(some: slice, *, turned: bool = False) -> list[torch.Tensor]:
        x, g, at = image[some], grad[some], grid[some]
        if turned:
            x, g = (t.contiguous(memory_format=torch.channels_last) for t in (x, g))
            at = at.transpose(1, 2).contiguous().transpose(1, 2)
        with repdl.reproducible():
            return [aten.grid_sampler_2d(x, at, *args), *aten.grid_sampler_2d_backward(g, x, at, *args, [True, True])]

    repdl.set_num_threads(1)
    expected = run(slice(None))
    for threads in (2, 3, 7):
        repdl.set_num_threads(threads)
        assert all(map(same, run(slice(None)), expected))
    assert all(map(same, run(slice(None), turned=True), expected))
    assert all(same(one, of_all[1:2]) for one, of_all in zip(run(slice(1, 2)), expected, strict=True))


def test_a_gradient_that_nobody_asks_for_is_not_computed() -> None:
    image, grid = torch.randn(1, 1, 4, 4), torch.zeros(1, 2, 2, 2)
    with repdl.reproducible():
        by_input, by_grid = aten.grid_sampler_2d_backward(
            torch.ones(1, 1, 2, 2), image, grid, 0, 0, False, [False, True]
        )
    assert by_input is None
    assert by_grid.shape == grid.shape


POOLS: list[dict[str, Any]] = [
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (2, 3), "stride": (1, 2), "padding": (1, 1), "ceil_mode": True, "count_include_pad": False},
    {"kernel_size": (5, 1), "divisor_override": -7},
    {"output_size": (7, 19)},
]


@pytest.mark.parametrize("how", POOLS, ids=["padded", "uneven", "divisor", "adaptive"])
@pytest.mark.parametrize("channels", [3, 17])
def test_average_pools_of_layouts_rows_and_threads(how: dict[str, Any], channels: int) -> None:
    x = drawn(4, channels, 63, 45).requires_grad_()
    last = x.detach().contiguous(memory_format=torch.channels_last).requires_grad_()

    def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with repdl.reproducible():
            y = (F.adaptive_avg_pool2d if "output_size" in how else F.avg_pool2d)(x, **how)
            grad = drawn(*y.shape, seed=5)
            return y.detach(), torch.autograd.grad(y, x, grad)[0]

    repdl.set_num_threads(1)
    expected = run(x)
    for threads in (2, 3, 7):
        repdl.set_num_threads(threads)
        assert all(map(same, run(x), expected))
    of_last = run(last)
    assert all(map(same, of_last, expected))
    assert all(t.is_contiguous(memory_format=torch.channels_last) for t in of_last)
    assert same(run(x[1])[0], expected[0][1])


def test_an_average_divides_once() -> None:
    x, total = torch.full((1, 1, 7, 1), 0.1), torch.zeros(())
    for _ in range(7):
        total = total + 0.1
    with repdl.reproducible():
        assert F.avg_pool2d(x, (7, 1)).item() == (total / 7).item()
        parts = F.adaptive_avg_pool2d(x[:, :, :, :, None].expand(1, 1, 7, 1, 6).reshape(1, 1, 7, 6), (1, 2))
        assert parts.flatten().tolist() == [(sum([torch.tensor(0.1)] * 21, torch.zeros(())) / 21).item()] * 2
        assert str(F.avg_pool2d(-0.0 * x, (7, 1), divisor_override=-1).item()) == "-0.0"
        with pytest.raises(RuntimeError, match="divisor must be not zero"):
            F.avg_pool2d(x, 1, divisor_override=0)


@pytest.mark.parametrize("dim", [1, 2])
def test_gradients_of_average_pools(dim: int) -> None:
    x = torch.randn(2, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    windows = (2, 3), (1, 2), (1, 1)
    assert torch.autograd.gradcheck(lambda t: ops.avg_pool(t, *windows, count_include_pad=False, dim=dim), x)


@pytest.mark.parametrize("dim", [0, 2])
def test_gradients_of_adaptive_pools(dim: int) -> None:
    x = torch.randn(5, 3, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: ops.adaptive_avg_pool(t, (3, 2), dim), x)
    assert torch.autograd.gradgradcheck(lambda t: ops.adaptive_avg_pool(t, (3, 2), dim), x)


X = torch.ones(1, 1, 4, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.resample(X, (0, 3)), r"\[resample\] size .* must be in \[1, 2\^31\)"),
        (lambda: ops.resample(X, (3, 3, 3)), r"\[resample\] input .* has fewer than 3 dimensions"),
        (lambda: ops.resample(X, ()), r"\[resample\] size .* one to three dimensions"),
        (lambda: ops.resample(X, (3,), "area"), r"\[resample\] mode must be 'linear', 'cubic', 'lanczos'"),
        (lambda: ops.resample(X, (3,), "nearest", True), r"\[resample\] mode 'nearest' has neither antialias"),
        (lambda: ops.adaptive_avg_pool(X, (-1, 2)), r"\[adaptive_avg_pool\] output_size .* must be in \[0, 2\^31\)"),
        (lambda: ops.adaptive_avg_pool(X, (2, 2, 2)), r"\[adaptive_avg_pool\] input .* fewer than 3 dimensions"),
        (lambda: ops.adaptive_avg_pool(X[:, :, :0], (2, 2)), r"\[adaptive_avg_pool\] input .* a size of 0"),
        (lambda: ops.adaptive_avg_pool_grad(X, (0, 2)), r"\[adaptive_avg_pool_grad\] input_size .* \[1, 2\^31\)"),
        (lambda: ops.resample(X, (3,), scales_w=1e-30), r"scale factor of .* is too small"),
        (lambda: ops.resample(X[:, :, :0], (3, 3)), r"\[resample\] input .* is empty in dimension 2"),
        (lambda: ops.grid_sample(X, torch.zeros(1, 2, 2, 3)), r"\[grid_sample\] grid .* must have 2 coordinates"),
        (lambda: ops.grid_sample(X, torch.zeros(2, 2, 2, 2)), r"\[grid_sample\] grid .* batch of 1"),
        (lambda: ops.grid_sample(X[:, :, :0], torch.zeros(1, 2, 2, 2)), r"\[grid_sample\] images .* are empty"),
        (lambda: ops.grid_sample(X, torch.zeros(1, 2, 2, 2), "cubic"), r"\[grid_sample\] mode must be"),
        (lambda: ops.grid_sample(X[None], torch.zeros(1, 1, 1, 1, 3), "cubic"), r"'nearest' or 'bicubic', got 'cubic'"),
        (
            lambda: ops.grid_sample(X, torch.zeros(1, 2, 2, 2), padding_mode="wrap"),
            r"\[grid_sample\] padding_mode must",
        ),
        (
            lambda: ops.grid_sample_grad_input(X, torch.zeros(1, 2, 2, 2), (3, 3)),
            r"\[grid_sample_grad_input\] grad_output",
        ),
        (lambda: ops.avg_pool(X, (5, 5), (1, 1), (0, 0)), r"\[avg_pool\] input .* is smaller than the window"),
        (lambda: ops.avg_pool(X, (2, 2), (1,), (0, 0)), r"\[avg_pool\] .* must have as many numbers"),
        (lambda: ops.avg_pool(X, (2, 2), (0, 1), (0, 0)), r"\[avg_pool\] stride"),
        (lambda: ops.avg_pool(X, (2, 2), (1, 1), (2, 0)), r"\[avg_pool\] padding .* half of the kernel size"),
        (lambda: ops.avg_pool(X, (2, 2, 2), (1, 1, 1), (0, 0, 0)), r"\[avg_pool\] input .* fewer than 3 dimensions"),
        (lambda: ops.avg_pool_grad(X, (9, 9), (2, 2), (1, 1), (0, 0)), r"\[avg_pool_grad\] grad_output"),
    ],
)
def test_bad_arguments(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
