# SPDX-License-Identifier: MIT
"""`linear` goes straight to its op where nobody looks: with the bits of its steps, and only there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import repdl
from support import same_bits

SHAPES = [
    ((7, 5), (3, 5)),
    ((2, 7, 5), (3, 5)),
    ((5,), (3, 5)),
    ((0, 5), (3, 5)),
    ((7, 0), (3, 0)),
    ((300, 90), (80, 90)),
]


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape))).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64])
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("order", ["blocked", "sequential"])
def test_bits_are_those_of_the_steps(shapes: tuple[Any, Any], dtype: torch.dtype, order: str) -> None:
    x, w = (numbers(*shape, dtype=dtype) for shape in shapes)
    for special in (0.0, -0.0, float("inf"), float("nan"), 1e-42):
        if x.numel():
            x.view(-1)[:: max(1, x.numel() // 3)] = special
    bias = numbers(w.shape[0], dtype=dtype) * 0.3
    with repdl.reproducible(order=order):
        for b in (None, bias, bias.expand(1, -1)[0], bias.repeat(2)[::2]):
            for given in (x, x.mT.contiguous().mT if x.dim() > 1 else x):
                at_once = F.linear(given, w, b)
                steps = F.linear(given, w.clone().requires_grad_(), b)
                assert steps.requires_grad and not at_once.requires_grad
                assert same_bits(at_once, steps.detach()) and at_once.stride() == steps.stride()
                with torch.no_grad():
                    assert same_bits(F.linear(given, w.clone().requires_grad_(), b), at_once)
                with torch.inference_mode():
                    assert F.linear(given, w, b).is_inference()


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **kwargs or {})


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_who_wants_to_see_the_steps_sees_them() -> None:
    x, w, b = numbers(4, 3), numbers(2, 3), numbers(2)
    with repdl.reproducible():
        expected = F.linear(x, w, b)
        with Seen() as seen:
            F.linear(x, w, b)
        assert seen.names == ["t", "addmm"]
        assert same_bits(torch.vmap(F.linear, (0, None, None))(x[None], w, b)[0], expected)
        with forward_ad.dual_level():
            dual = F.linear(forward_ad.make_dual(x, torch.ones_like(x)), w, b)
            assert forward_ad.unpack_dual(dual).tangent is not None
        traced = torch.jit.trace(lambda x: F.linear(x, w, b), x)
        assert any("linear" in node.kind() or "addmm" in node.kind() for node in traced.graph.nodes())
        assert same_bits(traced(x * 2), F.linear(x * 2, w, b))
        exported = torch.export.export(torch.nn.Linear(3, 2), (x,))
        assert any("linear" in str(node.target) for node in exported.graph.nodes)
        assert torch.func.grad(lambda w: F.linear(x, w, b).sum())(w).abs().sum() > 0


def test_views_with_the_other_sign_keep_it() -> None:
    z = torch.complex(numbers(4, 3), numbers(4, 3) + 1)
    w = numbers(2, 3)
    with repdl.reproducible():
        negated = z.conj().imag
        assert negated.is_neg()
        assert same_bits(F.linear(negated, w), F.linear(negated.resolve_neg(), w))
        assert same_bits(F.linear(w, negated), F.linear(w, negated.resolve_neg()))


REFUSED: dict[str, Callable[[], Any]] = {
    "sizes": lambda: F.linear(torch.ones(2, 3), torch.ones(2, 4)),
    "a bias of another size": lambda: F.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(5)),
    "types": lambda: F.linear(torch.ones(2, 3), torch.ones(2, 3).double()),
    "a number": lambda: F.linear(torch.tensor(1.0), torch.ones(2, 3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_refuses(name: str) -> None:
    with pytest.raises(RuntimeError):
        REFUSED[name]()
    with repdl.reproducible(), pytest.raises(RuntimeError) as ours:
        REFUSED[name]()
    assert not isinstance(ours.value, repdl.NotReproducibleError)


def test_other_tensors_take_torch_s_way() -> None:
    class Labelled(torch.Tensor):
        pass

    x, w = numbers(4, 3), numbers(2, 3)
    with repdl.reproducible():
        assert type(F.linear(x.as_subclass(Labelled), w)) is Labelled
        assert F.linear(x.to("meta"), w.to("meta")).is_meta
        with torch.autocast("cpu", torch.bfloat16):
            assert F.linear(x, w).dtype == torch.bfloat16
        out = torch.empty(4, 2)
        assert torch.ops.aten.linear.out(x, w, out=out) is out and same_bits(out, F.linear(x, w))
