# SPDX-License-Identifier: MIT
"""torch.sparse.softmax and log_softmax under `repdl.enable()`, and their gradients, against torch in float64."""

from __future__ import annotations

import pytest
import torch

import repdl
from support import same_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*Sparse")
DIMS = {"matrix": (0, 1, -1), "cube": (0, 1, 2), "hybrid": (0, 1, 2, -1), "uncoalesced": (0, 1), "nothing": (0, 1)}


def tensor(name: str, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    shape = {"cube": (4, 5, 3), "hybrid": (6, 5, 3)}.get(name, (40, 30))
    dense = torch.randn(shape, generator=generator, dtype=torch.float64) * 4
    dense = dense * (torch.rand(shape, generator=generator) > 0.6)
    if name == "nothing":
        dense = dense * 0
    x = dense.to_sparse(2 if name == "hybrid" else dense.dim()).to(dtype)
    if name == "uncoalesced":
        indices = torch.cat([x.indices(), x.indices()[:, ::3]], 1)
        return torch.sparse_coo_tensor(indices, torch.cat([x.values(), x.values()[::3]]), shape, dtype=dtype)
    return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DIMS)
@pytest.mark.parametrize("function", [torch.sparse.softmax, torch.sparse.log_softmax])
def test_as_torch(function: torch.autograd.Function, name: str, dtype: torch.dtype) -> None:
    x = tensor(name, dtype)
    for dim in DIMS[name]:
        results = []
        for enabled in (False, True):
            operand = (x if enabled else x.double()).clone().requires_grad_()
            along = dim if enabled else dim % x.dim()  # torch's gradient is wrong for a dimension from the end
            with repdl.reproducible() if enabled else torch.enable_grad():
                output = function(operand, along)  # type: ignore[operator]
                (
                    output.to_dense() * torch.linspace(-1, 2, x.numel(), dtype=output.dtype).reshape(x.shape)
                ).sum().backward()
            results.append((output.detach(), operand.grad))
        for stock, ours in zip(*results, strict=True):
            assert stock is not None and ours is not None
            assert (ours.shape, ours.layout) == (stock.shape, stock.layout)
            assert torch.equal(ours.coalesce().indices(), stock.coalesce().indices())
            assert torch.allclose(ours.to_dense().double(), stock.to_dense(), rtol=1e-3, atol=1e-4)


def test_a_row_has_its_bits() -> None:
    x = tensor("matrix", torch.float32)
    with repdl.reproducible():
        for function in (torch.sparse.softmax, torch.sparse.log_softmax):
            whole = function(x, 1).to_dense()
            alone = function(x.to_dense()[7:8].to_sparse(), 1).to_dense()
            turned = function(x.t(), 0).to_dense().t()
            assert same_bits(whole[7:8], alone)
            assert same_bits(whole, turned)
