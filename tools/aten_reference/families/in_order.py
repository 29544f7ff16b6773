# SPDX-License-Identifier: MIT
"""Sums that go in the order of the index: running sums, writes to an index that comes twice, pools, padding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..cases import LARGE
from ..numbers import add, div, float32, mul
from ..registry import reference
from ..tensors import FLOATS, Tensor, from_lines, lines, offset, rounded, size_of, wrap
from .choices import larger, smaller

_FLOATS = ("", ".bfloat16", ".float16")


def plus(dtype: str) -> Callable[[Any, Any], Any]:
    return add if dtype in FLOATS else lambda x, y: x + y


def times(dtype: str) -> Callable[[Any, Any], Any]:
    return mul if dtype in FLOATS else lambda x, y: x * y


def _running(name: str, step: Callable[[str], Callable[[Any, Any], Any]], first: float, generator: str) -> None:
    @reference(
        name,
        cases=[
            f"self={x}, dim={dim}"
            for t in (*_FLOATS, ".int64", ".int32", ".uint8")
            for x, dim in (
                (f"{'extreme' if 'int' in t else generator}{t}[5, 37]#1", 1),
                (f"{'extreme' if 'int' in t else generator}{t}[37, 5]#1", 0),
                (f"{'ties' if 'int' in t else 'zeros'}{t}[3, 9, 4]#1", 1),
            )
        ]
        + [
            "self=special[40, 7]#1, dim=0",
            f"self={generator}[{LARGE}]#1, dim=0",
            f"self={generator}[9, 9001]#1, dim=1",
        ],
    )
    def run(self: Tensor, dim: int) -> Tensor:
        """Of float32 in binary64, as torch does; of low types in float32; of integers in int64."""
        dtype = self.dtype if self.is_float else "int64"
        found = []
        for line in lines(self, dim):
            total: Any = first if self.is_float else int(first)
            of_line = []
            for x in line:
                if dtype == "float32":
                    total = total + x if name == "cumsum" else total * x
                    of_line.append(float32(total))
                else:
                    total = step(dtype)(total, x)
                    total = total if self.is_float else wrap(total, dtype)
                    of_line.append(rounded(total, dtype))
            found.append(of_line)
        return from_lines(found, self.shape, dim, dtype)


_running("cumsum", plus, 0.0, "wide")
_running("cumprod", times, 1.0, "uniform")


def _spots(shape: Sequence[int], dim: int, index: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """For each entry of an index along a dimension, the places in the tensor and in the source."""
    outer, inner = size_of(tuple(shape[:dim])), size_of(tuple(shape[dim + 1 :]))
    return [
        (
            [(o * shape[dim] + at) * inner + i for o in range(outer) for i in range(inner)],
            [(o * len(index) + k) * inner + i for o in range(outer) for i in range(inner)],
        )
        for k, at in enumerate(index)
    ]


_INDEXED = (
    [f"self=normal{t}[3, 7]#1, dim=0, index=classes3[40]#2, source=normal{t}[40, 7]#3" for t in (*_FLOATS,)]
    + [f"self=special{t}[3, 7]#1, dim=1, index=classes7[11]#2, source=special{t}[3, 11]#3" for t in (*_FLOATS,)]
    + [
        "self=ties.int64[3, 7]#1, dim=0, index=classes3[40]#2, source=extreme.int64[40, 7]#3",
        "self=ties.uint8[3]#1, dim=0, index=classes3[40]#2, source=extreme.uint8[40]#3",
        "self=zeros[5]#1, dim=0, index=classes5.int32[300]#2, source=wide[300]#3",
        "self=normal[10]#1, dim=0, index=classes10[100003]#2, source=normal[100003]#3",
        "self=normal[5, 301]#1, dim=0, index=classes5[400]#2, source=normal[400, 301]#3",
        "self=normal[9, 300, 5]#1, dim=1, index=classes300[400]#2, source=normal[9, 400, 5]#3",
    ]
)


@reference(
    "index_add",
    "index_add_",
    cases=[
        *_INDEXED,
        *(f"{c}, alpha=0.3" for c in _INDEXED if "int" not in c),
        *(f"{c}, alpha=3" for c in _INDEXED if "normal" not in c),
    ],
)
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> Tensor:
    """Terms are added in the order of the index; `alpha` times a term is rounded. Of low types in float32."""
    total = list(self.data)
    factor = float32(alpha) if self.is_float else alpha
    for places, terms in _spots(self.shape, dim, index.data):
        for at, k in zip(places, terms, strict=True):
            term = times(self.dtype)(source.data[k], factor) if alpha != 1 else source.data[k]
            total[at] = plus(self.dtype)(total[at], term)
    return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in total])


def _reduce(values: list[Any], how: str, count: int, dtype: str) -> Any:
    """In order, in float32. A mean is a sum over the count."""
    step = {"prod": times(dtype), "amax": larger, "amin": smaller}.get(how, plus(dtype))
    total = values[0]
    for x in values[1:]:
        total = step(total, x)
    if how == "mean":
        return div(total, float(count)) if dtype in FLOATS else total // count
    return total


def _gathered(self: Tensor, spots: Any, source: list[Any], how: str, include_self: bool) -> Tensor:
    held: list[list[Any]] = [[] for _ in self.data]
    for at, k in spots:
        held[at].append(source[k])
    data = []
    for own, terms in zip(self.data, held, strict=True):
        first = [own] if include_self else [0.0 if self.is_float else 0] if how in ("sum", "mean") else []
        if not terms:
            data.append(own)
        else:
            data.append(rounded(_reduce([*first, *terms], how, len(terms) + include_self, self.dtype), self.dtype))
    return Tensor(self.dtype, self.shape, data)


_REDUCED = [c for c in _INDEXED if ".uint8" not in c]


@reference(
    "index_reduce",
    cases=[
        f"{c}, reduce='{how}', include_self={own}"
        for c in _REDUCED[:9]
        for how in ("prod", "mean", "amax", "amin")
        for own in (True, False)
        if not ("int" in c and how == "mean")
    ],
)
def index_reduce(self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool) -> Tensor:
    spots = [pair for places, terms in _spots(self.shape, dim, index.data) for pair in zip(places, terms, strict=True)]
    return _gathered(self, spots, source.data, reduce, include_self)


def _scattered(self: Tensor, dim: int, index: Tensor, source_shape: Sequence[int]) -> list[tuple[int, int]]:
    """For each element of the index, in row-major order, the place in the tensor and in the source."""

    pairs = []
    for at, place in zip(index.indices(), index.data, strict=True):
        target = list(at)
        if target:
            target[dim] = place
        pairs.append((offset(self.shape, target), offset(source_shape, at)))
    return pairs


_SCATTERED = (
    [
        f"self=normal{t}[3, 7]#1, dim=0, index=classes3[40, 7]#2, src=normal{t}[40, 7]#3"
        for t in (*_FLOATS, ".int64")
        if t != ".int64"
    ]
    + [f"self=special{t}[5, 9]#1, dim=1, index=classes9[3, 11]#2, src=special{t}[4, 20]#3" for t in _FLOATS]
    + [
        "self=ties.int64[3, 7]#1, dim=0, index=classes3[40, 5]#2, src=extreme.int64[40, 7]#3",
        "self=zeros[5]#1, dim=0, index=classes5[300]#2, src=zeros[300]#3",
        "self=normal[10]#1, dim=0, index=classes10[100003]#2, src=normal[100003]#3",
        "self=normal[5, 301]#1, dim=0, index=classes5[200, 301]#2, src=wide[200, 301]#3",
    ]
)


@reference("scatter.src", cases=[*_SCATTERED])
def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """The last one wins."""
    result = self.copy()
    for at, k in _scattered(self, dim, index, src.shape):
        result.data[at] = src.data[k]
    return result


@reference(
    "scatter.value",
    cases=[
        "self=normal[3, 7]#1, dim=0, index=classes3[40, 7]#2, value=0.3",
        "self=ties.bfloat16[3, 7]#1, dim=1, index=classes7[2, 5]#2, value=0.3",
    ],
)
def scatter_value(self: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    result = self.copy()
    for at, _ in _scattered(self, dim, index, index.shape):
        result.data[at] = rounded(float32(value), self.dtype)
    return result


@reference("scatter_add", cases=_SCATTERED)
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return _gathered(self, _scattered(self, dim, index, src.shape), src.data, "sum", True)


@reference(
    "scatter_reduce.two",
    cases=[
        f"{c}, reduce='{how}', include_self={own}"
        for c in _SCATTERED
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
        if not ("int" in c and how == "mean") and not ("100003" in c and how == "prod")
    ],
)
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    return _gathered(self, _scattered(self, dim, index, src.shape), src.data, reduce, include_self)


@reference("scatter.reduce", cases=[f"{c}, reduce='{how}'" for c in _SCATTERED[:4] for how in ("add", "multiply")])
def scatter_how(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> Tensor:
    how = "sum" if reduce == "add" else "prod"
    return _gathered(self, _scattered(self, dim, index, src.shape), src.data, how, True)


@reference(
    "embedding_dense_backward",
    cases=[
        f"grad_output={g}{t}[40, 7]#1, indices=classes5{i}[40]#2, num_weights=6, padding_idx={pad}, "
        f"scale_grad_by_freq={by}"
        for g, t, i in (
            ("normal", "", ""),
            ("special", "", ""),
            ("normal", ".bfloat16", ".int32"),
            ("normal", ".float16", ""),
        )
        for pad, by in ((-1, False), (2, False), (-1, True))
    ]
    + [
        "grad_output=normal[2, 200, 301]#1, indices=classes99[2, 200]#2, num_weights=99, padding_idx=0, "
        "scale_grad_by_freq=False"
    ],
)
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    width, dtype = grad_output.shape[-1], grad_output.dtype
    total = [0.0] * (num_weights * width)
    for k, row in enumerate(indices.data):
        if row == padding_idx:
            continue
        count = indices.data.count(row) if scale_grad_by_freq else 1
        for j in range(width):
            term = grad_output.data[k * width + j]
            if scale_grad_by_freq:
                term = mul(term, div(1.0, float(count)))
            total[row * width + j] = add(total[row * width + j], term)
    return Tensor(dtype, (num_weights, width), [rounded(x, dtype) for x in total])


# Padding and nearest neighbours: the gradient of each element is the sum of those that it went to, in their order; of
# nearest neighbours along one dimension after the other.


def _sum_back(grad: Tensor, shape: tuple[int, ...], rank: int, source: Callable[[int, int, int], int]) -> Tensor:
    """`source(dimension, size, place)` says which place of the input a place of the output has."""
    total = [0.0] * size_of(shape)

    lead = len(shape) - rank
    for at, g in zip(grad.indices(), grad.data, strict=True):
        back = [*at[:lead], *(source(d, shape[lead + d], at[lead + d]) for d in range(rank))]
        k = offset(shape, back)
        total[k] = add(total[k], g)
    return Tensor(grad.dtype, shape, [rounded(x, grad.dtype) for x in total])


_SIZES = {1: ((7,), (2, 3)), 2: ((5, 7), (1, 2, 3, 0)), 3: ((4, 5, 6), (1, 2, 0, 3, 2, 1))}


def _padding(rank: int) -> None:
    sizes, padding = _SIZES[rank]
    padded = [n + padding[2 * (rank - 1 - d)] + padding[2 * (rank - 1 - d) + 1] for d, n in enumerate(sizes)]
    for kind in ("reflection", "replication"):
        cases = [
            f"grad_output={g}{t}{[2, 3, *padded]}#1, self=normal{t}{[2, 3, *sizes]}#2, padding={padding}"
            for t in _FLOATS
            for g in ("normal", "zeros", "special")
        ]

        @reference(f"{kind}_pad{rank}d_backward", cases=cases)
        def run(grad_output: Tensor, self: Tensor, padding: tuple[int, ...], kind: str = kind) -> Tensor:
            def source(d: int, size: int, place: int) -> int:
                at = place - padding[2 * (rank - 1 - d)]
                if kind == "replication":
                    return min(max(at, 0), size - 1)
                return -at if at < 0 else 2 * (size - 1) - at if at >= size else at

            return _sum_back(grad_output, self.shape, rank, source)


def _nearest(rank: int) -> None:
    sizes, _ = _SIZES[rank]
    for exact in (False, True):
        name = f"{'_upsample_nearest_exact' if exact else 'upsample_nearest'}{rank}d_backward"
        cases = [
            f"grad_output={g}{t}{[2, 3, *new]}#1, output_size={tuple(new)}, input_size={(2, 3, *sizes)}"
            for t in _FLOATS
            for g, new in (
                ("wide", [n * 2 + 1 for n in sizes]),
                ("normal", [n - 2 for n in sizes]),
                ("zeros", [n + 3 for n in sizes]),
            )
        ]

        @reference(name, cases=cases)
        def run(
            grad_output: Tensor, output_size: tuple[int, ...], input_size: tuple[int, ...], exact: bool = exact
        ) -> Tensor:
            def source(d: int, size: int, place: int) -> int:
                scale = div(float(size), float(output_size[d]))
                at = mul(add(float(place), 0.5), scale) if exact else mul(float(place), scale)
                return min(math.floor(at), size - 1)

            total, lead = grad_output, grad_output.shape[: len(input_size) - rank]
            total = Tensor("float32", total.shape, total.data)
            for d in range(rank):
                shape = (*lead, *input_size[len(lead) : len(lead) + d + 1], *output_size[d + 1 :])

                def of_one(e: int, size: int, place: int, d: int = d) -> int:
                    return source(e, size, place) if e == d else place

                total = _sum_back(total, shape, rank, of_one)
            return Tensor(grad_output.dtype, input_size, [rounded(x, grad_output.dtype) for x in total.data])


for _rank in (1, 2, 3):
    _padding(_rank)
    _nearest(_rank)


def outputs(size: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    span = size + 2 * padding - kernel
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def _windows(size: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> list[tuple[int, int, int]]:
    """First, last and the number of places with padding of each window."""
    found = []
    for k in range(outputs(size, kernel, stride, padding, ceil_mode)):
        first = k * stride - padding
        last = min(first + kernel, size + padding)
        found.append((max(first, 0), min(last, size), last - first))
    return found


_POOLS = (
    "kernel_size=(3, 2), stride=(2, 1), padding=(1, 0), ceil_mode=False, count_include_pad=True",
    "kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), ceil_mode=True, count_include_pad=False",
    "kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False, count_include_pad=True, divisor_override=3",
)


def _pools(rank: int) -> list[str]:
    if rank == 2:
        return list(_POOLS)
    return [
        p.replace("(3, 2)", "(3, 2, 2)")
        .replace("(2, 1)", "(2, 1, 2)")
        .replace("(1, 0)", "(1, 0, 1)")
        .replace("(2, 2)", "(2, 2, 2)")
        .replace("(1, 1)", "(1, 1, 1)")
        .replace("(0, 0)", "(0, 0, 0)")
        for p in _POOLS
    ]


def _pool(rank: int) -> None:
    from itertools import product

    size = "8, 9" if rank == 2 else "5, 6, 7"
    types = _FLOATS if rank == 2 else ("",)  # torch has no others
    cases = [
        f"self={g}{t}[2, 3, {size}]#1, {p}" for t in types for g in ("normal", "special", "zeros") for p in _pools(rank)
    ]

    @reference(f"avg_pool{rank}d", cases=cases)
    def run(
        self: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The sum of a window in row-major order, over the number of its places."""
        lead, sizes = self.shape[:-rank], self.shape[-rank:]
        windows = [
            _windows(n, k, s, p, ceil_mode) for n, k, s, p in zip(sizes, kernel_size, stride, padding, strict=True)
        ]
        data = []
        for at in product(*map(range, lead)):
            for window in product(*windows):
                total = 0.0
                for place in product(*(range(first, last) for first, last, _ in window)):
                    total = add(total, self[(*at, *place)])
                count = (
                    math.prod(n for *_, n in window) if count_include_pad else math.prod(b - a for a, b, _ in window)
                )
                mean = div(total, float(divisor_override or count))
                data.append(rounded(mean, self.dtype))
        return Tensor(self.dtype, (*lead, *map(len, windows)), data)

    backward = []
    for t in types:
        for p in _pools(rank):
            settings = eval(f"dict({p})")
            sizes = [int(n) for n in size.split(",")]
            outs = [
                outputs(n, k, s, q, settings["ceil_mode"])
                for n, k, s, q in zip(
                    sizes, settings["kernel_size"], settings["stride"], settings["padding"], strict=True
                )
            ]
            full = p if "divisor" in p else f"{p}, divisor_override=None"
            backward += [
                f"grad_output={g}{t}[2, 3, {', '.join(map(str, outs))}]#1, self=normal{t}[2, 3, {size}]#2, {full}"
                for g in ("normal", "zeros")
            ]

    @reference(f"avg_pool{rank}d_backward", cases=backward)
    def run_backward(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        """An element gets the gradient of each window over the number of its places, in the order of the windows."""
        lead, sizes = self.shape[:-rank], self.shape[-rank:]
        windows = [
            _windows(n, k, s, p, ceil_mode) for n, k, s, p in zip(sizes, kernel_size, stride, padding, strict=True)
        ]
        result = Tensor("float32", self.shape, [0.0] * len(self.data))
        for at in product(*map(range, lead)):
            for output in product(*(range(len(w)) for w in windows)):
                window = [w[k] for w, k in zip(windows, output, strict=True)]
                count = (
                    math.prod(n for *_, n in window) if count_include_pad else math.prod(b - a for a, b, _ in window)
                )
                share = div(grad_output[(*at, *output)], float(divisor_override or count))
                for place in product(*(range(first, last) for first, last, _ in window)):
                    result[(*at, *place)] = add(result[(*at, *place)], share)
        return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in result.data])

    name = f"_adaptive_avg_pool{rank}d"
    shares = {2: "(5, 4)", 3: "(3, 4, 5)"}[rank]

    def parts(n: int, count: int) -> list[tuple[int, int]]:
        return [(k * n // count, -(-(k + 1) * n // count)) for k in range(count)]

    @reference(
        name,
        name.removeprefix("_"),
        cases=[
            f"self={g}{t}[2, 3, {size}]#1, output_size={shares}"
            for t in _FLOATS
            for g in ("normal", "special", "zeros")
        ],
    )
    def run_adaptive(self: Tensor, output_size: Any) -> Tensor:
        lead, sizes = self.shape[:-rank], self.shape[-rank:]
        windows = [parts(n, count) for n, count in zip(sizes, output_size, strict=True)]
        data = []
        for at in product(*map(range, lead)):
            for window in product(*windows):
                total = 0.0
                for place in product(*(range(*w) for w in window)):
                    total = add(total, self[(*at, *place)])
                data.append(rounded(div(total, float(math.prod(b - a for a, b in window))), self.dtype))
        return Tensor(self.dtype, (*lead, *output_size), data)

    @reference(
        f"{name}_backward",
        cases=[
            f"grad_output={g}{t}[2, 3, {shares[1:-1]}]#1, self=normal{t}[2, 3, {size}]#2"
            for t in _FLOATS
            for g in ("normal", "zeros")
        ],
    )
    def run_adaptive_backward(grad_output: Tensor, self: Tensor) -> Tensor:
        lead, sizes = self.shape[:-rank], self.shape[-rank:]
        windows = [parts(n, count) for n, count in zip(sizes, grad_output.shape[-rank:], strict=True)]
        result = Tensor("float32", self.shape, [0.0] * len(self.data))
        for at in product(*map(range, lead)):
            for output in product(*(range(len(w)) for w in windows)):
                window = [w[k] for w, k in zip(windows, output, strict=True)]
                share = div(grad_output[(*at, *output)], float(math.prod(b - a for a, b in window)))
                for place in product(*(range(*w) for w in window)):
                    result[(*at, *place)] = add(result[(*at, *place)], share)
        return Tensor(self.dtype, self.shape, [rounded(x, self.dtype) for x in result.data])


_pool(2)
_pool(3)


@reference(
    "col2im",
    cases=[
        f"self={g}{t}[2, 18, 8]#1, output_size=(7, 6), kernel_size=(3, 2), dilation=(1, 2), padding=(1, 0), "
        "stride=(2, 2)"
        for t in _FLOATS
        for g in ("normal", "zeros", "special")
    ],
)
def col2im(self: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    """Each element is the sum of what meets it, by place in the kernel."""
    (h, w), (kh, kw), (dh, dw), (ph, pw), (sh, sw) = output_size, kernel_size, dilation, padding, stride
    rows, columns = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    n, wide, _ = self.shape
    channels = wide // (kh * kw)
    result = Tensor("float32", (n, channels, h, w), [0.0] * (n * channels * h * w))
    for b in range(n):
        for k in range(wide):
            c, i, j = k // (kh * kw), k // kw % kh, k % kw
            for p in range(rows):
                for q in range(columns):
                    y, x = p * sh - ph + i * dh, q * sw - pw + j * dw
                    if 0 <= y < h and 0 <= x < w:
                        result[b, c, y, x] = add(result[b, c, y, x], self[b, k, p * columns + q])
    return Tensor(self.dtype, result.shape, [rounded(v, self.dtype) for v in result.data])


@reference(
    "unfold_backward",
    cases=[
        f"grad_in={g}{t}[4, 8, 5]#1, input_sizes=(4, 20), dim=1, size=5, step=2"
        for t in _FLOATS
        for g in ("normal", "zeros", "special")
    ],
)
def unfold_backward(grad_in: Tensor, input_sizes: Any, dim: int, size: int, step: int) -> Tensor:
    result = Tensor("float32", tuple(input_sizes), [0.0] * size_of(tuple(input_sizes)))
    for (r, k, j), g in zip(grad_in.indices(), grad_in.data, strict=True):
        result[r, k * step + j] = add(result[r, k * step + j], g)
    return Tensor(grad_in.dtype, result.shape, [rounded(v, grad_in.dtype) for v in result.data])
