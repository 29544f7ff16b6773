# SPDX-License-Identifier: MIT
"""Calls where +0 meets -0, NaN meets numbers and equal numbers meet; a program that prints what differs among settings.

Each call is run on numbers drawn from few, so that all of them meet at every place: by several threads, in several
layouts, on parts of its operands alone. For test_signed_zeros and test_ties.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

Call = Callable[..., Any]

TINY = 1e-40  # subnormal in float32 and bfloat16; in float16 it is 0
MOODS = {
    "zeros": (0.0, -0.0),
    "below": (0.0, -0.0, -0.0, -TINY, -1.0, -float("inf")),
    "above": (0.0, -0.0, 0.0, TINY, 1.0, float("inf")),
    "any": (0.0, -0.0, 0.0, -0.0, 0.5, -0.5, 1.0, TINY, -TINY, float("inf"), -float("inf"), float("nan")),
}


def drawn(mood: str, shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    values = torch.tensor(MOODS[mood], dtype=torch.float64).to(dtype)
    generator = torch.Generator().manual_seed(seed)
    return values[torch.randint(len(values), shape, generator=generator)]


# By what may be cut off: calls by element take rows and elements alone, calls by row take rows alone.
BY_ELEMENT: dict[str, Call] = {}
BY_ROW: dict[str, Call] = {}
WHOLE: dict[str, Call] = {}


def named(module: Any, names: str) -> list[tuple[str, Call]]:
    return [(name, getattr(module, name)) for name in names.split()]


def _declare() -> None:
    e, r, w = BY_ELEMENT, BY_ROW, WHOLE
    for name, f in named(torch, "maximum minimum fmax fmin copysign heaviside nextafter"):
        e[name] = lambda x, y, f=f: f(x, y)
    for name, f in named(torch, "abs neg sign sgn ceil floor round trunc frac signbit relu nan_to_num"):
        e[name] = lambda x, y, f=f: f(x)
    for name, f in named(F, "relu6 leaky_relu hardtanh hardshrink hardswish hardsigmoid softshrink"):
        e[name] = lambda x, y, f=f: f(x)
    for low in (0.0, -0.0, 0.5, None):
        for high in (0.0, -0.0, -0.5, float("nan"), None):
            if low is None and high is None:
                continue
            e[f"clamp({low}, {high})"] = lambda x, y, a=low, b=high: x.clamp(a, b)
            if low is not None and high is not None:
                e[f"hardtanh({low}, {high})"] = lambda x, y, a=low, b=high: torch.ops.aten.hardtanh(x, a, b)
    for number in (0.0, -0.0):
        e[f"clamp_min({number})"] = lambda x, y, a=number: x.clamp_min(a)
        e[f"clamp_max({number})"] = lambda x, y, a=number: x.clamp_max(a)
        e[f"threshold({number})"] = lambda x, y, a=number: F.threshold(x, 0.0, a)
        e[f"copysign({number})"] = lambda x, y, a=number: torch.copysign(x, a)
        e[f"hardshrink({number})"] = lambda x, y, a=number: F.hardshrink(x, a)
        e[f"leaky_relu({number})"] = lambda x, y, a=number: F.leaky_relu(x, a)
        e[f"_foreach_maximum({number})"] = lambda x, y, a=number: torch._foreach_maximum([x], a)[0]
        e[f"_foreach_minimum({number})"] = lambda x, y, a=number: torch._foreach_minimum([x], a)[0]
    e["clamp(y, 0)"] = lambda x, y: torch.clamp(x, y, y.new_zeros(()))
    e["clamp(0, y)"] = lambda x, y: torch.clamp(x, y.new_zeros(()), y)
    e["clamp(y, -y)"] = lambda x, y: torch.clamp(x, y, -y)
    e["clamp_min(y)"] = lambda x, y: torch.clamp_min(x, y)
    e["clamp_max(y)"] = lambda x, y: torch.clamp_max(x, y)
    e["_foreach_maximum"] = lambda x, y: torch._foreach_maximum([x, y], [y, x])
    e["_foreach_minimum"] = lambda x, y: torch._foreach_minimum([x, y], [y, x])
    e["_foreach_clamp_min"] = lambda x, y: torch._foreach_clamp_min([x], [y])
    e["_foreach_clamp_max_"] = lambda x, y: _changed(lambda z: torch._foreach_clamp_max_([z], [y]), x)
    e["maximum out"] = lambda x, y: torch.maximum(x, y, out=torch.empty_like(x))
    e["clamp_(y)"] = lambda x, y: _changed(lambda z: z.clamp_(min=y), x)
    e["relu_"] = lambda x, y: _changed(torch.relu_, x)
    e["prelu"] = lambda x, y: F.prelu(x, x.new_full((1,), 0.0))
    e["lerp of where"] = lambda x, y: torch.where(x > y, x, y)
    for name, f in named(torch.ops.aten, "threshold_backward hardshrink_backward softshrink_backward"):
        e[name] = lambda x, y, f=f: f(x, y, 0.0)
    e["hardtanh_backward"] = lambda x, y: torch.ops.aten.hardtanh_backward(x, y, -0.0, 0.5)
    e["leaky_relu_backward"] = lambda x, y: torch.ops.aten.leaky_relu_backward(x, y, 0.0, False)
    for name, f in named(torch, "eq ne lt le gt ge"):
        e[name] = lambda x, y, f=f: f(x, y)
    for name, f in named(torch, "maximum minimum fmax fmin"):
        e[f"{name}, gradient"] = lambda x, y, f=f: _gradients(f, x, y)
    e["clamp, gradient"] = lambda x, y: _gradients(lambda a, b: torch.clamp(a, b, -b), x, y)

    for name, f in named(torch, "amax amin argmax argmin"):
        r[name] = lambda x, f=f: f(x, 1)
        w[f"{name} down"] = lambda x, f=f: f(x, 0)
    for name, f in named(torch, "max min median nanmedian mode cummax cummin sort msort argsort unique_consecutive"):
        if name == "msort":
            w["msort"] = f
            continue
        if name == "unique_consecutive":
            w[name] = lambda x: torch.unique_consecutive(x.reshape(-1), return_inverse=True, return_counts=True)
            continue
        r[name] = lambda x, f=f: tuple(_each(f(x, dim=1)))
        w[f"{name} down"] = lambda x, f=f: tuple(_each(f(x, dim=0)))
        if name.startswith(("max", "min", "med", "nanm")):
            w[f"{name} of all"] = f
    for name, f in named(torch, "amax amin argmax argmin aminmax"):
        w[f"{name} of all"] = f
    w["amax of two"] = lambda x: x.reshape(-1, 1).expand(-1, 5).amax((0, 1))
    w["amin of two"] = lambda x: x[None].expand(3, *x.shape).amin((0, 2))
    r["aminmax"] = lambda x: tuple(torch.aminmax(x, dim=1))
    w["aminmax down"] = lambda x: tuple(torch.aminmax(x, dim=0))
    for largest in (False, True):
        r[f"sort, {largest}"] = lambda x, d=largest: tuple(x.sort(1, descending=d))
        r[f"argsort, {largest}"] = lambda x, d=largest: x.argsort(1, descending=d)
        r[f"topk, {largest}"] = lambda x, d=largest: tuple(x.topk(min(30, x.shape[1]), 1, d))
        r[f"topk of many, {largest}"] = lambda x, d=largest: tuple(x.topk(x.shape[1] // 2 + 1, 1, d))
        r[f"topk unsorted, {largest}"] = lambda x, d=largest: tuple(x.topk(min(9, x.shape[1]), 1, d, False))
        w[f"sort down, {largest}"] = lambda x, d=largest: tuple(x.sort(0, descending=d))
    for k in (1, 7, 20):
        r[f"kthvalue {k}"] = lambda x, k=k: tuple(x.kthvalue(k, 1))
        w[f"kthvalue {k} down"] = lambda x, k=k: tuple(x.kthvalue(k, 0))
    w["kthvalue of all"] = lambda x: tuple(x.reshape(-1).kthvalue(100))
    w["sort of all"] = lambda x: tuple(x.reshape(-1).sort())
    w["unique"] = lambda x: torch.unique(x, return_inverse=True, return_counts=True)
    w["unique unsorted"] = lambda x: torch.unique(x, sorted=False, return_inverse=True, return_counts=True)
    w["_unique"] = lambda x: torch.ops.aten._unique(x, True, True)
    w["unique of rows"] = lambda x: torch.unique(x[:, :2], dim=0, return_inverse=True, return_counts=True)
    w["unique of columns"] = lambda x: torch.unique(x[:2], dim=1, return_inverse=True, return_counts=True)
    w["unique_consecutive of rows"] = lambda x: torch.unique_consecutive(x[:, :1], True, True, dim=0)
    w["nonzero"] = torch.nonzero
    w["count_nonzero"] = torch.count_nonzero
    for right in (False, True):
        w[f"searchsorted {right}"] = lambda x, b=right: torch.searchsorted(
            torch.nan_to_num(x[0]).sort().values, x, right=b
        )
    w["bucketize"] = lambda x: torch.bucketize(x, x.new_tensor([-1.0, -0.0, 0.0, 1.0]))
    w["isin"] = lambda x: torch.isin(x, x.new_tensor([-0.0, 1.0]))
    w["quantile"] = lambda x: torch.nan_to_num(x).clamp(-2, 2).double().quantile(0.5, 1)
    for how in ("amax", "amin"):
        w[f"scatter_reduce {how}"] = lambda x, h=how: _index(x)[0].scatter_reduce(0, _index(x)[1], x, h)
        w[f"scatter_reduce {how}, not self"] = lambda x, h=how: _index(x)[0].scatter_reduce(
            0, _index(x)[1], x, h, include_self=False
        )
        w[f"scatter_reduce rows {how}"] = lambda x, h=how: _index(x)[0].scatter_reduce(
            0, (torch.arange(len(x)) % 5)[:, None].expand_as(x), x, h
        )
        w[f"index_reduce {how}"] = lambda x, h=how: _index(x)[0].index_reduce(0, torch.arange(len(x)) % 5, x, h)
    for how in ("max", "min"):
        w[f"segment_reduce {how}"] = lambda x, h=how: torch.segment_reduce(
            x, h, lengths=torch.tensor([len(x) // 2, len(x) - len(x) // 2])
        )
    w["embedding_bag max"] = lambda x: F.embedding_bag(torch.arange(20).reshape(-1, 4), x, mode="max")
    w["norm inf"] = lambda x: torch.linalg.vector_norm(x, float("inf"), dim=0)
    w["amax, gradient"] = lambda x: _gradients(lambda a: a.amax(0), x)
    w["max, gradient"] = lambda x: _gradients(lambda a: a.max(1).values, x)
    w["max of all, gradient"] = lambda x: _gradients(torch.max, x)
    w["median, gradient"] = lambda x: _gradients(torch.median, x)
    w["cummax, gradient"] = lambda x: _gradients(lambda a: a.cummax(1).values, x)
    w["sort, gradient"] = lambda x: _gradients(lambda a: a.sort(1).values, x)
    w["aminmax, gradient"] = lambda x: _gradients(lambda a: torch.aminmax(a, dim=1).max, x)

    for n in (1, 2, 3):
        for name, arguments in (("max_pool", (3, 2, 1)), ("adaptive_max_pool", (3,))):
            f = getattr(F, f"{name}{n}d")
            w[f"{name}{n}d"] = lambda x, f=f, n=n, a=arguments: f(_image(x, n), *a, return_indices=True)
            w[f"{name}{n}d, gradient"] = lambda x, f=f, n=n, a=arguments: _gradients(lambda z: f(_image(z, n), *a), x)
        if n > 1:
            f = getattr(F, f"fractional_max_pool{n}d")
            w[f"fractional_max_pool{n}d"] = lambda x, f=f, n=n: f(
                _image(x, n),
                2,
                3,
                return_indices=True,
                _random_samples=torch.full((*_image(x, n).shape[:2], n), 0.3, dtype=x.dtype),
            )
    w["max_pool2d channels_last"] = lambda x: F.max_pool2d(
        _image(x, 2).to(memory_format=torch.channels_last), 3, 2, 1, return_indices=True
    )
    w["adaptive channels_last"] = lambda x: F.adaptive_max_pool2d(
        _image(x, 2).to(memory_format=torch.channels_last), 3, return_indices=True
    )


def _each(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


def _changed(change: Callable[[torch.Tensor], Any], x: torch.Tensor) -> torch.Tensor:
    copy = x.clone()
    change(copy)
    return copy


def _index(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[:5].clone(), (torch.arange(x.numel()) % 5).reshape(x.shape)


def _image(x: torch.Tensor, n: int) -> torch.Tensor:
    """(batch, channels, …) of the first numbers, over again if they are few."""
    shape = {1: (2, 3, 31), 2: (2, 17, 9, 11), 3: (2, 5, 5, 6, 7)}[n]
    count = torch.Size(shape).numel()
    return x.reshape(-1).repeat(-(-count // x.numel()))[:count].reshape(shape)


def _gradients(f: Call, *operands: torch.Tensor) -> tuple[torch.Tensor, ...]:
    leaves = [x.detach().requires_grad_() for x in operands]
    result = f(*leaves)
    weights = torch.ones_like(result)
    return torch.autograd.grad(result, leaves, weights)


_declare()


def transposed(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous().t()


def stepped(x: torch.Tensor) -> torch.Tensor:
    wide = x.new_full((*x.shape, 2), 3)
    wide[..., 0] = x
    return wide[..., 0]


def misaligned(x: torch.Tensor) -> torch.Tensor:
    flat = x.new_full((x.numel() + 3,), 3)
    flat[3:] = x.reshape(-1)
    return flat[3:].view(x.shape)


LAYOUTS = {"transposed": transposed, "stepped": stepped, "misaligned": misaligned}


def digest(value: Any) -> str:
    sha = hashlib.sha256()
    for t in _each(value) if not isinstance(value, list) else value:
        t = t.detach().contiguous()
        if t.is_floating_point():
            t = torch.where(t.isnan(), torch.full_like(t, 0.1875), t)
        sha.update(str(tuple(t.shape)).encode() + t.reshape(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]


def at(value: Any, index: Any) -> Any:
    return type(value)(at(v, index) for v in value) if isinstance(value, (tuple, list)) else value[index]


class Findings:
    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self.different: dict[str, list[str]] = {}
        self.failed: dict[str, str] = {}

    def run(self, name: str, key: str, f: Call, *operands: torch.Tensor) -> Any:
        try:
            value = f(*operands)
        except (RuntimeError, NotImplementedError, IndexError, TypeError) as error:
            self.failed[f"{name} {key}"] = str(error).partition("\n")[0][:150]
            return None
        self.digests[f"{name} {key}"] = digest(value)
        return value

    def compare(self, name: str, what: str, expected: Any, value: Any) -> None:
        if digest(expected) != digest(value):
            self.different.setdefault(name, []).append(what)


def check(found: Findings, dtype: torch.dtype, mood: str, shape: tuple[int, int], threads: tuple[int, ...]) -> None:
    x, y = drawn(mood, shape, dtype, 1), drawn(mood, shape, dtype, 2)
    key = f"{str(dtype)[6:]} {mood} {shape}"
    calls = [(n, f, (x, y)) for n, f in BY_ELEMENT.items()]
    calls += [(n, f, (x,)) for n, f in (BY_ROW | WHOLE).items()]
    for name, f, operands in calls:
        torch.set_num_threads(1)
        value = found.run(name, key, f, *operands)
        if value is None:
            continue
        for count in threads:
            torch.set_num_threads(count)
            found.compare(name, f"{key}, {count} threads", value, f(*operands))
        torch.set_num_threads(2)
        for kind, lay in LAYOUTS.items():
            found.compare(name, f"{key}, {kind}", value, f(*map(lay, operands)))
        if name in BY_ELEMENT:
            found.compare(name, f"{key}, mixed", value, f(transposed(x), stepped(y)))
            for cut in (slice(3, 4), slice(5, 24), slice(1, 50)):
                parts = [o[2:5, cut] for o in operands]
                found.compare(name, f"{key}, part {cut}", at(value, (slice(2, 5), cut)), f(*parts))
        if name in BY_ELEMENT or name in BY_ROW:
            for rows in (slice(0, 1), slice(shape[0] - 1, shape[0]), slice(1, 4)):
                found.compare(name, f"{key}, rows {rows}", at(value, rows), f(*(o[rows] for o in operands)))


def cases() -> Iterator[tuple[torch.dtype, str, tuple[int, int], tuple[int, ...]]]:
    """Below and above the size from which torch's kernels, and ours, use several threads."""
    for mood in MOODS:
        yield torch.float32, mood, (23, 67), (2,)
    for dtype in (torch.float64, torch.bfloat16):
        yield dtype, "any", (23, 67), (2,)
    yield torch.float32, "zeros", (331, 303), (2, 3, 7)
    yield torch.float64, "below", (331, 303), (3,)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--stock" not in sys.argv:
        import repdl

        repdl.enable()
    findings = Findings()
    for case in cases():
        check(findings, *case)
    json.dump(
        {
            "capability": torch.backends.cpu.get_cpu_capability(),
            "digests": findings.digests,
            "different": findings.different,
            "failed": findings.failed,
        },
        sys.stdout,
    )
