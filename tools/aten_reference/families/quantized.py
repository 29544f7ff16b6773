# SPDX-License-Identifier: MIT
"""Rounding to steps: fake quantisation and its gradients, what chooses a scale, and quantised tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ..cases import LARGE
from ..numbers import add, div, float32, mul, nearest, sub
from ..registry import reference
from ..sums import sum_of
from ..tensors import Quantized, Tensor, expand, groups, rounded
from .choices import larger, smaller, to_even
from .rounded import held

_LOW = ("", ".bfloat16", ".float16")


def _step(x: float, inverse: float, zero: float, is_whole: bool = True) -> float:
    """round(x * (1 / scale)) + zero; with a zero that is no integer, rounded after the sum."""
    place = mul(x, inverse)
    return add(to_even(place), zero) if is_whole else to_even(add(place, zero))


def _number(step: float, scale: float, zero: float, low: int, high: int) -> float:
    """(step - zero) * scale, the step held between the lowest and the highest; NaN stays."""
    return mul(sub(held(step, low, high), zero), scale)


def _faked(
    self: Tensor, scales: Sequence[float], zeros: Sequence[float], low: int, high: int, is_whole: bool = True
) -> list[Tensor]:
    """What the elements are with these scales and zeros, and which steps were not held back."""
    settings = list(zip(scales, zeros, strict=True))
    steps = [_step(x, div(1.0, s), z, is_whole) for x, (s, z) in zip(self.data, settings, strict=True)]
    numbers = [_number(step, s, z, low, high) for step, (s, z) in zip(steps, settings, strict=True)]
    return [
        Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in numbers]),
        Tensor("bool", self.shape, [int(low <= step <= high) for step in steps]),
    ]


def _channels(of_channel: Tensor, self: Tensor, axis: int) -> list[float]:
    """For each element that of its channel."""
    shape = tuple(-1 if d == axis else 1 for d in range(len(self.shape)))
    sizes = tuple(len(of_channel.data) if n < 0 else n for n in shape)
    return expand(Tensor(of_channel.dtype, sizes, [float(x) for x in of_channel.data]), self.shape)


@reference(
    "fake_quantize_per_tensor_affine_cachemask",
    cases=[
        f"self={x}, scale={scale}, zero_point={zero}, quant_min={low}, quant_max={high}"
        for x in ("normal[5, 301]#1", "ties[203]#2", "special[203]#1", f"normal[{LARGE}]#1")
        for scale, zero, low, high in ((0.1, 0, -128, 127), (0.0371, 3, 0, 255), (0.5, -2, -8, 7))
    ]
    + [
        f"self={x}, scale={scale}, zero_point=1, quant_min=0, quant_max=15"
        for x in ("normal.bfloat16[203]#1", "special.float16[203]#1", "zeros[99]#1")
        for scale in (0.25, 1e-40)
    ],
)
def fake_quantize(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> list[Tensor]:
    count = len(self.data)
    return _faked(self, [float32(scale)] * count, [zero_point] * count, quant_min, quant_max)


@reference(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    cases=[
        f"self={x}, scale=positive[1]#{seed}, zero_point=classes9.int32[1]#2, fake_quant_enabled=classes2[1]#{seed}, "
        "quant_min=-5, quant_max=9"
        for x in ("normal[5, 301]#1", "special[203]#1", "ties.bfloat16[203]#2")
        for seed in (1, 2, 3, 4)
    ],
)
def fake_quantize_by_tensors(
    self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: int, quant_max: int
) -> list[Tensor]:
    count = len(self.data)
    if not fake_quant_enabled.item():
        return [self, Tensor("bool", self.shape, [1] * count)]
    return _faked(self, scale.data * count, zero_point.data * count, quant_min, quant_max)


_PER_CHANNEL = [
    (x, scale, zero, axis, low, high)
    for x, n, axis in (
        ("normal[5, 301]#1", 5, 0),
        ("normal[3, 5, 17]#1", 5, 1),
        ("special[40, 7]#1", 7, 1),
        ("ties[40, 7]#1", 7, 1),
        ("zeros[5]#1", 5, 0),
    )
    for scale, zero, low, high in (
        (f"positive[{n}]#2", f"classes9.int32[{n}]#3", 0, 15),
        (f"special[{n}]#2", f"ties.int32[{n}]#3", -8, 8),
        (f"positive[{n}]#4", f"normal[{n}]#3", -3, 4),
        (f"positive[{n}]#4", f"ties.float16[{n}]#3", 0, 4),
    )
]


@reference(
    "fake_quantize_per_channel_affine_cachemask",
    cases=[
        f"self={x}, scale={scale}, zero_point={zero}, axis={axis}, quant_min={low}, quant_max={high}"
        for x, scale, zero, axis, low, high in (
            *_PER_CHANNEL,
            ("normal.bfloat16[5, 41]#1", "positive[5]#2", "classes9.int32[5]#3", 0, 0, 15),
            ("special.float16[41, 5]#1", "positive[5]#2", "classes9.int32[5]#3", 1, 0, 15),
        )
    ],
)
def fake_quantize_channels(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> list[Tensor]:
    scales, zeros = (_channels(t, self, axis) for t in (scale, zero_point))
    return _faked(self, scales, zeros, quant_min, quant_max, not zero_point.is_float)


# Gradients, where scale and zero are learned.


def _learned(
    grad: Tensor, x: Tensor, scales: Sequence[float], zeros: Sequence[float], low: int, high: int, factor: float
) -> list[Tensor]:
    """By the operand, and for each element by scale and by zero."""
    found: list[list[float]] = [[], [], []]
    for g, value, scale, zero in zip(grad.data, x.data, scales, zeros, strict=True):
        inverse = div(1.0, scale)
        step = _step(value, inverse, zero)
        if low <= step <= high:
            away = sub(_number(step, scale, zero, low, high), value)
            by_x, by_scale, by_zero = g, mul(mul(g, away), inverse), 0.0
        else:
            end = low if step < low else high
            by_x, by_scale, by_zero = 0.0, mul(g, sub(end, zero)), mul(mul(-g, scale), float32(factor))
        for column, number in zip(found, (by_x, mul(by_scale, float32(factor)), by_zero), strict=True):
            column.append(number)
    return [Tensor("float32", x.shape, column) for column in found]


_LEARNED = [
    (g, x, low, high, factor)
    for g, x in (
        ("normal[5, 301]#5", "normal[5, 301]#1"),
        ("special[40, 5]#5", "normal[40, 5]#1"),
        ("normal[40, 5]#5", "special[40, 5]#1"),
        ("zeros[40, 5]#5", "ties[40, 5]#1"),
        ("normal[5, 5003]#5", "normal[5, 5003]#1"),
    )
    for low, high, factor in ((0, 15, 1.0), (-4, 3, 0.3))
]


@reference(
    "_fake_quantize_learnable_per_tensor_affine_backward",
    cases=[
        f"grad={g}, self={x}, scale={scale}, zero_point={zero}, quant_min={low}, quant_max={high}, grad_factor={factor}"
        for g, x, low, high, factor in _LEARNED
        for scale, zero in (("positive[1]#2", "normal[1]#3"), ("positive[1]#4", "ties[1]#7"))
    ],
)
def learned_backward(
    grad: Tensor, self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float
) -> list[Tensor]:
    """The zero is what of (zero + 1/2), held between the ends, is left of its fraction."""
    zero = float(math.trunc(held(add(zero_point.item(), 0.5), quant_min, quant_max)))
    count = len(self.data)
    by_x, *others = _learned(grad, self, scale.data * count, [zero] * count, quant_min, quant_max, grad_factor)
    return [by_x, *(Tensor("float32", (1,), [sum_of(t.data)]) for t in others)]


@reference(
    "_fake_quantize_learnable_per_channel_affine_backward",
    cases=[
        f"grad={g}, self={x}, scale=positive[5]#2, zero_point={zero}, axis={0 if '[5' in x else 1}, "
        f"quant_min={low}, quant_max={high}, grad_factor={factor}"
        for g, x, low, high, factor in (*_LEARNED, ("normal[5]#5", "normal[5]#1", 0, 15, 1.0))
        for zero in ("normal[5]#3", "ties[5]#3")
    ],
)
def learned_channels_backward(
    grad: Tensor,
    self: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float,
) -> list[Tensor]:
    """The zeros are rounded, ties to even, and held between the ends."""
    whole = [held(to_even(z), quant_min, quant_max) for z in zero_point.data]
    scales, zeros = (_channels(t, self, axis) for t in (scale, Tensor("float32", scale.shape, whole)))
    by_x, *others = _learned(grad, self, scales, zeros, quant_min, quant_max, grad_factor)
    dims = [d for d in range(len(self.shape)) if d != axis]
    if not dims:
        return [by_x, *others]
    return [by_x, *(Tensor("float32", scale.shape, [sum_of(group) for group in groups(t, dims)]) for t in others)]


# What chooses scale and zero.

_TOO_SMALL = 6.1e-5


def _chosen(low: float, high: float, first: int, last: int, symmetric: bool) -> tuple[float, int]:
    """The scale and the zero for a range, as torch's ChooseQuantizationParams: in binary64 where not said."""
    both_signs = low < 0 < high
    if both_signs and symmetric:
        half = (last - first) // 2
        widest = max(abs(low / -(half + 1)), abs(high / half))
        low, high = float32(widest * -(half + 1)), float32(widest * half)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (last - first)
    if float32(scale) == 0 or div(1.0, float32(scale)) == math.inf:
        scale = 0.1
    if scale < _TOO_SMALL:
        before, scale = float32(scale), float32(_TOO_SMALL)
        if low == 0:
            high = float32(scale * (last - first))
        elif high == 0:
            low = -float32(scale * (last - first))
        else:
            stretch = float32(scale / before)
            low, high = float32(low * stretch), float32(high * stretch)
    of_low, of_high = first - low / scale, last - high / scale
    if both_signs and symmetric:
        zero = (first + last) / 2
    elif abs(first) + abs(low / scale) < abs(last) + abs(high / scale):
        zero = of_low
    else:
        zero = of_high
    return scale, round(held(zero, first, last))


@reference(
    "_fused_moving_avg_obs_fq_helper",
    cases=[
        f"self={x}, observer_on=classes2[1]#{1 - on}, fake_quant_on=classes2[1]#{1 - fake}, running_min={low}, "
        f"running_max={high}, scale=positive[{n}]#4, zero_point=classes3.int32[{n}]#5, averaging_const=0.01, "
        f"quant_min={first}, quant_max={last}, ch_axis=0, per_row_fake_quant={n != 1}, symmetric_quant={symmetric}"
        for x, n, low, high in (
            ("normal[7, 301]#1", 1, "normal[1]#2", "positive[1]#3"),
            ("normal[7, 301]#1", 1, "special[1]#10", "special[1]#8"),  # infinite
            ("positive[40]#1", 1, "positive[1]#2", "positive[1]#3"),
            ("normal[7, 301]#1", 7, "normal[7]#2", "positive[7]#3"),
            ("wide[7, 301]#1", 7, "wide[7]#2", "wide[7]#3"),
            ("tiny[7, 30]#1", 7, "tiny[7]#2", "tiny[7]#3"),
            ("zeros[7, 40]#1", 7, "zeros[7]#2", "zeros[7]#3"),
            ("normal[7, 3, 20]#1", 0, "normal[0]#2", "normal[0]#3"),
        )
        for on, fake in ((1, 1), (1, 0), (0, 1))
        for first, last, symmetric in ((-128, 127, True), (0, 255, False), (-8, 7, False))
        if n or on
    ],
)
def fused_observer(
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool,
    symmetric_quant: bool,
) -> list[Tensor]:
    """The ends move by (now - running) * c, or become those of now where they are infinite."""
    rows = self.shape[0] if per_row_fake_quant else 1
    length = len(self.data) // rows
    ends, scales, zeros = [running_min.data, running_max.data], scale.data, zero_point.data
    if observer_on.item():
        if not ends[0]:
            ends, scales, zeros = [[math.inf] * rows, [-math.inf] * rows], [1.0] * rows, [0] * rows
        for side, better in enumerate((smaller, larger)):
            for row in range(rows):
                own = self.data[row * length : (row + 1) * length]
                now = own[0]
                for x in own:
                    now = better(now, x)
                was = ends[side][row]
                ends[side][row] = now if math.isinf(was) else add(was, mul(sub(now, was), float32(averaging_const)))
    if fake_quant_on.item():
        found = [_chosen(a, b, quant_min, quant_max, symmetric_quant) for a, b in zip(*ends, strict=True)]
        scales, zeros = [float32(s) for s, _ in found], [z for _, z in found]
        of_elements = ([t[k // length] for k in range(len(self.data))] for t in (scales, zeros))
        results = _faked(self, *of_elements, quant_min, quant_max)
    else:
        results = [self, Tensor("bool", self.shape, [1] * len(self.data))]
    shape = (len(scales),)
    changed = zip(("float32", "float32", "float32", "int32"), (*ends, scales, zeros), strict=True)
    return [*(Tensor(dtype, shape, data) for dtype, data in changed), *results]


# Quantised tensors: their steps, as integers.

_TYPES = {"qint8": ("int8", -128, 127), "quint8": ("uint8", 0, 255), "qint32": ("int32", -(2**31), 2**31 - 1)}


def _steps(x: Tensor, scales: Sequence[float], zeros: Sequence[float], dtype: str) -> Tensor:
    """round(x * (1 / scale) + zero), held between the ends of the type; NaN takes the lowest."""
    of_steps, low, high = _TYPES[dtype]
    places = (to_even(add(mul(v, div(1.0, s)), z)) for v, s, z in zip(x.data, scales, zeros, strict=True))
    return Tensor(of_steps, x.shape, [low if p != p else int(held(p, low, high)) for p in places])


_QUANTIZED = [
    (x, scale, zero, t)
    for x in ("normal[5, 301]#1", "special[203]#1", "ties[203]#1", "bits[203]#1", "zeros[0, 3]#1", "normal[]#1")
    for scale, zero, t in (
        (0.1, 3, "quint8"),
        (0.5, 1, "qint8"),
        (0.0371, -128, "qint8"),
        (1e-8, 7, "qint32"),
        (1e-40, 0, "qint8"),
    )
]


@reference(
    "quantize_per_tensor",
    cases=[f"self={x}, scale={scale}, zero_point={zero}, dtype={t}" for x, scale, zero, t in _QUANTIZED]
    + [
        f"self=normal[{LARGE}]#1, scale=0.02, zero_point=100, dtype=quint8",
        "self=ties[2, 3, 4, 5]#1, scale=1.0, zero_point=1, dtype=qint8",
    ],
)
def quantize(self: Tensor, scale: float, zero_point: int, dtype: str) -> Tensor:
    count = len(self.data)
    return _steps(self, [float32(scale)] * count, [float32(float(zero_point))] * count, dtype)


@reference(
    "quantize_per_tensor.tensor_qparams",
    cases=["self=normal[5, 301]#1, scale=positive[]#2, zero_point=classes9[]#3, dtype=quint8"],
)
def quantize_by_tensors(self: Tensor, scale: Tensor, zero_point: Tensor, dtype: str) -> Tensor:
    return quantize(self, scale.item(), zero_point.item(), dtype)


@reference(
    "quantize_per_tensor.tensors",
    cases=["tensors=[normal[5, 301]#1, ties[40]#2], scales=positive[2]#2, zero_points=classes9[2]#3, dtype=qint8"],
)
def quantize_tensors(tensors: list[Tensor], scales: Tensor, zero_points: Tensor, dtype: str) -> list[Tensor]:
    settings = zip(tensors, scales.data, zero_points.data, strict=True)
    return [quantize(x, scale, zero, dtype) for x, scale, zero in settings]


@reference(
    "quantize_per_channel",
    cases=[
        f"self={x}, scales={scale}, zero_points={zero}, axis={axis}, dtype={t}"
        for x, scale, zero, axis, _, _ in _PER_CHANNEL
        for t in ("quint8", "qint32")
        if "special[7]" not in scale and "float16" not in zero and not ("normal" in zero and t == "qint32")
    ],
)
def quantize_channels(self: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: str) -> Tensor:
    return _steps(self, _channels(scales, self, axis), _channels(zero_points, self, axis), dtype)


@reference(
    "quantize_per_tensor_dynamic",
    cases=[
        f"self={x}, dtype={t}, reduce_range={reduce}"
        for x in ("normal[5, 301]#1", "ties[203]#1", "zeros[99]#1", "positive[99]#1", "tiny[99]#1", f"wide[{LARGE}]#1")
        for t in ("quint8", "qint8")
        for reduce in (True, False)
    ],
)
def quantize_dynamic(self: Tensor, dtype: str, reduce_range: bool) -> Tensor:
    """Between the smallest and the largest element; `reduce_range` halves the steps."""
    _, *ends = _TYPES[dtype]
    first, last = (int(end / 2) if reduce_range else end for end in ends)
    scale, zero = _chosen(min(self.data), max(self.data), first, last, False)
    return quantize(self, scale, zero, dtype)


# Quantised tensors as operands.

_QUANTIZED = [
    f"quantized(steps=extreme.{t}[{shape}]#1, scale={scale}, zero_point={zero})"
    for t, zero in (("uint8", 7), ("int8", -3), ("int32", 1 << 30))
    for shape in ("5, 43", "")
    for scale in (0.3, 1e-40, 3e38)
]


def _numbers(x: Quantized) -> Tensor:
    """(step - zero) in float32, times the scale in float32."""
    scale = float32(x.scale)
    values = [mul(nearest(Fraction(step - x.zero_point), "float32"), scale) for step in x.steps.data]
    return Tensor("float32", x.steps.shape, values)


@reference("dequantize.self", cases=[f"self={x}" for x in _QUANTIZED])
def dequantize(self: Quantized) -> Tensor:
    return _numbers(self)


@reference("dequantize.tensors", cases=[f"tensors=[{_QUANTIZED[0]}, {_QUANTIZED[6]}]"])
def dequantize_each(tensors: list[Quantized]) -> list[Tensor]:
    return [_numbers(x) for x in tensors]


@reference("copy_", cases=[f"self={x.replace('#1', '#2').replace('=0.3', '=0.7')}, src={x}" for x in _QUANTIZED[::3]])
def copy_steps(self: Quantized, src: Quantized) -> Tensor:
    """Steps as they are, whatever they stand for."""
    return src.steps
