# SPDX-License-Identifier: MIT
"""`torch.rms_norm` is the op of that name: its bits, gradients of gradients, and where torch's steps stay."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import repdl
from repdl import ops
from support import same_bits

CASES = [((7, 33), 1), ((2, 3, 4, 5), 2), ((300, 768), 1), ((5,), 1), ((40, 5000), 1)]


@pytest.mark.parametrize(("shape", "normalized"), CASES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_it_is_the_op(shape: tuple[int, ...], normalized: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    x, g = (torch.randn(shape, generator=generator).to(dtype) for _ in range(2))
    x.view(-1)[:2] = torch.tensor([-0.0, 1e-40])
    weight = torch.randn(shape[-normalized:], generator=generator).to(dtype)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    eps = torch.finfo(wide).eps
    for w in (None, weight):
        expected = ops.rms_norm(x.to(wide), weight.shape, None if w is None else w.to(wide), eps)[0].to(dtype)
        with repdl.reproducible():
            assert same_bits(F.rms_norm(x, weight.shape, w), expected)
            operands = [t.clone().requires_grad_() for t in ((x,) if w is None else (x, w))]
            output = F.rms_norm(operands[0], weight.shape, None if w is None else operands[1])
            once = torch.autograd.grad(output, operands, g, retain_graph=True)
            again = torch.autograd.grad(output, operands, g, create_graph=True)
        assert all(same_bits(a, b.detach()) for a, b in zip(once, again, strict=True))


def test_gradients_of_gradients() -> None:
    x = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with repdl.reproducible():
        operands = x.requires_grad_(), torch.linspace(-1, 2, 6, dtype=torch.float64).requires_grad_()
        assert torch.autograd.gradcheck(lambda x, w: F.rms_norm(x, (6,), w), operands)
        assert torch.autograd.gradgradcheck(lambda x, w: F.rms_norm(x, (6,), w), operands)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own, of forward mode
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_where_steps_stay() -> None:
    x = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

    def norm(t: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(t, (6,))

    with repdl.reproducible():
        _, tangent = torch.func.jvp(norm, (x,), (x,))
        assert torch.allclose(tangent, torch.zeros_like(x), atol=1e-12)  # the norm does not see the scale
        hessian = torch.func.hessian(lambda t: norm(t).pow(3).sum())(x[0])
        again = torch.autograd.functional.hessian(lambda t: norm(t).pow(3).sum(), x[0])
        assert torch.allclose(hessian, again)
        with torch.autograd.forward_ad.dual_level():
            assert same_bits(norm(x), ops.rms_norm(x, (6,), None, torch.finfo(torch.float64).eps)[0])
        rows = torch.nested.nested_tensor([x[:1], x[1:]], layout=torch.jagged)
        assert torch.allclose(torch.cat(norm(rows).unbind()), norm(x))
        assert same_bits(torch.func.vmap(norm)(x), norm(x))


def test_the_batch_may_be_dynamic() -> None:
    layer, more = torch.nn.RMSNorm(6), torch.linspace(-1, 1, 54).reshape(9, 6)
    with repdl.reproducible():
        exported = torch.export.export(layer, (more[:4],), dynamic_shapes=({0: torch.export.Dim("batch")},))
        assert same_bits(exported.module()(more), layer(more))
