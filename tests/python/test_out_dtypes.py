# SPDX-License-Identifier: MIT
"""Reductions into a tensor of another type, and of integers to floating-point numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import repdl
from support import same_bits

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
DTYPES = (*FLOATS, torch.complex64, torch.int64, torch.uint8, torch.bool)
CONVERTED = ("sum", "prod", "cumsum")
"""What converts its operand to the type of `out`, whatever that is."""
NUMBERS = ((torch.arange(240, dtype=torch.float64) * 37 % 101) / 7 - 5).reshape(3, 80)


def _numbers(dtype: torch.dtype) -> torch.Tensor:
    return (NUMBERS[:, :9] / 4 if dtype.is_floating_point or dtype.is_complex else NUMBERS.abs()).to(dtype)


def _call(name: str, x: torch.Tensor, out: torch.dtype, dtype: torch.dtype | None) -> torch.Tensor | str:
    """The result, or that there is none."""
    given = torch.empty(0, dtype=out)
    try:
        result: torch.Tensor = getattr(torch, name)(x, 1, dtype=dtype, out=given)
    except repdl.NotReproducibleError:
        raise
    except RuntimeError:
        return "refused"
    assert result is given
    return result


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*CONVERTED, "mean"])
def test_out_of_each_type(name: str, dtype: torch.dtype) -> None:
    """Taken where torch takes it, and of the operand that torch computes with."""
    x = _numbers(dtype)
    calls = [(out, given) for out in DTYPES for given in (None, torch.float32, torch.int64)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the imaginary parts that a conversion leaves out
        stock = {call: _call(name, x, *call) for call in calls}
        with repdl.reproducible():
            for call, result in stock.items():
                taken, (out, _) = _call(name, x, *call), call
                if isinstance(result, str) or isinstance(taken, str):
                    assert result == taken, call
                    continue
                computed = torch.float32 if name == "mean" and out in (torch.bfloat16, torch.float16) else out
                expected = getattr(torch, name)(x.to(computed), 1, dtype=computed).to(out)
                assert torch.equal(taken, expected), call
                torch.testing.assert_close(taken, result, rtol=2e-2, atol=2e-2)


def test_a_mean_of_16_bits_is_rounded_once() -> None:
    x = torch.tensor([[2049.0, -2048.0]])
    for dtype in (torch.bfloat16, torch.float16):
        with repdl.reproducible():
            assert torch.mean(x, 1, out=torch.empty(1, dtype=dtype)) == 0.5


@pytest.mark.parametrize("name", ["var", "std", "logsumexp"])
def test_a_wider_out_has_a_result_that_was_not_rounded_before(name: str) -> None:
    function: Callable[..., torch.Tensor] = getattr(torch, name)
    for narrow, wide in (
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float64),
        (torch.float32, torch.float64),
    ):
        x = _numbers(narrow)
        with repdl.reproducible():
            assert torch.equal(function(x, 1, out=torch.empty(3, dtype=wide)), function(x.to(wide), 1))
            assert not torch.equal(function(x, 1).to(wide), function(x.to(wide), 1))
            into_narrow = function(x.to(wide), 1, out=torch.empty(3, dtype=narrow))
            assert torch.equal(into_narrow, function(x.to(wide), 1).to(narrow))


def test_out_of_sums_of_all_has_their_type() -> None:
    """Those of the dispatcher alone, which torch does not convert to."""
    for op in (torch.ops.aten.sum.out, torch.ops.aten.prod.out):
        with repdl.reproducible(), pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
            op(_numbers(torch.float32), out=torch.empty((), dtype=torch.float64))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum"])
def test_integers_become_numbers_first(name: str, dtype: torch.dtype) -> None:
    """torch's own kernel of sums of float32 would have another order on another machine."""
    function: Callable[..., torch.Tensor] = getattr(torch, name)
    integers = (torch.arange(3009) * 7919 % 100003).reshape(1003, 3)
    integers = integers % 7 + 1 if name == "prod" else integers * 9973
    x = integers[:40] if name == "prod" else integers
    with repdl.reproducible():
        for dim in (0, 1):
            expected = function(x.to(dtype), dim)
            assert torch.equal(function(x, dim, dtype=dtype), expected)
            assert torch.equal(function(x.int(), dim, dtype=dtype), expected)
        assert torch.equal(function(x, dtype=dtype), function(x.to(dtype)))
        if name != "mean":
            assert torch.equal(function(x, 0), function(x, 0, dtype=torch.int64))


def test_nansum_has_the_type_that_is_asked_for() -> None:
    x = _numbers(torch.bfloat16)
    with repdl.reproducible():
        result = torch.nansum(x, 1, dtype=torch.float32)
        assert torch.equal(result, torch.nansum(x.to(torch.float32), 1))


def test_the_audit_tells_sums_of_integers_from_those_of_what_they_become() -> None:
    x = torch.arange(12).reshape(3, 4)
    rows = {row.op: row.kind for row in repdl.audit(lambda: torch.sum(x, 1, dtype=torch.float32))}
    assert rows["aten::sum.dim_IntList"] == "reproducible"
    rows = {row.op: row.kind for row in repdl.audit(lambda: torch.sum(x, 1))}
    assert rows["aten::sum.dim_IntList"] == "guarded"


X = torch.arange(16.0).reshape(4, 4)
GROWING: dict[str, Callable[..., torch.Tensor]] = {
    "addmm": lambda x, **out: torch.addmm(x, X, X, **out),
    "addmv": lambda x, **out: torch.addmv(x, X, X[0], **out),
    "baddbmm": lambda x, **out: torch.baddbmm(x, X[None], X[None], **out),
    "addr": lambda x, **out: torch.addr(x, X[0], X[0], **out),
    "ldexp by it": lambda x, **out: torch.ldexp(X, x, **out),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", GROWING)
def test_operands_that_are_made_larger_for_the_result(name: str) -> None:
    """Only those of elementwise ops are not. torch's own sum of such a product has numbers that nothing has written."""
    x = torch.ones(1)
    with repdl.reproducible():
        expected = GROWING[name](x)
        assert GROWING[name](x, out=x) is x
        assert same_bits(x, expected)


SQUARE = torch.eye(3) * 4 + NUMBERS[:, :3].float() / 9
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sort": (torch.sort, (SQUARE,)),
    "msort": (torch.msort, (SQUARE,)),
    "topk": (torch.topk, (SQUARE, 2)),
    "kthvalue": (torch.kthvalue, (SQUARE, 2)),
    "mode": (torch.mode, (SQUARE,)),
    "aminmax": (torch.aminmax, (SQUARE,)),
    "cross": (torch.linalg.cross, (SQUARE, SQUARE)),
    "signbit": (torch.signbit, (SQUARE,)),
    "polar": (torch.polar, (SQUARE, SQUARE)),
    "index_copy": (torch.index_copy, (SQUARE, 0, torch.tensor([0]), SQUARE[:1])),
    "narrow_copy": (torch.narrow_copy, (SQUARE, 0, 0, 1)),
    "multinomial": (torch.multinomial, (SQUARE.abs(), 2)),
    "median": (torch.median, (SQUARE, 0)),
    "qr": (torch.linalg.qr, (SQUARE,)),
    "slogdet": (torch.linalg.slogdet, (SQUARE,)),
    "histc": (torch.histc, (SQUARE, 5)),
    "histogram": (torch.histogram, (SQUARE, 5)),
    "softplus": (torch._C._nn.softplus, (SQUARE,)),
    "gelu": (torch._C._nn.gelu, (SQUARE,)),
    "geqrf": (torch.geqrf, (SQUARE,)),
    "householder_product": (torch.linalg.householder_product, (SQUARE, SQUARE[0])),
    "eig": (torch.linalg.eig, (SQUARE,)),
    "eigvals": (torch.linalg.eigvals, (SQUARE,)),
}
WIDER = {
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
    torch.int64: torch.int32,
    torch.bool: torch.uint8,
}


def _takes(name: str) -> list[bool]:
    """Of each result, whether it goes to a tensor of another type."""
    function, arguments = CALLS[name]
    results = function(*arguments)
    several = isinstance(results, tuple)
    dtypes, taken = [t.dtype for t in (results if several else (results,))], []
    for place in range(len(dtypes)):
        out = [torch.empty(0, dtype=WIDER[t] if i == place else t) for i, t in enumerate(dtypes)]
        try:
            function(*arguments, out=tuple(out) if several else out[0])
            taken.append(True)
        except repdl.NotReproducibleError:
            raise
        except RuntimeError:
            taken.append(False)
    return taken


@pytest.mark.parametrize("name", CALLS)
def test_out_that_is_wider(name: str) -> None:
    torch.manual_seed(0)
    stock = _takes(name)
    with repdl.reproducible():
        assert _takes(name) == stock
