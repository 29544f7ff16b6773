# SPDX-License-Identifier: MIT
"""Sums over processes, of tensors on the CPU: what the ranks give is gathered, and added in the order of the ranks.

The library that carries the tensors (gloo) adds in an order of its own, which may follow their size and its version.
Here neighbouring ranks are added, then pairs of them, and so on: the tree of docs/arithmetic.md, a rank for a chunk.
bfloat16 and float16 are widened, and rounded once. Products are taken likewise. All else, such as integers, maxima and
moves, is the library's. A call is complete when it returns, and takes as much memory as what all ranks give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import torch

from repdl.interception.native import LOW_DTYPES

Tensors = Sequence[torch.Tensor]
_dist: Any = torch.distributed
_Merge = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class _Group:
    """A process group and what it is to do, as a call of an op gives them."""

    def __init__(self, group: Any, reduce_op: Any, timeout: int) -> None:
        self.group = _dist.ProcessGroup.unbox(group)
        self.merge = _merges().get(reduce_op.op())
        self.timeout = None if timeout < 0 else timedelta(milliseconds=timeout)

    def is_ours(self, tensors: Tensors) -> bool:
        return self.merge is not None and all(t.is_floating_point() or t.is_complex() for t in tensors)

    def over_ranks(self, tensor: torch.Tensor) -> torch.Tensor:
        """The sum, say, of what each rank calls this with."""
        return self.exchanged([tensor] * self.group.size())

    def exchanged(self, by_rank: Tensors) -> torch.Tensor:
        """The sum, say, of what each rank has for this one, from what this one has for each."""
        mine, ranks = by_rank[self.group.rank()], self.group.size()
        given = torch.cat([_bytes_of(t) for t in by_rank])
        size = mine.numel() * mine.element_size()
        taken = given.new_empty(ranks * size)
        if len(given) or len(taken):
            splits = [size] * ranks, [t.numel() * t.element_size() for t in by_rank]
            self.group.alltoall_base(taken, given, *splits, timeout=self.timeout).wait()
        parts = [part.view(mine.dtype).reshape(mine.shape) for part in taken.chunk(ranks)] if size else [mine] * ranks
        return self._merged(parts)

    def _merged(self, parts: Tensors) -> torch.Tensor:
        assert self.merge is not None
        dtype = parts[0].dtype
        if dtype in LOW_DTYPES:
            parts = [part.float() for part in parts]
        while len(parts) > 1:
            pairs = [self.merge(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0].to(dtype)


@cache
def _merges() -> dict[int, _Merge]:
    """By the number of torch's ReduceOp, those that are ours."""
    kinds = _dist.ReduceOp.RedOpType
    return {int(kinds.SUM): torch.add, int(kinds.PRODUCT): torch.mul}


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg().reshape(-1).contiguous().view(torch.uint8)


def _store(targets: Tensors, values: Tensors) -> None:
    with torch.no_grad():
        for target, value in zip(targets, values, strict=True):
            target.copy_(value)


def _done(result: Any) -> Any:
    """What tells the caller that the work is done, and its result."""
    future: Any = torch.futures.Future()
    future.set_result(result)
    c10d: Any = torch._C._distributed_c10d
    return c10d._create_work_from_future(future).boxed()


def _allreduce(
    native: Any, tensors: Tensors, group: Any, op: Any, sparse: Any = None, async_op: bool = True, timeout: int = -1
) -> Any:
    call = _Group(group, op, timeout)
    if sparse is not None or not call.is_ours(tensors):
        return native(tensors, group, op, sparse, async_op, timeout)
    _store(tensors, [call.over_ranks(t) for t in tensors])
    return tensors, _done(tensors)


def _allreduce_coalesced(
    native: Any, tensors: Tensors, group: Any, op: Any, async_op: bool = True, timeout: int = -1
) -> Any:
    call = _Group(group, op, timeout)
    if not call.is_ours(tensors):
        return native(tensors, group, op, async_op, timeout)
    _store(tensors, [call.over_ranks(t) for t in tensors])
    return _done(tensors)


def _reduce(
    native: Any, tensors: Tensors, group: Any, op: Any, root: int, place: int, async_op: bool = True, timeout: int = -1
) -> Any:
    call = _Group(group, op, timeout)
    if not call.is_ours(tensors):
        return native(tensors, group, op, root, place, async_op, timeout)
    sums = [call.over_ranks(t) for t in tensors]
    if call.group.rank() == root:
        _store(tensors, sums)
    return _done(tensors)


def _reduce_scatter(
    native: Any,
    outputs: Tensors,
    inputs: Sequence[Tensors],
    group: Any,
    op: Any,
    async_op: bool = True,
    timeout: int = -1,
) -> Any:
    call = _Group(group, op, timeout)
    if not call.is_ours(outputs):
        return native(outputs, inputs, group, op, async_op, timeout)
    _store(outputs, [call.exchanged(by_rank) for by_rank in inputs])
    return outputs, _done(outputs)


def _reduce_scatter_base(
    native: Any,
    output: torch.Tensor,
    input: torch.Tensor,
    group: Any,
    op: Any,
    async_op: bool = True,
    timeout: int = -1,
) -> Any:
    call = _Group(group, op, timeout)
    if not call.is_ours([output]) or input.numel() != output.numel() * call.group.size():
        return native(output, input, group, op, async_op, timeout)
    _store([output], [call.exchanged(_in_shares(input, output, call.group.size()))])
    return output, _done([output])


def _reduce_scatter_coalesced(
    native: Any, outputs: Tensors, inputs: Tensors, group: Any, op: Any, async_op: bool = True, timeout: int = -1
) -> Any:
    call = _Group(group, op, timeout)
    if not call.is_ours(outputs):
        return native(outputs, inputs, group, op, async_op, timeout)
    ranks = call.group.size()
    _store(outputs, [call.exchanged(_in_shares(i, o, ranks)) for i, o in zip(inputs, outputs, strict=True)])
    return _done(outputs)


def _in_shares(input: torch.Tensor, output: torch.Tensor, ranks: int) -> Tensors:
    return (
        [share.reshape(output.shape) for share in input.reshape(-1).chunk(ranks)] if input.numel() else [output] * ranks
    )


_KERNELS: dict[str, Callable[..., Any]] = {
    "allreduce_": _allreduce,
    "allreduce_coalesced_": _allreduce_coalesced,
    "reduce_": _reduce,
    "reduce_scatter_": _reduce_scatter,
    "_reduce_scatter_base_": _reduce_scatter_base,
    "reduce_scatter_tensor_coalesced_": _reduce_scatter_coalesced,
}

_OF_FUNCTIONS = ("all_reduce", "reduce_scatter")
"""How the ops of torch.distributed._functional_collectives begin that call these."""


def computes(op: str) -> bool:
    """Whether an op of torch.distributed, "c10d::allreduce_", computes."""
    namespace, _, name = op.partition("::")
    return name.partition(".")[0] in _KERNELS if namespace == "c10d" else name.startswith(_OF_FUNCTIONS)


@cache
def kernels() -> dict[str, Callable[..., Any]]:
    """By the ops of c10d. Made once: from then on the library's own are hidden."""
    if not _dist.is_available():
        return {}
    key = torch._C.DispatchKey.CPU
    keys = torch._C.DispatchKeySet(key)

    def bound(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        native = torch._C._dispatch_get_computed_kernel_for_dispatch_key(f"c10d::{name}", key)

        def run_native(*args: Any) -> Any:
            return native.call_boxed(keys, *args)

        def kernel(*args: Any) -> Any:
            return compute(run_native, *args)

        return kernel

    return {name: bound(name, compute) for name, compute in _KERNELS.items()}
