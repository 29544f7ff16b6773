# SPDX-License-Identifier: MIT
"""torchvision's compiled ops: by definitions in float64, in every layout, by threads and targets, and in its models."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import repdl
import torchvision_for_any_torch  # noqa: F401 (before torchvision)
from repdl import _core, ops
from repdl.interception import libraries
from support import TARGETS, run_python

# isort: split
from torchvision import extension, models
from torchvision.ops import MultiScaleRoIAlign, batched_nms

HAS_KERNELS = extension._has_ops()
"""Whether torchvision's own could be loaded, and can be compared with."""

BOX_OPS, ROI_OPS = (sys.modules[f"torchvision.ops.{name}"] for name in ("boxes", "roi_align"))
OPS = torch.ops.torchvision


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """torchvision's functions call its compiled ops, which are defined in any case."""
    for module in (BOX_OPS, ROI_OPS):
        monkeypatch.setattr(module, "_assert_has_ops", lambda: None)
    monkeypatch.setattr(ROI_OPS, "_has_ops", lambda: True)
    threads, target = repdl.get_num_threads(), _core.active_target()
    yield
    repdl.disable()
    repdl.set_num_threads(threads)
    _core.set_target(target)


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def some_boxes(count: int, seed: int = 1, size: float = 100.0, mean: float = 20.0) -> torch.Tensor:
    corners, sizes = drawn(count, 2, seed=seed) * size, drawn(count, 2, seed=seed + 1000) * 2 * mean
    return torch.cat([corners, corners + sizes], 1)


def spread(x: torch.Tensor) -> torch.Tensor:
    """The same numbers with gaps between them."""
    wide = x.new_full([2 * n for n in x.shape], 7.0)
    wide[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return wide[tuple(slice(None, None, 2) for _ in x.shape)]


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    "spread": spread,
    "misaligned": lambda x: torch.cat([x.new_zeros(1), x.reshape(-1)])[1:].view(x.shape),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x,
}

THREADS = [(target, threads) for target in TARGETS for threads in (1, 3)]


def in_every_setting(call: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The result, which must be the same on each target and with several threads."""
    results = []
    for target, threads in THREADS:
        _core.set_target(target)
        repdl.set_num_threads(threads)
        results.append(call())
    for result in results[1:]:
        assert torch.equal(result.nan_to_num(0.5), results[0].nan_to_num(0.5)), "the bits differ"
        assert torch.equal(result.signbit() & (result == 0), results[0].signbit() & (results[0] == 0))
    return results[0]


# nms


def iou(a: list[float], b: list[float]) -> float:
    """In float64; NaN where nothing can be said."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    inter = max(width, 0.0) * max(height, 0.0)
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter
    return inter / both if both != 0 else math.nan


def kept(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> list[int]:
    order = sorted(range(len(scores)), key=lambda i: -scores[i].item())
    found: list[int] = []
    rows = boxes.tolist()
    for i in order:
        if not any(iou(rows[k], rows[i]) > threshold for k in found):
            found.append(i)
    return found


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 127, 128, 129, 300, 700])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7])
def test_nms_keeps_what_its_definition_keeps(count: int, threshold: float) -> None:
    boxes, scores = some_boxes(count), drawn(count, seed=5)
    with repdl.reproducible():
        found = OPS.nms(boxes, scores, threshold)
        wide = OPS.nms(boxes.double(), scores.double(), threshold)
    assert found.dtype == torch.int64
    assert found.tolist() == wide.tolist() == kept(boxes, scores, threshold)
    if HAS_KERNELS:
        assert torch.equal(found, OPS.nms(boxes, scores, threshold))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nms_in_every_layout_and_setting(layout: str) -> None:
    boxes, scores = some_boxes(9000, mean=3.0), (drawn(9000, seed=5) * 50).round()  # many are equal
    with repdl.reproducible():
        expected = in_every_setting(lambda: OPS.nms(boxes, scores, 0.4))
        assert 500 < len(expected) < 8500
        change = LAYOUTS[layout]
        assert torch.equal(OPS.nms(change(boxes), change(scores), 0.4), expected)


def test_nms_of_equal_scores_keeps_the_first() -> None:
    boxes = some_boxes(1).expand(300, 4)
    with repdl.reproducible():
        assert OPS.nms(boxes, torch.ones(300), 0.5).tolist() == [0]
        assert OPS.nms(boxes, torch.tensor([0.0, -0.0]).repeat(150), 0.5).tolist() == [0]
        assert OPS.nms(boxes, torch.arange(300.0), 1.0).tolist() == list(range(299, -1, -1))


def test_nms_of_hostile_numbers() -> None:
    nan, inf = math.nan, math.inf
    rows = [
        [0, 0, 1, 1],
        [0, 0, 1, nan],  # is kept, and covers nothing
        [nan, nan, nan, nan],
        [0.5, 0.5, 0.5, 0.5],  # without an area
        [0.5, 0.5, 0.5, 0.5],
        [-inf, -inf, inf, inf],  # an infinite area: its quotients are 0 or NaN
        [1, 1, 0, 0],  # the wrong way around: the area of the first, and nothing in common
        [0, 0, 1, 1],
        [0, 0, -0.0, 1],
        [inf, inf, inf, inf],
        [-1e38, -1e38, 1e38, 1e38],  # the area overflows
    ]
    boxes = torch.tensor(rows)
    scores = torch.tensor([3.0, 9, 8, 7, 6, 5, 4, 3, nan, inf, -inf])
    with repdl.reproducible():
        found = in_every_setting(lambda: OPS.nms(boxes, scores, 0.0))
        assert found.tolist() == [8, 9, 1, 2, 3, 4, 5, 6, 0, 10]
        assert OPS.nms(boxes, scores, nan).tolist() == [8, 9, 1, 2, 3, 4, 5, 6, 0, 7, 10]
        assert OPS.nms(boxes, scores, inf).tolist() == [8, 9, 1, 2, 3, 4, 5, 6, 0, 7, 10]
        two = torch.tensor([[0.0, 0, 1, 1], [5, 5, 6, 6]])
        assert OPS.nms(two, torch.ones(2), -0.5).tolist() == [0]
        # The threshold is a double: 1/3 rounded to float32 lies above it.
        thirds = torch.tensor([[0.0, 0, 2, 1], [1, 0, 3, 1]])
        assert OPS.nms(thirds, torch.ones(2), 1 / 3).tolist() == [0]
        assert OPS.nms(thirds, torch.ones(2), torch.tensor(1 / 3).item()).tolist() == [0, 1]
    if HAS_KERNELS:
        assert OPS.nms(boxes[:8], scores[:8], 0.0).tolist() == [1, 2, 3, 4, 5, 6, 0]


def test_nms_of_bfloat16_is_that_of_the_same_numbers() -> None:
    boxes, scores = some_boxes(400).bfloat16(), drawn(400).bfloat16()
    with repdl.reproducible():
        assert torch.equal(OPS.nms(boxes, scores, 0.3), OPS.nms(boxes.float(), scores.float(), 0.3))


@pytest.mark.parametrize("count", [0, 300, 1200])
def test_batched_nms(count: int) -> None:
    """Of many boxes torchvision calls nms for each class, of fewer once, with the classes far apart."""
    boxes, scores = some_boxes(count), drawn(count, seed=5)
    classes = torch.randint(3, (count,), generator=torch.Generator().manual_seed(2))
    with repdl.reproducible():
        found = batched_nms(boxes, scores, classes, 0.3)
    expected = set()
    for c in range(3):
        of_class = (classes == c).nonzero()[:, 0]
        expected |= {int(of_class[i]) for i in kept(boxes[of_class], scores[of_class], 0.3)}
    assert set(found.tolist()) == expected
    assert scores[found].tolist() == sorted(scores[found].tolist(), reverse=True)


# roi_align


def sampled(image: torch.Tensor, y: float, x: float) -> torch.Tensor:
    """(channels) at a point between the elements of an image."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return image.new_zeros(image.shape[0])
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left = min(int(y), max(height - 2, 0)), min(int(x), max(width - 2, 0))
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    low, far = y - top, x - left
    upper = image[:, top, left] * (1 - far) + image[:, top, right] * far
    lower = image[:, down, left] * (1 - far) + image[:, down, right] * far
    return upper * (1 - low) + lower * low


def pooled(
    input: torch.Tensor, rois: torch.Tensor, scale: float, rows: int, columns: int, ratio: int, aligned: bool
) -> torch.Tensor:
    """In float64, point by point; can be differentiated."""
    output = []
    for index, *corners in rois.tolist():
        x1, y1, x2, y2 = (c * scale - 0.5 * aligned for c in corners)
        high, wide = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1.0), max(x2 - x1, 1.0))
        of_y = ratio if ratio > 0 else math.ceil(high / rows)
        of_x = ratio if ratio > 0 else math.ceil(wide / columns)
        image = input[int(index)]
        for i in range(rows):
            for j in range(columns):
                total = image.new_zeros(image.shape[0])
                for k in range(of_y):
                    for m in range(of_x):
                        y = y1 + (i + (k + 0.5) / of_y) * high / rows
                        x = x1 + (j + (m + 0.5) / of_x) * wide / columns
                        total = total + sampled(image, y, x)
                output.append(total / max(of_y * of_x, 1))
    bins = torch.stack(output) if output else input.new_zeros(0, input.shape[1])
    return bins.view(len(rois), rows, columns, input.shape[1]).permute(0, 3, 1, 2)


def some_rois(count: int, images: int, size: float, mean: float) -> torch.Tensor:
    """Some of them reach beyond the image, and one is the wrong way around."""
    index = torch.randint(images, (count, 1), generator=torch.Generator().manual_seed(3))
    rois = torch.cat([index.float(), some_boxes(count, 7, size, mean) - mean / 2], 1)
    if count > 2:
        rois[2, 1:] = rois[2, [3, 4, 1, 2]]
    return rois


CALLS: list[tuple[tuple[int, ...], int, tuple[Any, ...]]] = [
    ((2, 5, 13, 17), 7, (0.25, 3, 4, 2, False)),
    ((2, 5, 13, 17), 7, (0.25, 3, 4, 2, True)),
    ((2, 3, 13, 17), 6, (0.25, 4, 3, -1, False)),
    ((2, 3, 13, 17), 6, (0.25, 2, 3, 0, True)),
    ((1, 2, 1, 9), 5, (0.2, 2, 2, 3, False)),
    ((3, 2, 7, 1), 5, (0.1, 1, 2, 1, True)),
    ((1, 33, 60, 50), 4, (1.5, 2, 2, 2, False)),
    ((2, 3, 6, 5), 0, (0.5, 2, 2, 2, False)),
]


@pytest.mark.parametrize(("shape", "count", "how"), CALLS)
def test_roi_align_is_the_mean_of_points(shape: tuple[int, ...], count: int, how: tuple[Any, ...]) -> None:
    x = (drawn(*shape) - 0.5).double()
    rois = some_rois(count, shape[0], shape[3] / how[0], 20.0).double()
    expected = pooled(x.requires_grad_(), rois, *how)
    grad = torch.randn(expected.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    (of_input,) = torch.autograd.grad(expected, x, grad) if count else (torch.zeros(shape).double(),)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
        inputs = x.detach().to(dtype).requires_grad_(), rois.to(dtype)
        with repdl.reproducible():
            output = OPS.roi_align(*inputs, *how)
            output.backward(grad.to(dtype))
        assert output.dtype == dtype
        torch.testing.assert_close(output.double(), expected, rtol=tolerance, atol=tolerance)
        assert inputs[0].grad is not None
        torch.testing.assert_close(inputs[0].grad.double(), of_input, rtol=10 * tolerance, atol=10 * tolerance)
        if HAS_KERNELS:
            torch.testing.assert_close(OPS.roi_align(*inputs, *how), output, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_roi_align_in_every_layout_and_setting(layout: str) -> None:
    x, rois = drawn(2, 70, 19, 23) - 0.5, some_rois(300, 2, 80.0, 30.0)
    x.view(-1)[::97], x.view(-1)[5::89] = -0.0, 1e-40
    how = 0.25, 3, 3, 2, True
    size = 2, 70, 19, 23
    change = LAYOUTS[layout]
    with repdl.reproducible():
        expected = in_every_setting(lambda: OPS.roi_align(x, rois, *how))
        assert torch.equal(OPS.roi_align(change(x), change(rois), *how), expected)
        grad = torch.randn(expected.shape, generator=torch.Generator().manual_seed(4))
        sums = in_every_setting(lambda: OPS._roi_align_backward(grad, rois, *how[:3], *size, *how[3:]))
        assert torch.equal(OPS._roi_align_backward(change(grad), change(rois), *how[:3], *size, *how[3:]), sums)
        for r in (0, 2, 128, 299):
            assert torch.equal(OPS.roi_align(x, rois[r : r + 1], *how)[0], expected[r])


def test_the_gradient_adds_the_boxes_in_their_order() -> None:
    x, rois = torch.zeros(1, 1, 4, 4), torch.tensor([[0.0, 0, 0, 4, 4]]).expand(3, 5)
    how = 1.0, 1, 1, 1, False
    grad = torch.tensor([1e8, 6.0, -1e8]).view(3, 1, 1, 1)
    with repdl.reproducible():
        one, other = (OPS._roi_align_backward(g, rois, *how[:3], *x.shape, *how[3:]) for g in (grad, grad.flip(0)))
        assert one.abs().max() == 8.0 and other.abs().max() == 8.0
        swapped = OPS._roi_align_backward(grad[[0, 2, 1]], rois, *how[:3], *x.shape, *how[3:])
        assert swapped.abs().max() == 6.0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_is_rounded_once(dtype: torch.dtype) -> None:
    x, rois = (drawn(2, 5, 9, 9) - 0.5).to(dtype), some_rois(20, 2, 30.0, 10.0).to(dtype)
    how = 0.25, 3, 3, 2, False
    with repdl.reproducible():
        wide = OPS.roi_align(x.float(), rois.float(), *how)
        assert torch.equal(OPS.roi_align(x, rois, *how), wide.to(dtype))
        wide = OPS._roi_align_backward(wide.to(dtype).float(), rois.float(), *how[:3], *x.shape, *how[3:])
        found = OPS._roi_align_backward(OPS.roi_align(x, rois, *how), rois, *how[:3], *x.shape, *how[3:])
        assert torch.equal(found, wide.to(dtype))


def test_roi_align_of_hostile_numbers() -> None:
    nan, inf = math.nan, math.inf
    x = drawn(1, 3, 6, 7)
    corners = [
        [nan, 1, 3, 4],
        [1, 1, inf, 4],
        [-inf, 1, 3, 4],
        [-inf, -inf, inf, inf],
        [-1e30, 0, 1e30, 5],
        [9, 9, 9, 9],
    ]
    rois = torch.tensor([[0.0, *c] for c in corners])
    for how in ((1.0, 2, 2, 2, False), (1.0, 2, 2, -1, True)):
        with repdl.reproducible():
            found = in_every_setting(lambda how=how: OPS.roi_align(x, rois, *how))  # type: ignore[misc]
        assert found.isfinite().all()
        assert not found[0].any() and not found[3].any() and not found[5].any()
    holes = x.clone()
    holes[0, 0, 0, 0], holes[0, 1, 5, 6] = nan, inf
    with repdl.reproducible():
        whole = torch.tensor([[0.0, 0, 0, 7, 6]])
        found = in_every_setting(lambda: OPS.roi_align(holes, whole, 1.0, 2, 2, 2, False))
    assert found.isnan().nonzero().tolist() == [[0, 0, 0, 0]]
    assert found.isinf().nonzero().tolist() == [[0, 1, 1, 1]]


@pytest.mark.parametrize("index", [-1.0, 2.0, 1e10, math.nan, math.inf, -math.inf])
def test_a_roi_of_no_image_is_refused(index: float) -> None:
    rois = torch.tensor([[0.0, 0, 0, 4, 4], [index, 0, 0, 4, 4]])
    with repdl.reproducible():
        with pytest.raises(RuntimeError, match=r"\[roi_align\] indices holds -1, which is not in \[0, 2\)"):
            OPS.roi_align(torch.ones(2, 3, 5, 5), rois, 1.0, 2, 2, 2, False)
        rois[1, 0] = 1.75  # is cut
        assert OPS.roi_align(torch.ones(2, 3, 5, 5), rois, 1.0, 2, 2, 2, False).shape == (2, 3, 2, 2)


def test_calls_that_do_not_fit() -> None:
    boxes, scores = some_boxes(3), drawn(3)
    x, rois = drawn(2, 3, 5, 5), some_rois(3, 2, 5.0, 2.0)
    with repdl.reproducible():
        for call, words in (
            (lambda: OPS.nms(boxes, scores[:2], 0.5), "scores must have the shape"),
            (lambda: OPS.nms(boxes[0], scores, 0.5), r"boxes must have the shape \(n, 4\)"),
            (lambda: OPS.nms(boxes[:, :3], scores, 0.5), "must have 4 coordinates"),
            (lambda: OPS.nms(boxes, scores.double(), 0.5), "of the same dtype"),
            (lambda: OPS.roi_align(x, rois[:, :4], 1.0, 2, 2, 2, False), "Tensor"),
            (lambda: OPS.roi_align(x, rois.double(), 1.0, 2, 2, 2, False), "of the same dtype"),
            (lambda: OPS.roi_align(x, rois, 1.0, 0, 2, 2, False), "output_size"),
            (lambda: OPS.roi_align(x[0], rois, 1.0, 2, 2, 2, False), r"input must have the shape \(n, c, h, w\)"),
        ):
            with pytest.raises(RuntimeError, match=words):
                call()
        with pytest.raises(NotImplementedError, match="float32 or float64"):
            OPS.nms(boxes.long(), scores.long(), 0.5)
        with pytest.raises(RuntimeError):
            OPS.nms(boxes.cfloat(), scores.cfloat(), 0.5)


# roi_pool


def largest(
    input: torch.Tensor, rois: torch.Tensor, scale: float, rows: int, columns: int
) -> tuple[torch.Tensor, list[int]]:
    """The largest of each bin, and their places."""
    height, width = input.shape[2:]
    output, places = [], []
    for index, *corners in rois.tolist():
        x1, y1, x2, y2 = (math.floor(abs(c * scale) + 0.5) * (1 if c > 0 else -1) for c in corners)
        high, wide = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
        for channel in input[int(index)]:
            for i in range(rows):
                for j in range(columns):
                    top, down = (min(max(y1 + n, 0), height) for n in (i * high // rows, -(-(i + 1) * high // rows)))
                    left, right = (
                        min(max(x1 + n, 0), width) for n in (j * wide // columns, -(-(j + 1) * wide // columns))
                    )
                    part = channel[top:down, left:right]
                    at = int(part.argmax()) if part.numel() else 0
                    places.append(
                        (top + at // (right - left)) * width + left + at % (right - left) if part.numel() else -1
                    )
                    output.append(part.reshape(-1)[at] if part.numel() else input.new_zeros(()))
    return torch.stack(output).view(len(rois), input.shape[1], rows, columns), places


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_roi_pool_is_the_largest_of_each_bin(dtype: torch.dtype) -> None:
    x, rois = (drawn(2, 35, 13, 17) - 0.5).to(dtype), some_rois(9, 2, 68.0, 20.0).to(dtype)
    x[:, :, 3:9, 3:9] = 0.5  # several are the largest
    wide = x.double().requires_grad_()
    expected, places = largest(wide, rois, 0.25, 3, 4)
    grad = torch.randint(-9, 9, expected.shape, generator=torch.Generator().manual_seed(4)).to(dtype)
    (of_input,) = torch.autograd.grad(expected, wide, grad.double())
    x.requires_grad_()
    with repdl.reproducible():
        output, argmax = OPS.roi_pool(x, rois, 0.25, 3, 4)
        output.backward(grad)
    assert argmax.dtype == torch.int32
    assert argmax.reshape(-1).tolist() == places
    assert torch.equal(output.double(), expected)
    assert x.grad is not None
    assert torch.equal(x.grad, of_input.to(dtype))
    if HAS_KERNELS and dtype != torch.bfloat16:
        assert all(map(torch.equal, OPS.roi_pool(x, rois, 0.25, 3, 4), (output, argmax)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_roi_pool_in_every_layout_and_setting(layout: str) -> None:
    x, rois = (drawn(2, 70, 19, 23) * 9).round() - 4, some_rois(200, 2, 80.0, 30.0)
    x.view(-1)[::97], x.view(-1)[5::89] = math.nan, math.inf
    x[x == 0] *= -1
    change = LAYOUTS[layout]
    with repdl.reproducible():
        expected = in_every_setting(lambda: OPS.roi_pool(x, rois, 0.25, 3, 3)[0])
        places = in_every_setting(lambda: OPS.roi_pool(x, rois, 0.25, 3, 3)[1].double()).int()
        found = OPS.roi_pool(change(x), change(rois), 0.25, 3, 3)
        assert torch.equal(found[0].nan_to_num(0.5), expected.nan_to_num(0.5))
        assert torch.equal(found[1], places)
        grad = torch.randn(expected.shape, generator=torch.Generator().manual_seed(4))
        how = 0.25, 3, 3, 2, 70, 19, 23
        sums = in_every_setting(lambda: OPS._roi_pool_backward(grad, rois, places, *how))
        assert torch.equal(OPS._roi_pool_backward(change(grad), rois, change(places), *how), sums)
    chosen = places >= 0
    images = x[rois[:, 0].long()].flatten(2)
    taken = images.gather(2, places.flatten(2).clamp(min=0).long()).view(expected.shape)
    assert torch.equal(taken[chosen].nan_to_num(0.5), expected[chosen].nan_to_num(0.5))
    assert not expected[~chosen].any()


# Under repdl.enable()


def test_the_audit_tells_our_kernel_and_no_permission_changes_it() -> None:
    boxes, scores = some_boxes(50), drawn(50)
    report = repdl.audit(lambda: OPS.nms(boxes, scores, 0.5))
    (row,) = [row for row in report if row.op == "torchvision::nms"]
    assert (row.kind, row.reason, row.dtypes) == ("reproducible", "a kernel of repdl", {"float32"})
    assert report.ok
    with repdl.reproducible(), repdl.allow_native("it is not native"):
        indices, count = ops.nms(boxes, scores, 0.5)
        assert torch.equal(OPS.nms(boxes, scores, 0.5), indices[: int(count)])
    assert libraries.has_kernel("torchvision::nms")


CODE = """
import sys, torch, repdl
sys.path.insert(0, "tests/python")
repdl.enable()
def said(call, *args):
    try:
        return call(*args).tolist()
    except Exception as error:
        return type(error).__name__
"""


def test_ops_that_are_defined_after_enable() -> None:
    code = (
        CODE
        + """
print("torchvision" in sys.modules)
import torchvision_for_any_torch
nms = torch.ops.torchvision.nms
boxes, scores = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2.5], [3, 3, 4, 4]]), torch.tensor([1.0, 3, 2])
print(said(nms, boxes, scores, 0.5))
repdl.disable()
own = torch.library.Library("torchvision", "IMPL")
own.impl("nms", lambda dets, scores, threshold: scores.argsort(), "CPU")
print(said(nms, boxes, scores, 0.5))
repdl.enable()
print(said(nms, boxes, scores, 0.5))
"""
    )
    assert run_python(code).splitlines() == ["False", "[1, 2]", "[0, 2, 1]", "[1, 2]"]


def test_an_op_with_other_arguments_is_not_taken_over() -> None:
    code = (
        CODE
        + """
torch.library.define("torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold, int most) -> Tensor")
from repdl.interception.libraries import has_kernel
print(said(torch.ops.torchvision.nms, torch.ones(2, 4), torch.ones(2), 0.5, 3), has_kernel("torchvision::nms"))
"""
    )
    assert run_python(code).split() == ["NotImplementedError", "False"]


def images(count: int) -> list[torch.Tensor]:
    return [drawn(3, 60 + 7 * i, 80 - 9 * i, seed=i) for i in range(count)]


def detector() -> torch.nn.Module:
    torch.manual_seed(0)
    return models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None,
        weights_backbone=None,
        num_classes=3,
        min_size=48,
        max_size=64,
        rpn_post_nms_top_n_train=60,
        rpn_post_nms_top_n_test=60,
        box_batch_size_per_image=16,
    )


def test_pooling_from_several_maps() -> None:
    maps = {name: drawn(2, 16, n, n, seed=n).requires_grad_() for name, n in (("0", 25), ("1", 13), ("2", 7))}
    boxes = [some_boxes(9, 1, 60.0, 25.0), some_boxes(5, 2, 60.0, 25.0)]
    pooler = MultiScaleRoIAlign(["0", "1", "2"], output_size=5, sampling_ratio=2)

    def run() -> torch.Tensor:
        output = pooler(maps, boxes, [(100, 100), (100, 100)])
        assert output.shape == (14, 16, 5, 5)
        grads = torch.autograd.grad(output.square().sum(), list(maps.values()))
        return torch.cat([output.detach().reshape(-1), *(g.reshape(-1) for g in grads)])

    with repdl.reproducible():
        assert in_every_setting(run).isfinite().all()


def test_a_detector_trains_and_detects() -> None:
    """Two steps and a call, with other threads and on another target."""
    boxes = [torch.tensor([[5.0, 5, 40, 40], [10, 20, 60, 50]]), torch.tensor([[3.0, 8, 30, 44]])]
    targets = [{"boxes": b, "labels": torch.arange(len(b)) + 1} for b in boxes]
    results = []
    for target, threads in ((TARGETS[-1], 1), (TARGETS[-2:][0], 3)):
        _core.set_target(target)
        repdl.set_num_threads(threads)
        with repdl.reproducible():
            model = detector()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(2):
                losses = model(images(2), targets)
                optimizer.zero_grad()
                sum(losses.values()).backward()
                optimizer.step()
            found = model.eval()(images(2))
        results.append([*losses.values(), *model.state_dict().values(), *(t for f in found for t in f.values())])
        assert all(len(f["boxes"]) > 3 for f in found)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
