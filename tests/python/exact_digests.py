# SPDX-License-Identifier: MIT
"""A program that prints digests of what stock torch's exact kernels give, and the ops that it ran; for test_exact_ops.

Each function is run forward and backward with one and two threads, on operands large enough for both, packed and
spread.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

G = torch.Generator().manual_seed(7)


def drawn(*shape: int) -> torch.Tensor:
    """Numbers of many sizes, drawn as integers: torch's normal numbers differ between instruction sets."""
    bits = torch.randint(-(2**23), 2**23, shape, generator=G).to(torch.float32)
    x = bits / 2.0**21 * 2.0 ** torch.randint(-3, 3, shape, generator=G).to(torch.float32)
    x.view(-1)[::113] = x.view(-1)[7]
    # Zeros of both signs meet each other, in pairs of operands and in neighbours.
    zero = torch.randint(6, shape, generator=G)
    return torch.where(zero == 0, 0.0, torch.where(zero == 1, -0.0, x))


X, Y = drawn(70_003), drawn(70_003)
M = drawn(200, 171)
SMALL = drawn(10, 171)
LINE, IMAGE, VOLUME = drawn(8, 16, 301), drawn(4, 16, 25, 27), drawn(2, 8, 11, 12, 13)
ROWS = torch.arange(200) * 7 % 10
WIDE_ROWS = ROWS[:, None].expand(200, 171).contiguous()
A, B = torch.randint(-50, 50, (2, 70_003), generator=G)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {}


def run(name: str, function: Callable[..., Any], *operands: torch.Tensor) -> None:
    FUNCTIONS[name] = function, operands


for _name in """
    abs neg sign sgn ceil floor round trunc frac reciprocal deg2rad rad2deg nan_to_num signbit isnan isinf isposinf
    isneginf frexp logical_not relu
""".split():
    run(_name, getattr(torch, _name), X)
for _name in """
    mul div copysign nextafter heaviside remainder fmod floor_divide eq ne lt le gt ge
    logical_and logical_or logical_xor
""".split():
    run(_name, getattr(torch, _name), X, Y)
for _name in "relu relu6 leaky_relu hardtanh hardshrink hardswish hardsigmoid".split():
    run(_name, getattr(F, _name), X)
run("threshold", lambda x: F.threshold(x, 0.1, -1.0), X)
run("softshrink_backward", lambda g, x: torch.ops.aten.softshrink_backward(g.detach(), x.detach(), 0.5), X, Y)
run("prelu", F.prelu, M, drawn(171))
run("where", lambda x, y: torch.where(x > y, x, y), X, Y)
run("divided down", lambda x, y: torch.div(x, y, rounding_mode="floor"), X, Y)
run("divided by a number", lambda x: x / 3, X)
run("times a number", lambda x: x * 0.1, X)
for _loss in ("mse_loss", "smooth_l1_loss", "huber_loss"):
    run(_loss, lambda x, y, name=_loss: getattr(F, name)(x, y, reduction="none"), X, Y)
run("sigmoid_backward", lambda g, y: torch.ops.aten.sigmoid_backward(g.detach(), y.detach()), X, Y)
run("fake quantised", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.0371, 3, -128, 127), X)
run("native_dropout_backward", lambda g, y: torch.ops.aten.native_dropout_backward(g.detach(), y > 0, 1.25), X, Y)
for _name in "bitwise_and bitwise_or bitwise_xor gcd lcm".split():
    run(_name, lambda x, name=_name: getattr(torch, name)(A, B), X[:1])
for _name in "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __ilshift__ __irshift__".split():
    run(_name, lambda x, name=_name: getattr(torch.ops.aten, name)(A.clone(), B.abs() % 8), X[:1])
run("bitwise_not", lambda x: A.bitwise_not(), X[:1])
for _name in "argmax argmin".split():
    run(_name, lambda x, name=_name: getattr(torch, name)(x, 1), M)
    run(_name + " down", lambda x, name=_name: getattr(torch, name)(x, 0), M)
for _name in "max min cummax cummin".split():
    run(_name, lambda x, name=_name: getattr(torch, name)(x, 1), M)
    run(_name + " down", lambda x, name=_name: getattr(torch, name)(x, 0), M)
for _name in "any all argmax count_nonzero".split():
    run(_name + " of all", getattr(torch, _name), X)
run("searchsorted", lambda x, y: torch.searchsorted(y.detach().sort()[0], x), X, Y[:999])
run("bucketize", lambda x, y: torch.bucketize(x, y.detach().sort()[0]), X, Y[:999])
run("hash_tensor", lambda x: torch.hash_tensor(x.detach(), 1).view(torch.int64), M)
run("hash_tensor of all", lambda x: torch.hash_tensor(x.detach()).view(torch.int64), X)
run("bincount", lambda x: torch.bincount(A + 50), X[:1])
run("isin", lambda x: torch.isin(A, B[:5]), X[:1])
run("isin of floats", lambda x, y: torch.isin(x, y), X, Y[:5])
run("arange", lambda x: torch.arange(0, 1000, 0.1), X[:1])
run("unique", lambda x: torch.unique(A, return_inverse=True, return_counts=True), X[:1])
run("unique rows", lambda x: torch.unique(torch.stack([A, B], 1)[:999], dim=0), X[:1])
run("_unique", lambda x: torch.ops.aten._unique(A, True, True), X[:1])
run("unique_dim_consecutive", lambda x: torch.ops.aten.unique_dim_consecutive(A[:999].sort()[0][:, None], 0), X[:1])
run("unique_consecutive", lambda x: torch.unique_consecutive(A.sort()[0], return_counts=True), X[:1])
run("all true", lambda x: (torch.ops.aten._is_all_true(x < 9e9), torch.ops.aten._is_any_true(x > 9e9)), X)
for _n, _x in ((1, LINE), (2, IMAGE), (3, VOLUME)):
    run(f"max_pool{_n}d", lambda x, n=_n: getattr(F, f"max_pool{n}d")(x, 3, 2), _x)
    run(f"avg_pool{_n}d", lambda x, n=_n: getattr(F, f"avg_pool{n}d")(x, 3, 2, 1), _x)
    run(f"adaptive_max_pool{_n}d", lambda x, n=_n: getattr(F, f"adaptive_max_pool{n}d")(x, 5), _x)
    run(f"adaptive_avg_pool{_n}d", lambda x, n=_n: getattr(F, f"adaptive_avg_pool{n}d")(x, 5), _x)
    run(f"nearest {_n}", lambda x: F.interpolate(x, scale_factor=1.7), _x)
    run(f"nearest-exact {_n}", lambda x: F.interpolate(x, scale_factor=1.7, mode="nearest-exact"), _x)
    run(f"reflected {_n}", lambda x, n=_n: F.pad(x, (2, 1) * n, mode="reflect"), _x)
    run(f"replicated {_n}", lambda x, n=_n: F.pad(x, (2, 1) * n, mode="replicate"), _x)
for _n, _x in ((2, IMAGE), (3, VOLUME)):
    run(
        f"fractional_max_pool{_n}d",
        lambda x, n=_n: getattr(F, f"fractional_max_pool{n}d")(
            x, 2, output_size=5, _random_samples=torch.full((*x.shape[:2], n), 0.3)
        ),
        _x,
    )
run("unfold", lambda x: F.unfold(x, 3), IMAGE)
run("fold", lambda x: F.fold(x, (20, 18), 3), drawn(4, 36, 18 * 16))
run("windows", lambda x: x.unfold(1, 5, 2), M)
run("cumsum", lambda x: x.cumsum(1), M)
run("cumsum down", lambda x: x.cumsum(0), M)
run("cumsum of all", lambda x: x.cumsum(0), X)
run("cumsum of doubles", lambda x: x.double().cumsum(0), X)
run("cumprod", lambda x: (x / 4).cumprod(1)[:, :9], M)
run("index_add", lambda z, x: z.index_add(0, ROWS, x), SMALL, M)
run("index_add of numbers", lambda z, x: z.index_add(0, torch.arange(70_003) % 10, x), SMALL[0, :10], X)
run("scatter_add", lambda z, x: z.scatter_add(0, WIDE_ROWS, x), SMALL, M)
run("scatter_add rows", lambda z, x: z.scatter_add(0, ROWS[:, None].expand(200, 171), x), SMALL, M)
run("scatter_add of numbers", lambda z, x: z.scatter_add(0, torch.arange(70_003) % 10, x), SMALL[0, :10], X)
run("scatter", lambda z, x: z.scatter(0, torch.arange(10)[:, None].expand(10, 171), x[:10]), SMALL, M)
run("scatter of numbers", lambda z, x: z.detach().scatter(0, torch.arange(70_003) % 10, x.detach()), SMALL[0, :10], X)
for _how in ("sum", "prod", "mean"):
    run(f"scatter_reduce {_how}", lambda z, x, how=_how: z.scatter_reduce(0, WIDE_ROWS, x / 3, how), SMALL, M)
    run(
        f"scatter_reduce rows {_how}",
        lambda z, x, how=_how: z.scatter_reduce(0, ROWS[:, None].expand(200, 171), x / 3, how, include_self=False),
        SMALL,
        M,
    )
    if _how != "sum":
        run(f"index_reduce {_how}", lambda z, x, how=_how: z.index_reduce(0, ROWS, x / 3, how), SMALL, M)
for _how in ("sum", "mean", "max", "min"):
    run(f"segment_reduce {_how}", lambda x, how=_how: torch.segment_reduce(x, how, lengths=torch.tensor([60, 140])), M)
run("gather", lambda x: x.gather(0, WIDE_ROWS), M)
run("index_select", lambda x: x.index_select(0, ROWS), M)
run("embedding", lambda x: F.embedding(torch.arange(2000) % 190, x), M)

# Of other types. Complex products and the like are not exact, and not among them.
for _name in "abs neg sign ceil floor round trunc frac reciprocal deg2rad rad2deg nan_to_num relu".split():
    run(f"{_name} of doubles", lambda x, name=_name: getattr(torch, name)(x.double() / 3), X)
for _name in "mul div fmod remainder floor_divide copysign".split():
    run(f"{_name} of doubles", lambda x, y, name=_name: getattr(torch, name)(x.double() / 3, y.double()), X, Y)
    run(f"{_name} of bfloat16", lambda x, y, name=_name: getattr(torch, name)(x.bfloat16(), y.bfloat16()), X, Y)
Z = torch.complex(M, M.roll(3, 0))
for _name in "eq ne".split():
    run(f"{_name} of complex", lambda x, name=_name: getattr(torch, name)(Z, Z.roll(1)), X[:1])
for _name in "isnan isinf conj_physical logical_not count_nonzero".split():
    run(f"{_name} of complex", lambda x, name=_name: getattr(torch, name)(Z), X[:1])
run("sum of two complex", lambda x, y: Z + torch.complex(x, y), M, M)
run("cumsum of complex", lambda x: torch.complex(x, x.flip(0)).cumsum(1), M)
run("index_add of complex", lambda x, y: torch.complex(x, x).index_add(0, ROWS, torch.complex(y, y)), SMALL, M)
run("scatter_add of complex", lambda x, y: torch.complex(x, x).scatter_add(0, WIDE_ROWS, y + 0j), SMALL, M)
run("fold of complex", lambda x: F.fold(torch.complex(x, x.flip(1)), (20, 18), 3), drawn(4, 36, 18 * 16))
run("reflected complex", lambda x: F.pad(torch.complex(x, x.flip(2)), (2, 1, 2, 1), mode="reflect"), IMAGE)


def scaled(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    grads, found, scale = [x.detach().clone()], torch.zeros(1), torch.full((1,), 1024.0)
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.full((1,), 1 / 3))
    torch._amp_update_scale_(scale, torch.zeros(1, dtype=torch.int32), found, 2.0, 0.5, 1)
    return grads[0], found, scale


run("loss scale", scaled, X)


class Recorder(TorchDispatchMode):
    """Collects the names of the ops that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.add(func._schema.name.removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


def spread(x: torch.Tensor) -> torch.Tensor:
    wide = x.new_zeros(*x.shape, 2)
    wide[..., 0] = x
    return wide[..., 0]


def results(function: Callable[..., Any], operands: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    leaves = [x.detach().requires_grad_() for x in operands]
    value = function(*leaves)
    outputs = [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, torch.Tensor)]
    curved = [v for v in outputs if v.requires_grad]
    if not curved:
        return outputs
    weights = [((torch.arange(v.numel()) % 7 - 3).to(v.dtype) / 8).reshape(v.shape) for v in curved]
    try:
        grads = torch.autograd.grad(curved, leaves, weights, allow_unused=True)
    except RuntimeError:  # no derivative, or none for such indices
        return outputs
    return [*outputs, *(g for g in grads if g is not None)]


def digest(tensors: list[torch.Tensor]) -> str:
    sha = hashlib.sha256()
    for t in tensors:
        t = t.detach().contiguous()
        t = torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
        if t.is_floating_point():
            t = torch.where(t.isnan(), torch.full_like(t, 0.1875), t)
        sha.update(t.view(torch.uint8).numpy().tobytes() if t.dim() else str(t.item()).encode())
    return sha.hexdigest()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    recorder = Recorder()
    found = {}
    for name, (function, operands) in FUNCTIONS.items():
        torch.set_num_threads(1)
        found[name, 1, "packed"] = digest(results(function, operands))
        torch.set_num_threads(2)
        found[name, 2, "packed"] = digest(results(function, operands))
        found[name, 2, "spread"] = digest(results(function, tuple(map(spread, operands))))
        if "--ops" in sys.argv:
            with recorder:  # by itself: with a mode, autograd takes other ways
                results(function, operands)
    print(
        json.dumps(
            {
                "capability": torch.backends.cpu.get_cpu_capability(),
                "digests": [[*key, value] for key, value in found.items()],
                "ops": sorted(recorder.names),
            }
        )
    )
