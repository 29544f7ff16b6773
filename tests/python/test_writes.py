# SPDX-License-Identifier: MIT
"""Writes to elements that share memory: torch's threads race there, so they are refused, in torch's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

import repdl
from repdl.interception import NotReproducibleWarning, permissions
from repdl.interception.strict import OVERLAPPING, Permission

ROWS = 20001
"""More elements than torch's kernels write on one thread."""


def windows(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(ROWS + 2, dtype=dtype).unfold(0, 3, 1)


@pytest.fixture
def enabled() -> Iterator[None]:
    with repdl.reproducible():
        yield


Y = torch.arange(3.0 * ROWS).reshape(ROWS, 3)
INDEX = torch.arange(ROWS)

WRITES: dict[str, Callable[[torch.Tensor], object]] = {
    "copy_": lambda x: x.copy_(Y),
    "copy_ of another type": lambda x: x.copy_(Y.double()),
    "setitem": lambda x: x.__setitem__(slice(1, None), Y[1:]),
    "by index": lambda x: x.__setitem__(INDEX, Y),
    "index_put_ accumulate": lambda x: x.index_put_((INDEX,), Y, accumulate=True),
    "add_": lambda x: x.add_(Y),
    "add_ of a number": lambda x: x.add_(1),
    "exp_": lambda x: x.exp_(),
    "neg_": lambda x: x.neg_(),
    "out of ours": lambda x: torch.add(Y, 1, out=x),
    "out of torch's": lambda x: torch.neg(Y, out=x),
    "out of a product": lambda x: torch.mm(Y, torch.ones(3, 3), out=x),
    "where": lambda x: torch.where(Y > 3, Y, -Y, out=x),
    "cat": lambda x: torch.cat([Y[:7], Y[7:]], out=x),
    "cumsum_": lambda x: x.cumsum_(0),
    "index_copy_": lambda x: x.index_copy_(0, INDEX, Y),
    "index_add_": lambda x: x.index_add_(0, INDEX, Y),
    "scatter_": lambda x: x.scatter_(0, INDEX[:, None].expand(-1, 3), Y),
    "scatter_add_": lambda x: x.scatter_add_(0, INDEX[:, None].expand(-1, 3), Y),
    "masked_scatter_": lambda x: x.masked_scatter_(Y > 0, Y),
    "foreach": lambda x: torch._foreach_add_([x], [Y]),
    "uniform_": lambda x: x.uniform_(),
    "random_": lambda x: x.random_(9),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "sort": lambda x: torch.sort(Y, out=(x, torch.empty(0, dtype=torch.int64))),
}


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("write", WRITES)
def test_refuses(write: str) -> None:
    x = windows()
    with pytest.raises((RuntimeError, ValueError), match=r"single memory location|elements that share memory"):
        WRITES[write](x)
    assert not x.count_nonzero()


def matrix() -> torch.Tensor:
    return torch.arange(300.0 * 257).reshape(300, 257)


READS: dict[str, Callable[[torch.Tensor], object]] = {
    "to the right": lambda x: torch.neg(x[:, :-1], out=x[:, 1:]),
    "to the left": lambda x: torch.neg(x[:, 1:], out=x[:, :-1]),
    "down": lambda x: torch.floor(x[:-1, :-1], out=x[1:, :-1]),
    "transposed": lambda x: torch.neg(x[:250, :250].t(), out=x[:250, :250]),
    "its own column": lambda x: torch.where(x[:, :1] > 0, x[:, :1], x[:, :9], out=x[:, :9]),
    "integers": lambda x: x.view(torch.int32)[:, 1:].bitwise_xor_(x.view(torch.int32)[:, :-1]),
    "parts of its bytes": lambda x: torch.bitwise_not(x.view(torch.int16)[:, 2:20], out=x.view(torch.int32)[:, :18]),
    "cat": lambda x: torch.cat([x[:, 2:], x[:, :2]], 1, out=x),
    "gather of itself": lambda x: torch.gather(x[:, :9], 1, torch.zeros(300, 9, dtype=torch.int64), out=x[:, :9]),
    "scatter": lambda x: x[:, 1:].scatter_(1, torch.arange(256).expand(300, -1), x[:, :-1]),
}


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("read", READS)
def test_refuses_what_it_reads_elsewhere(read: str) -> None:
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        READS[read](matrix())


COPIES: dict[str, Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]] = {
    "to the left": lambda x: (x[:, :-1], x[:, 1:]),
    "to the right": lambda x: (x[:, 1:], x[:, :-1]),
    "up": lambda x: (x[:-1, :-1], x[1:, :-1]),
    "down": lambda x: (x[1:, :-1], x[:-1, :-1]),
    "transposed": lambda x: (x[:250, :250], x[:250, :250].t()),
    "expanded": lambda x: (x[:, :9], x[:, 3:4]),
    "as other numbers": lambda x: (x[:, :-1], x.view(torch.int32)[:, 1:]),
}


@pytest.mark.usefixtures("enabled")
@pytest.mark.parametrize("kind", COPIES)
def test_copies_elements_as_they_were(kind: str) -> None:
    x, expected = matrix(), matrix()
    to, source = COPIES[kind](expected)
    to.copy_(source.clone())
    to, source = COPIES[kind](x)
    to.copy_(source)
    assert torch.equal(x, expected)


@pytest.mark.usefixtures("enabled")
def test_takes_neighbours_and_itself() -> None:
    x = matrix()
    torch.neg(x[:, 100:200], out=x[:, :100])
    assert torch.equal(x[:, :100], -matrix()[:, 100:200])
    torch.neg(x[:, ::2], out=x[:, :-1:2].as_strided((300, 129), (257, 2)))
    torch.neg(x[:, 1::2], out=x[:, :-1:2])
    x[:, :9].neg_()
    torch.neg(x[:, :9], out=x[:, :9])
    torch.neg(x.view(torch.int16)[:, ::2], out=x.view(torch.int16)[:, 1::2])


@pytest.mark.usefixtures("enabled")
def test_takes_what_only_looks_alike() -> None:
    x = torch.zeros(8).as_strided((3, 2), (2, 3))  # 0, 3, 2, 5, 4, 7
    x.copy_(torch.arange(6.0).reshape(3, 2))
    assert x.flatten().tolist() == list(range(6))
    x.add_(1)
    assert x.flatten().tolist() == list(range(1, 7))
    with pytest.warns(UserWarning, match="expanded"):  # as torch does; it is the same number wherever it comes from
        assert windows().masked_fill_(Y > -1, 2.0).eq(2).all()


@pytest.mark.usefixtures("enabled")
def test_reads_windows_and_their_gradients() -> None:
    x = torch.arange(9.0, requires_grad=True)
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 2, 3, 3, 3, 3, 3, 2, 1]
    x.grad = None
    x.as_strided((7, 3), (1, 1)).square().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 4, 12, 18, 24, 30, 36, 28, 16]


def test_leaves_torch_as_it_was() -> None:
    with repdl.reproducible():
        pass
    assert windows().add_(1).count_nonzero() == 3 * ROWS


def test_may_be_allowed() -> None:
    used = Permission(OVERLAPPING, "all are equal")
    with repdl.reproducible(), repdl.allow_native("all are equal"):
        windows().copy_(torch.ones(ROWS, 3))
        READS["to the left"](matrix())
    assert permissions.pop(used) >= 2


def test_may_warn() -> None:
    with repdl.reproducible(strict="warn"), pytest.warns(NotReproducibleWarning, match="share memory"):
        windows().copy_(Y)
    with repdl.reproducible(strict="off"):
        windows().copy_(Y)
