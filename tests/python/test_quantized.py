# SPDX-License-Identifier: MIT
"""Quantisation under `repdl.enable()`: the steps that are written down, from a reference in NumPy, in every layout."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import repdl
from support import same_bits

ENDS = {torch.qint8: (-128, 127), torch.quint8: (0, 255), torch.qint32: (-(2**31), 2**31 - 1)}
NAN, INF = float("nan"), float("inf")


def numbers(count: int) -> torch.Tensor:
    """With halves of a step of 1/4 beside them, numbers around it, and what is not finite."""
    x = torch.from_numpy(np.random.default_rng(1).standard_normal(count) * 30).float()
    halves = torch.arange(-20, 20, dtype=torch.float32) / 8
    special = torch.tensor([0.0, -0.0, NAN, INF, -INF, 1e-42, 3e38, -3e38, 2**31 / 4, -(2**31) / 4])
    hard = torch.cat([halves, halves.nextafter(torch.tensor(INF)), halves.nextafter(torch.tensor(-INF)), special])
    x[: len(hard)] = hard[:count]
    return x


def steps(x: torch.Tensor, scale: Any, zero: Any, dtype: torch.dtype) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        place = np.rint(x.numpy() * (np.float32(1) / np.float32(scale)) + np.float32(zero))
    low, high = ENDS[dtype]
    return np.clip(np.nan_to_num(place.astype(np.float64), nan=low, posinf=high, neginf=low), low, high)


def layouts(x: torch.Tensor) -> list[torch.Tensor]:
    spread = torch.zeros(*x.shape, 3)[..., 1].copy_(x)
    return [
        x,
        spread,
        x.transpose(0, -1).contiguous().transpose(0, -1),
        x.contiguous(memory_format=torch.channels_last),
    ]


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize(("scale", "zero"), [(0.25, 3), (0.1, 0), (0.037, 100), (1e-3, 7)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_per_tensor(scale: float, zero: int, dtype: torch.dtype) -> None:
    x = numbers(1200).reshape(4, 3, 10, 10)
    expected = steps(x, scale, zero, dtype)
    with repdl.reproducible():
        for operand in layouts(x):
            found = torch.quantize_per_tensor(operand, scale, zero, dtype)
            assert np.array_equal(found.int_repr().numpy(), expected)
            assert (found.q_scale(), found.q_zero_point()) == (scale, zero)
        alone = torch.quantize_per_tensor(x[1, 2, 3, 4], torch.tensor(scale), torch.tensor(zero), dtype)
        assert int(alone.int_repr()) == expected[1, 2, 3, 4]
        numbers_again = found.dequantize()
    assert np.array_equal(numbers_again.numpy(), (expected - zero).astype(np.float32) * np.float32(scale))


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_per_channel(dtype: torch.dtype) -> None:
    x = numbers(1200).reshape(4, 3, 10, 10)
    scales = torch.tensor([0.25, 0.1, 0.037], dtype=torch.float64)
    for zeros in (torch.tensor([3, 0, 100]), torch.tensor([0.5, 1.25, 3.0])):
        if zeros.is_floating_point() and dtype == torch.qint32:
            continue  # torch has no such tensors
        channels = zip(x.unbind(1), scales.tolist(), zeros.tolist(), strict=True)
        expected = np.stack([steps(c, s, z, dtype) for c, s, z in channels], 1)
        given = scales.float() if zeros.is_floating_point() else scales
        with repdl.reproducible():
            for operand in layouts(x):
                found = torch.quantize_per_channel(operand, given, zeros, 1, dtype)
                assert np.array_equal(found.int_repr().numpy(), expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_dynamic_as_torch() -> None:
    generator = torch.Generator().manual_seed(2)
    for size, shift in ((1.0, 0.0), (30.0, 50.0), (1e-5, 0.0), (3.0, -20.0), (0.0, 0.0)):
        x = torch.randn(50, 70, generator=generator) * size + shift
        for dtype in (torch.qint8, torch.quint8):
            for reduce_range in (False, True):
                stock = torch.quantize_per_tensor_dynamic(x, dtype, reduce_range)
                with repdl.reproducible():
                    ours = torch.quantize_per_tensor_dynamic(x, dtype, reduce_range)
                assert (ours.q_scale(), ours.q_zero_point()) == (stock.q_scale(), stock.q_zero_point())
                assert torch.equal(ours.int_repr(), stock.int_repr())


def test_integer_products() -> None:
    a, b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((33, 500), (500, 17)))
    expected = (a.to(torch.float64) @ b.to(torch.float64)).to(torch.int32)
    with repdl.reproducible():
        for left, right in ((a, b), (a.mT.contiguous().mT, b.mT.contiguous().mT)):
            assert torch.equal(torch._int_mm(left, right), expected)
        assert torch.equal(torch._int_mm(a[5:6], b), expected[5:6])
        with pytest.raises(RuntimeError):
            torch._int_mm(a.to(torch.int32), b)


FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def of_float8(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """All finite numbers that are not among the largest, zeros of both signs too."""
    steps = torch.randint(0, 224, shape, generator=torch.Generator().manual_seed(seed))
    return torch.where(steps < 112, steps, steps + 16).to(torch.uint8).view(dtype)


def test_scaled_products_of_float8() -> None:
    """In every layout, a row alone, and as torch has it in the same steps."""
    a, b = of_float8((33, 304), FLOAT8[0], 1), of_float8((304, 48), FLOAT8[1], 2)
    one, rows, columns = torch.tensor(0.3), numbers(33)[:, None], numbers(48)[None]
    bias = numbers(48).to(torch.bfloat16)
    with repdl.reproducible():
        for scales in ((one, one), (rows, columns)):
            for dtype in (torch.float32, torch.bfloat16, *FLOAT8):
                whole = torch._scaled_mm(a, b, *scales, bias=bias, out_dtype=dtype)
                expected = torch.mm(a.float(), b.float()) * (scales[0] * scales[1]) + bias.float()
                assert same_bits(whole.float(), expected.to(dtype).float())
                turned = torch._scaled_mm(a.mT.contiguous().mT, b.mT.contiguous().mT, *scales, bias, out_dtype=dtype)
                assert same_bits(turned.float(), whole.float())
                alone = scales[0] if scales[0].dim() == 0 else scales[0][5:6]
                row = torch._scaled_mm(a[5:6], b, alone, scales[1], bias=bias, out_dtype=dtype)
                assert same_bits(row.float(), whole[5:6].float())
                kind = F.ScalingType.TensorWise if scales[0].dim() == 0 else F.ScalingType.RowWise
                same = F.scaled_mm(a, b, scales[0], kind, scales[1], kind, bias=bias, output_dtype=dtype)
                assert same_bits(same.float(), whole.float())
        largest = torch.full((1, 16), 448.0).to(FLOAT8[0])
        divided = torch._scaled_mm(largest, largest.mT, one, one, scale_result=torch.tensor(1e4), out_dtype=FLOAT8[0])
        assert divided.item() == 28  # of 16 * 448^2 * 0.09 / 10^4 = 28.9
        undefined = of_float8((4, 304), FLOAT8[0], 3).view(torch.uint8)
        undefined[1, 7] = 0x7F
        found = torch._scaled_mm(undefined.view(FLOAT8[0]), b, one, one, out_dtype=torch.float32)
        assert found.isnan().any(1).tolist() == [False, True, False, False]


def test_products_with_weights_of_int8() -> None:
    weight = torch.randint(-128, 128, (48, 301), dtype=torch.int8)
    with repdl.reproducible():
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            x, scales = numbers(17 * 301).reshape(17, 301).to(dtype) / 64, numbers(48).to(dtype)
            whole = torch._weight_int8pack_mm(x, weight, scales)
            expected = F.linear(x.float(), weight.float()) * scales.float()
            assert whole.dtype == dtype and same_bits(whole, expected.to(dtype))
            assert same_bits(torch._weight_int8pack_mm(x[5:6], weight, scales), whole[5:6])
            assert same_bits(torch._weight_int8pack_mm(x.mT.contiguous().mT, weight, scales), whole)


def test_what_torch_refuses_of_scaled_products() -> None:
    a, b, one = of_float8((16, 32), FLOAT8[0], 1), of_float8((32, 16), FLOAT8[0], 2), torch.tensor(0.5)
    block = F.ScalingType.BlockWise1x128
    weight = torch.zeros(8, 32, dtype=torch.int8)
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: torch._scaled_mm(a, b, one.double(), one),
        lambda: torch._scaled_mm(a, b, torch.ones(16), one),
        lambda: torch._scaled_mm(a, b[:31], one, one),
        lambda: torch._scaled_mm(a, b, one, one, bias=torch.ones(3)),
        lambda: torch._scaled_mm(a.view(torch.int8), b.view(torch.int8), one, one),
        lambda: F.scaled_mm(a, b, torch.ones(16, 1), block, torch.ones(1, 16), block),
        lambda: torch._weight_int8pack_mm(torch.ones(4, 32), weight.view(torch.uint8), torch.ones(8)),
        lambda: torch._weight_int8pack_mm(torch.ones(4, 32), weight, torch.ones(7)),
        lambda: torch._weight_int8pack_mm(torch.ones(4, 32), weight, torch.ones(8, dtype=torch.bfloat16)),
        lambda: torch._weight_int8pack_mm(torch.ones(4, 32).double(), weight, torch.ones(8).double()),
    ]
    with repdl.reproducible():
        for call in calls:
            with pytest.raises((RuntimeError, ValueError)) as refused:
                call()
            assert not isinstance(refused.value, repdl.NotReproducibleError)


def digest() -> str:
    x, hashed = numbers(100_003), hashlib.sha256()
    calls: list[Callable[[], torch.Tensor]] = [
        lambda: torch.quantize_per_tensor(x, 0.037, 3, torch.qint8),
        lambda: torch.quantize_per_tensor(x, 0.037, 3, torch.quint8).dequantize(),
        lambda: torch.quantize_per_channel(x[:99_990].reshape(-1, 3), torch.rand(3), torch.zeros(3), 1, torch.quint8),
        lambda: torch.quantize_per_tensor_dynamic(x.nan_to_num(0, 1, 1), torch.qint8, False),
    ]
    with repdl.reproducible():
        torch.manual_seed(1)
        for call in calls:
            result = call()
            hashed.update((result.int_repr() if result.is_quantized else result).numpy().tobytes())
    return hashed.hexdigest()
