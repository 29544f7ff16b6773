# SPDX-License-Identifier: MIT
"""Sums over processes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import all_reduce as functional_all_reduce

import repdl
from support import same_bits

if not dist.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

RANKS = 5


def numbers(rank: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Those of a rank, of sizes so different that each order of a sum shows."""
    generator = torch.Generator().manual_seed(rank)
    real = torch.randn(2, 1000, generator=generator) * 10 ** torch.randn(2, 1000, generator=generator)
    return torch.complex(*real).to(dtype) if dtype.is_complex else real[0].to(dtype)


def merged(parts: list[torch.Tensor], merge: Callable[[Any, Any], Any] = torch.add) -> torch.Tensor:
    """((0 + 1) + (2 + 3)) + 4"""
    return merge(merge(merge(parts[0], parts[1]), merge(parts[2], parts[3])), parts[4])


def every(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [numbers(rank, dtype) for rank in range(RANKS)]


def all_reduces(rank: int) -> None:
    for dtype in (torch.float32, torch.float64, torch.complex64):
        x = numbers(rank, dtype)
        dist.all_reduce(x)
        assert same_bits(x, merged(every(dtype))), dtype
    for dtype in (torch.bfloat16, torch.float16):
        x = numbers(rank, dtype)
        dist.all_reduce(x)
        assert same_bits(x, merged([part.float() for part in every(dtype)]).to(dtype)), dtype
    x = numbers(rank)
    dist.all_reduce(x, op=dist.ReduceOp.PRODUCT)
    assert same_bits(x, merged(every(), torch.mul))


def other_shapes(rank: int) -> None:
    total = merged(every())
    x = numbers(rank).reshape(20, 50).t()
    dist.all_reduce(x)
    assert same_bits(x, total.reshape(20, 50).t())
    x = numbers(rank)[7]
    dist.all_reduce(x)
    assert same_bits(x, total[7])
    dist.all_reduce(torch.empty(0))
    weight = torch.nn.Parameter(numbers(rank))
    dist.all_reduce(weight.data)
    assert same_bits(weight.detach(), total)


def other_ways_to_call(rank: int) -> None:
    total = merged(every())
    x = numbers(rank)
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    work.wait()
    assert same_bits(x, total)
    assert same_bits(functional_all_reduce(numbers(rank), "sum", list(range(RANKS))) + 0, total)
    x = numbers(rank)
    dist.all_reduce_coalesced([x])
    assert same_bits(x, total)
    x = numbers(rank)
    dist.reduce(x, 1)
    assert same_bits(x, total if rank == 1 else numbers(rank))
    output = torch.empty(200)
    dist.reduce_scatter_tensor(output, numbers(rank))
    assert same_bits(output, total.chunk(RANKS)[rank])
    sizes = [1, 2, 3, 4, 990]
    output = torch.empty(sizes[rank])
    dist.reduce_scatter(output, list(numbers(rank).split(sizes)))
    assert same_bits(output, total.split(sizes)[rank])


def integers_and_maxima(rank: int) -> None:
    """The maximum of zeros and NaN, too, does not follow the order of the library."""
    bits = [torch.tensor([other, 2**40, 1 << other]) for other in range(RANKS)]
    for op, merge in (
        (dist.ReduceOp.SUM, torch.add), (dist.ReduceOp.PRODUCT, torch.mul), (dist.ReduceOp.MIN, torch.minimum),
        (dist.ReduceOp.MAX, torch.maximum), (dist.ReduceOp.BAND, torch.bitwise_and),
        (dist.ReduceOp.BOR, torch.bitwise_or), (dist.ReduceOp.BXOR, torch.bitwise_xor),
    ):  # fmt: skip
        x = bits[rank].clone()
        dist.all_reduce(x, op=op)
        assert x.tolist() == merged(bits, merge).tolist(), op
    for op, merge in ((dist.ReduceOp.MAX, torch.maximum), (dist.ReduceOp.MIN, torch.minimum)):
        parts = every()
        for place, other in enumerate((2, 0, 4)):
            parts[other][: 3 + place] = [0.0, -0.0, float("nan")][place]
        x = parts[rank].clone()
        dist.all_reduce(x, op=op)
        assert same_bits(x, merged(parts, merge)), op


def averages(rank: int) -> None:
    for dtype in (torch.float32, torch.complex64):
        x = numbers(rank, dtype)
        dist.all_reduce(x, op=dist.ReduceOp.AVG)
        assert same_bits(x, merged(every(dtype)) / RANKS)
    x = numbers(rank, torch.bfloat16)
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    assert same_bits(x, (merged([part.float() for part in every(torch.bfloat16)]) / RANKS).bfloat16())
    output = torch.empty(200)
    dist.reduce_scatter_tensor(output, numbers(rank), op=dist.ReduceOp.AVG)
    assert same_bits(output, (merged(every()) / RANKS).chunk(RANKS)[rank])
    for tensor, op, words in (
        (torch.tensor([rank, 5]), dist.ReduceOp.AVG, "can't be cast"),
        (numbers(rank), dist._make_nccl_premul_sum(2.0), "PREMUL_SUM"),  # type: ignore[attr-defined]
    ):
        with pytest.raises(RuntimeError, match=words):
            dist.all_reduce(tensor, op=op)


def what_the_library_refuses(rank: int) -> None:
    """Of a group of one rank, which has nothing to add, as well."""
    alone = [dist.new_group([other]) for other in range(RANKS)][rank]
    for group in (None, alone):
        for dtype in (torch.int16, torch.uint16, torch.float8_e4m3fn):
            with pytest.raises(RuntimeError, match="all_reduce: Invalid scalar type"):
                dist.all_reduce(torch.ones(3).to(dtype), op=dist.ReduceOp.PRODUCT, group=group)
        for dtype in (torch.float32, torch.bfloat16):
            with pytest.raises(RuntimeError, match=r"all_reduce: Cannot use ReduceOp\.BOR with non-integral dtype"):
                dist.all_reduce(numbers(rank, dtype), op=dist.ReduceOp.BOR, group=group)
    for root in (-1, RANKS):
        with pytest.raises(RuntimeError, match=f"reduce: invalid root rank: {root}"):
            dist.reduce(numbers(rank), root)
    for shape, dtype in (((3,), torch.float32), ((200,), torch.float64)):
        with pytest.raises(RuntimeError, match=r"reduce_scatter_tensor: the output has .*, and the input 1000"):
            dist.reduce_scatter_tensor(torch.empty(shape, dtype=dtype), numbers(rank))
    with pytest.raises(RuntimeError, match="reduce_scatter: the output has"):  # which a copy would broadcast
        dist.reduce_scatter(torch.empty(3, 200), list(numbers(rank).chunk(RANKS)))
    with pytest.raises(RuntimeError, match="reduce_scatter: invalid input tensor list size"):
        dist.reduce_scatter(torch.empty(200), list(numbers(rank).split(200))[1:])
    with pytest.raises(RuntimeError, match="allreduce: a rank gives one tensor, not 2"):
        dist.distributed_c10d._get_default_group().allreduce([numbers(rank), numbers(rank)])


def one_after_another(rank: int) -> None:
    """No call waits for a thread of the library that waits for the interpreter."""
    for _ in range(500):
        x = torch.tensor([rank, 2**40])
        dist.all_reduce(x)
        y = numbers(rank)
        dist.all_reduce(y, op=dist.ReduceOp.MAX)


def gradients(rank: int) -> None:
    """DistributedDataParallel divides by the number of ranks first."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(40, 30)
    alone = []
    for other in range(RANKS):
        layer.zero_grad()
        layer(numbers(other).reshape(25, 40)).square().sum().backward()
        assert layer.weight.grad is not None
        alone.append(layer.weight.grad.clone())
    layer.zero_grad()
    model = torch.nn.parallel.DistributedDataParallel(layer)
    model(numbers(rank).reshape(25, 40)).square().sum().backward()
    assert same_bits(layer.weight.grad, merged([grad * (1 / RANKS) for grad in alone]))


def the_audit_tells_them(rank: int) -> None:
    report = repdl.audit(lambda: (dist.all_reduce(numbers(rank)), dist.broadcast(numbers(rank), 0))[1])
    told = [(row.op, row.kind) for row in report if "c10d" in row.op]
    assert told == [("c10d::allreduce_", "guarded")]
    assert report.ok


PROGRAMS = (
    all_reduces, other_shapes, other_ways_to_call, integers_and_maxima, averages, what_the_library_refuses,
    one_after_another, gradients, the_audit_tells_them,
)  # fmt: skip


def run_rank(rank: int, store: str) -> None:
    torch.set_num_threads(1)
    wait = timedelta(seconds=120)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS, timeout=wait)
    with repdl.reproducible():
        for program in PROGRAMS:
            program(rank)
    dist.destroy_process_group()


def test_over_ranks(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(run_rank, (str(tmp_path / "store"),), RANKS)  # type: ignore[no-untyped-call]
