# SPDX-License-Identifier: MIT
"""float64 under `repdl.enable()`: ops and steps; accuracy, special numbers, rows, gradients, other machines."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mpmath import mp, mpf

import repdl

Function = Callable[..., torch.Tensor]

SPECIAL = [0.0, 5e-324, 2.0**-1022, 0.5, 1.0, 2.5, 3.0, 40.0, 700.0, 1e22, 1.7976931348623157e308, np.inf]
FUNCTIONS: dict[str, tuple[Function, Callable[[Any], Any]]] = {
    "acos": (torch.acos, mp.acos),
    "acosh": (torch.acosh, mp.acosh),
    "asin": (torch.asin, mp.asin),
    "asinh": (torch.asinh, mp.asinh),
    "atan": (torch.atan, mp.atan),
    "atanh": (torch.atanh, mp.atanh),
    "cos": (torch.cos, mp.cos),
    "cosh": (torch.cosh, mp.cosh),
    "erf": (torch.erf, mp.erf),
    "erfc": (torch.erfc, lambda x: mp.erfc(max(min(x, mpf(99)), mpf(-99)))),
    "exp": (torch.exp, mp.exp),
    "exp2": (torch.exp2, lambda x: mp.power(2, x)),
    "expm1": (torch.expm1, mp.expm1),
    "log": (torch.log, mp.log),
    "log10": (torch.log10, mp.log10),
    "log1p": (torch.log1p, mp.log1p),
    "log2": (torch.log2, lambda x: mp.log(x, 2)),
    "rsqrt": (torch.rsqrt, lambda x: 1 / mp.sqrt(x)),
    "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + mp.exp(-x))),
    "silu": (F.silu, lambda x: x / (1 + mp.exp(-x))),
    "sin": (torch.sin, mp.sin),
    "sinh": (torch.sinh, mp.sinh),
    "softplus": (lambda x: F.softplus(x, threshold=1e9), lambda x: mp.log1p(mp.exp(x))),
    "sqrt": (torch.sqrt, mp.sqrt),
    "tan": (torch.tan, mp.tan),
    "tanh": (torch.tanh, mp.tanh),
}
BINARY: dict[str, tuple[Function, Callable[[Any, Any], Any]]] = {
    "atan2": (torch.atan2, mp.atan2),
    "hypot": (torch.hypot, mp.hypot),
    "pow": (torch.pow, mp.power),
}


def numbers(seed: int, n: int = 300) -> torch.Tensor:
    """Of all sizes, of ordinary ones, and near to 1 and to multiples of pi / 2."""
    draw = np.random.default_rng(seed)
    sizes = (2.0 ** draw.uniform(-1074, 1024, n), 2.0 ** draw.uniform(-30, 10, n), draw.uniform(0, 30, n))
    near = (1 - 2.0 ** draw.uniform(-52, -1, n), np.round(draw.uniform(0, 1e5, n)) * (np.pi / 2))
    values = np.concatenate((*sizes, *near))
    return torch.from_numpy(values * draw.choice((-1, 1), len(values)))


def off(result: float, exact: Any) -> float:
    """By how many ulp."""
    if not isinstance(exact, mpf):
        return 0.0 if np.isnan(result) else np.inf
    if abs(exact) >= mpf(2) ** 1024:
        return 0.0 if abs(result) >= 2.0**1023 else np.inf
    ulp = mp.ldexp(1, max(mp.frexp(exact)[1] - 53, -1074))
    return float(abs(mpf(result) - exact) / ulp) if np.isfinite(result) else np.inf


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_accurate(name: str) -> None:
    function, exact = FUNCTIONS[name]
    x = numbers(1)
    with repdl.reproducible(), mp.workprec(1200 if name in ("sin", "cos", "tan") else 200):
        results = function(x).tolist()
        worst = max((off(r, exact(mpf(v))), v) for r, v in zip(results, x.tolist(), strict=True))
    assert worst[0] <= 0.5, worst


def test_the_inverse_of_the_error_function_is_accurate() -> None:
    draw = np.random.default_rng(9)
    y = torch.from_numpy(np.concatenate((draw.uniform(-1, 1, 300), 1 - 2.0 ** draw.uniform(-52, -1, 100), [1e-9, 0.7])))
    with repdl.reproducible(), mp.workprec(200):
        for value, x in zip(y.tolist(), torch.erfinv(y).tolist(), strict=True):
            rest = (1 - abs(mpf(value)) - mp.erfc(abs(mpf(x)))) * mp.sqrt(mp.pi) / 2 * mp.exp(mpf(x) ** 2)
            assert abs(rest) <= 1.3 * np.spacing(abs(x))
        assert torch.erfinv(torch.tensor([1.0, -1.0, -0.0]).double()).tolist() == [np.inf, -np.inf, 0.0]
        assert torch.erfinv(torch.tensor(1.5).double()).isnan()


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers_are_accurate(name: str) -> None:
    function, exact = BINARY[name]
    x, y = numbers(2), numbers(3)
    if name == "pow":
        x, y = x.abs().repeat(2), torch.cat((y.clamp(-50, 50), y.remainder(1.5)))
    with repdl.reproducible(), mp.workprec(300):
        results = function(x, y).tolist()
        pairs = zip(results, x.tolist(), y.tolist(), strict=True)
        worst = max((off(r, exact(mpf(a), mpf(b))), a, b) for r, a, b in pairs)
    assert worst[0] <= 0.5, worst


@pytest.mark.parametrize("name", [*FUNCTIONS, *BINARY])
def test_special_numbers_are_those_of_torch(name: str) -> None:
    x = torch.tensor([*SPECIAL, *(-v for v in SPECIAL), np.nan], dtype=torch.float64)
    function: Function
    if name in BINARY:
        function, args = BINARY[name][0], [t.reshape(-1) for t in torch.meshgrid(x, x, indexing="ij")]
    else:
        function, args = FUNCTIONS[name][0], [x]
    stock = function(*args)
    if name == "silu":
        stock = torch.where(x == -np.inf, -0.0, stock)  # the limit, where torch has NaN
    with repdl.reproducible():
        ours = function(*args)
    # torch loses subnormal numbers and signs of zero in some functions.
    near = torch.isclose(ours, stock, rtol=1e-14, atol=1e-300, equal_nan=True)
    assert near.all(), [(t[~near].tolist(), ours[~near], stock[~near]) for t in args]
    if name in (
        "sin",
        "tan",
        "tanh",
        "sinh",
        "asin",
        "atan",
        "asinh",
        "atanh",
        "erf",
        "expm1",
        "log1p",
        "sqrt",
        "silu",
    ):
        assert ours[SPECIAL.index(0.0) + len(SPECIAL)].signbit()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 1001, 5000])
def test_sums_are_those_of_the_order(n: int) -> None:
    x = torch.from_numpy(np.random.default_rng(n).standard_normal((3, n)))
    for order in ("blocked", "sequential"):
        with repdl.reproducible(order=order):
            rows = x.sum(1)
            assert torch.equal(rows, repdl.ops.sum(x, 1, order=order))
            assert torch.equal(x.mT.contiguous().sum(0), rows)
            assert torch.equal(x.float().sum(1, dtype=torch.float64), x.float().double().sum(1))
    assert rows.tolist() == [reduce(add, row, np.float64(0)) for row in x.numpy()]


def chain(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Of fused multiply-adds."""
    total = 0.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        total = float(Fraction(x) * Fraction(y) + Fraction(total))
    return total


def test_products_are_chains() -> None:
    draw = np.random.default_rng(8)
    a, b = (torch.from_numpy(draw.standard_normal(shape)) for shape in ((5, 77), (77, 4)))
    expected = [[chain(row, column) for column in b.numpy().T] for row in a.numpy()]
    with repdl.reproducible():
        assert (a @ b).tolist() == expected
        assert (a @ b[:, 0]).tolist() == [row[0] for row in expected]
        assert torch.dot(a[0], b[:, 0]).item() == expected[0][0]
        assert torch.einsum("ik,kj->ij", a, b).tolist() == expected
        assert torch.equal(F.linear(a, b.mT, b[0]), a @ b + b[0])
    large = torch.from_numpy(draw.standard_normal((40, 3000)))
    with repdl.reproducible(order="sequential"):
        assert (large @ large.mT)[7, 9].item() == chain(large[7].numpy(), large[9].numpy())
    with repdl.reproducible():
        assert torch.equal(large @ large.mT, repdl.ops.mm(large, large.mT, order="blocked"))


ROWS: dict[str, Function] = {
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1),
    "norm": lambda x: x.norm(dim=1),
    "prod": lambda x: x.prod(1),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "cumsum": lambda x: x.cumsum(1),
    "mm": lambda x: x @ torch.linspace(-1, 1, 50 * x.shape[1], dtype=x.dtype).reshape(x.shape[1], 50),
    "mv": lambda x: x @ torch.linspace(-1, 1, x.shape[1], dtype=x.dtype),
    "tanh": torch.tanh,
    "pow": lambda x: x.abs() ** 1.5,
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_alone_is_as_in_the_batch(name: str) -> None:
    x = torch.from_numpy(np.random.default_rng(4).standard_normal((61, 700)))
    stock = ROWS[name](x)
    with repdl.reproducible():
        together = ROWS[name](x)
        assert torch.allclose(together, stock, rtol=1e-12, atol=1e-12)
        for rows in (slice(0, 1), slice(5, 6), slice(20, 40)):
            assert torch.equal(ROWS[name](x[rows]), together[rows])
            assert torch.equal(ROWS[name](x.mT.contiguous().mT[rows]), together[rows])


X = torch.from_numpy(np.random.default_rng(5).uniform(0.1, 0.9, (3, 4)))
DIFFERENTIABLE: dict[str, Function] = (
    {name: function for name, (function, _) in FUNCTIONS.items() if name != "acosh"}
    | {name: lambda x, f=function: f(x, x.flip(0) + 1) for name, (function, _) in BINARY.items()}
    | ROWS
    | {
        "gelu": F.gelu,
        "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
        "mish": F.mish,
        "elu": F.elu,
        "logsigmoid": F.logsigmoid,
        "glu": F.glu,
        "logit": torch.logit,
        "erfinv": torch.erfinv,
        "logaddexp": lambda x: torch.logaddexp(x, x.flip(0)),
        "xlogy": lambda x: torch.xlogy(x, x.flip(0)),
        "bmm": lambda x: torch.bmm(x.expand(2, 3, 4), x.T.expand(2, 4, 3)),
        "linear": lambda x: F.linear(x, x, x[:, 0]),
        "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
        "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.ones_like(x)),
        "kl_div": lambda x: F.kl_div(x.log(), torch.full_like(x, 0.1), reduction="sum"),
    }
)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str) -> None:
    with repdl.reproducible():
        assert torch.autograd.gradcheck(DIFFERENTIABLE[name], X.clone().requires_grad_())


def leaf(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).requires_grad_()


SQUARE = torch.eye(4, dtype=torch.float64) * 5
LAYERS: dict[str, tuple[Function, list[torch.Tensor]]] = {
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=2), [leaf(1, 3, 2, 9), leaf(2, 4, 2, 3)]),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, dilation=2, groups=2),
        [leaf(1, 2, 4, 9, 8), leaf(2, 6, 2, 3, 2), leaf(3, 6)],
    ),
    "conv3d": (lambda x, w: F.conv3d(x, w, stride=2, padding=1), [leaf(1, 1, 2, 4, 4, 4), leaf(2, 2, 2, 2, 2, 2)]),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        [leaf(1, 1, 4, 3, 3), leaf(2, 4, 2, 3, 2)],
    ),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (5,), w, b), [leaf(1, 3, 4, 5), leaf(2, 5), leaf(3, 5)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [leaf(1, 3, 4, 5), leaf(2, 4), leaf(3, 4)]),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        [leaf(1, 3, 4, 5), leaf(2, 4), leaf(3, 4)],
    ),
    "batch_norm_eval": (
        lambda x, w: F.batch_norm(x, torch.ones(4).double(), torch.ones(4).double() / 2, w),
        [leaf(1, 3, 4), leaf(2, 4)],
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, torch.tensor([0, -100, 2]), torch.arange(1, 5).double(), label_smoothing=0.1),
        [leaf(1, 3, 4)],
    ),
    "nll_loss": (lambda x: F.nll_loss(x, torch.tensor([0, 1, 2])), [leaf(1, 3, 4)]),
    "binary_cross_entropy": (lambda x: F.binary_cross_entropy(x.sigmoid(), SQUARE / 5), [leaf(1, 4, 4)]),
    "cdist": (torch.cdist, [leaf(1, 3, 4), leaf(2, 5, 4)]),
    "cholesky": (lambda a: torch.linalg.cholesky(a @ a.mT + SQUARE), [leaf(1, 4, 4)]),
    "solve": (lambda a, b: torch.linalg.solve(a + SQUARE, b), [leaf(1, 4, 4), leaf(2, 4, 3)]),
    "inv": (lambda a: torch.linalg.inv(a + SQUARE), [leaf(1, 2, 4, 4)]),
    "qr": (lambda a: torch.linalg.qr(a)[0], [leaf(1, 5, 3)]),
    "slogdet": (lambda a: torch.linalg.slogdet(a + SQUARE)[1], [leaf(1, 4, 4)]),
    "matrix_exp": (torch.linalg.matrix_exp, [leaf(1, 4, 4)]),
    "embedding_bag": (lambda w: F.embedding_bag(torch.tensor([0, 1, 2]), w, torch.tensor([0, 2])), [leaf(1, 3, 4)]),
    "renorm": (lambda x: x.renorm(2, 0, 1.0), [leaf(1, 3, 4)]),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), [leaf(1, 2, 3, 5, 4)]),
    "bicubic": (lambda x: F.interpolate(x, (7, 3), mode="bicubic", align_corners=True), [leaf(1, 2, 3, 5, 4)]),
    "antialiased": (lambda x: F.interpolate(x, (3, 2), mode="bicubic", antialias=True), [leaf(1, 2, 3, 5, 4)]),
    "trilinear": (lambda x: F.interpolate(x, (3, 5, 2), mode="trilinear"), [leaf(1, 1, 2, 3, 4, 5)]),
    "grid_sample": (
        lambda x, t: F.grid_sample(x, F.affine_grid(t, [2, 3, 4, 6], align_corners=False), align_corners=False),
        [leaf(1, 2, 3, 5, 4), leaf(2, 2, 2, 3)],
    ),
    "grid_sample of a volume": (
        lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=True),
        [leaf(1, 1, 2, 3, 4, 5), leaf(2, 1, 2, 3, 2, 3)],
    ),
    "ctc_loss": (
        lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2, 2], [3, 1, 0]]), (7, 5), (3, 2), reduction="none"),
        [leaf(1, 7, 2, 4)],
    ),
    "topk": (lambda x: x.topk(2).values, [leaf(1, 3, 4)]),
    "rrelu": (F.rrelu, [leaf(1, 3, 4)]),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g), [leaf(1, 3, 4), leaf(2, 3, 1)]),
}


def result_and_gradients(name: str) -> list[torch.Tensor]:
    function, leaves = LAYERS[name]
    result = function(*leaves)
    weights = torch.arange(result.numel(), dtype=torch.float64).reshape(result.shape) % 7 - 3
    return [result.detach(), *torch.autograd.grad((result * weights).sum(), leaves)]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_torch(name: str) -> None:
    stock = result_and_gradients(name)
    with repdl.reproducible():
        ours = result_and_gradients(name)
    for a, b in zip(ours, stock, strict=True):
        assert a.shape == b.shape and a.stride() == b.stride()
        assert torch.allclose(a, b, rtol=1e-12, atol=1e-12 * float(b.abs().max()))


def test_counts_are_those_of_torch() -> None:
    x = leaf(1, 200).detach()
    calls: list[Callable[[], Any]] = [
        lambda: torch.histc(x, 7),
        lambda: torch.histogram(x, 5, range=(-1.0, 1.0), weight=x.abs()),
        lambda: torch.histogram(x, torch.tensor([-1, 0.1, 2]).double(), density=True),
    ]
    for call in calls:
        stock = call()
        with repdl.reproducible():
            ours = call()
        for a, b in zip(ours, stock, strict=True):
            assert a.dtype == torch.float64 and torch.allclose(a, b, rtol=1e-14)


def test_a_program_whose_default_is_float64() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with repdl.reproducible():
            assert torch.exp(torch.arange(3)).dtype == torch.float64
            assert torch.eye(3, dtype=torch.float32).inverse().dtype == torch.float32
            model = torch.nn.Sequential(
                torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)
            )
            optimizer = torch.optim.AdamW(model.parameters())
            losses = []
            for _ in range(5):
                optimizer.zero_grad()
                loss = (model(X.reshape(-1, 2)) ** 2).mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            assert loss.dtype == torch.float64 and losses[-1] < losses[0]
    finally:
        torch.set_default_dtype(torch.float32)


def test_second_derivatives() -> None:
    """As a network that solves a differential equation takes them."""
    x, weight = X.clone().requires_grad_(), X.T.clone().requires_grad_()
    with repdl.reproducible():
        assert torch.autograd.gradgradcheck(lambda x, w: (x @ w).tanh().sin().sum(), (x, weight))


def digest() -> str:
    sha = hashlib.sha256()
    x = numbers(6, 2000)
    x = torch.cat((x, torch.tensor([*SPECIAL, np.nan], dtype=torch.float64)))
    rows = torch.from_numpy(np.random.default_rng(7).standard_normal((37, 1013)))

    def add(result: torch.Tensor) -> None:
        sha.update(torch.where(result.isnan(), 0.0, result).numpy().tobytes())

    with repdl.reproducible():
        for function, _ in FUNCTIONS.values():
            add(function(x))
            add(function(x.repeat(9)[::3]))
        for function, _ in BINARY.values():
            add(function(x, x.flip(0)))
        for function in ROWS.values():
            add(function(rows))
        y = rows[:4, :9].clone().requires_grad_()
        for name, function in DIFFERENTIABLE.items():
            if name not in BINARY and name != "bmm":
                (grad,) = torch.autograd.grad(function(y if name != "glu" else y[:, :8]).sum(), y)
                add(grad)
        for name in LAYERS:
            for result in result_and_gradients(name):
                add(result)
    return sha.hexdigest()


def test_what_torch_makes_of_types() -> None:
    x = torch.ones(3, dtype=torch.float64) / 3
    with repdl.reproducible():
        assert torch.atan2(x, x.float()).dtype == torch.float64
        assert torch.exp(x, out=torch.empty(3)).dtype == torch.float32
        assert torch.pow(x.float(), torch.tensor(2.5, dtype=torch.float64)).dtype == torch.float32
        assert x.sum(dtype=torch.float32).dtype == torch.float32
        assert x.clone().exp_().equal(x.exp())
        with pytest.raises(RuntimeError, match="same dtype"):
            x[None] @ x.float()[:, None]
        with pytest.raises(NotImplementedError, match="not implemented for"):
            torch.hypot(x, x.to(torch.complex128))


def test_the_audit_tells_what_the_core_computes() -> None:
    x = torch.ones(3)
    report = repdl.audit(lambda: (x.exp(), x.double().exp(), torch.igamma(x.double(), x.double())))
    assert {row.op: (row.kind, row.dtypes) for row in report if row.op in ("aten::exp", "aten::igamma")} == {
        "aten::exp": ("reproducible", {"float32", "float64"}),
        "aten::igamma": ("reproducible", {"float64"}),
    }
    assert report.ok
