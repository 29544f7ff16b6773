# SPDX-License-Identifier: MIT
"""Sums over processes, of tensors on the CPU: what the ranks give is gathered, and added in the order of the ranks.

The library that carries the tensors (gloo) adds in an order of its own, which may follow their size and its version.
Here neighbouring ranks are added, then pairs of them, and so on: the tree of docs/arithmetic.md, a rank for a chunk.
bfloat16 and float16 are widened, and rounded once. Products, maxima, minima and the ops of bits are taken likewise, and
an average is a sum over the number of ranks. Moves are the library's. A call is complete when it returns, and takes as
much memory as what all ranks give.

Reductions of integers are exact in any order, and still not the library's: a kernel of torch that is called from Python
keeps the interpreter. gloo's thread would wait for that, to give back the tensors of the call before, while it holds
the lock that the kernel waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import Any

import torch

from repdl.interception.native import LOW_DTYPES

Tensors = Sequence[torch.Tensor]
_dist: Any = torch.distributed
_Merge = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class _Call:
    """What an op is to do, in which group."""

    def __init__(self, group: Any, reduce_op: Any, timeout: int = -1) -> None:
        self.group = _dist.ProcessGroup.unbox(group)
        op = reduce_op.op()
        self.merge = _merges().get(op)
        self.of_bits = self.merge in _OF_BITS and _dist.ReduceOp.RedOpType(op).name
        self.averages = op == _dist.ReduceOp.AVG
        self.timeout = None if timeout < 0 else timedelta(milliseconds=timeout)

    def check(self, op: str, *tensors: torch.Tensor) -> None:
        """What gloo refuses, in its words: else one rank, or a library that moves bytes, would let it pass."""
        for dtype in {tensor.dtype for tensor in tensors}:
            if dtype not in _DTYPES and not dtype.is_complex:
                raise RuntimeError(f"{op}: Invalid scalar type, {dtype}; convert the tensor")
            if self.of_bits and (dtype.is_floating_point or dtype.is_complex):
                raise RuntimeError(
                    f"{op}: Cannot use ReduceOp.{self.of_bits} with non-integral dtype, {dtype}; give integers"
                )

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
        total = parts[0].div_(self.group.size()) if self.averages else parts[0]
        return total.to(dtype)


_OF_BITS = (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)
_DTYPES = frozenset((
    torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool,
))  # fmt: skip
"""Those that gloo reduces, beside complex ones, which it takes for pairs."""


@cache
def _merges() -> dict[int, _Merge]:
    """By the number of torch's ReduceOp, those that are ours."""
    kinds = _dist.ReduceOp.RedOpType
    return {
        int(kinds.SUM): torch.add,
        int(kinds.AVG): torch.add,
        int(kinds.PRODUCT): torch.mul,
        int(kinds.MIN): torch.minimum,
        int(kinds.MAX): torch.maximum,
        int(kinds.BAND): torch.bitwise_and,
        int(kinds.BOR): torch.bitwise_or,
        int(kinds.BXOR): torch.bitwise_xor,
    }


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg().reshape(-1).contiguous().view(torch.uint8)


def _done(result: Any) -> Any:
    """What tells the caller that the work is done, and its result."""
    future: Any = torch.futures.Future()
    future.set_result(result)
    c10d: Any = torch._C._distributed_c10d
    return c10d._create_work_from_future(future).boxed()


@dataclass(frozen=True)
class _Op:
    """An op of c10d: its arguments are tensors, a group and a ReduceOp, others, whether to wait, and a timeout.

    num_tensors: the arguments of the first kind.
    num_others: those of the third.
    gives_tensors: whether it returns its first argument too.
    compute: gets the call, the tensors and the others, and writes.
    """

    num_tensors: int
    num_others: int
    gives_tensors: bool
    compute: Callable[..., None]

    def run(self, native: Callable[..., Any], *args: Any) -> Any:
        tensors, (group, reduce_op, *rest) = args[: self.num_tensors], args[self.num_tensors :]
        others, timeout = (
            rest[: self.num_others],
            rest[self.num_others + 1 :],
        )  # torch leaves out what is at its default
        call = _Call(group, reduce_op, *timeout)
        targets = [tensors[0]] if isinstance(tensors[0], torch.Tensor) else tensors[0]
        if call.merge is None:
            return native(*args)
        with torch.no_grad():
            self.compute(call, targets, *tensors[1:], *others)
        work = _done(targets)
        return (tensors[0], work) if self.gives_tensors else work


def _to_all(call: _Call, tensors: Tensors, sparse: None = None) -> None:
    if len(tensors) != 1:  # gloo adds up all that a rank gives
        raise RuntimeError(
            f"allreduce: a rank gives one tensor, not {len(tensors)}; for several call allreduce_coalesced"
        )
    _each_to_all(call, tensors)


def _each_to_all(call: _Call, tensors: Tensors) -> None:
    call.check("all_reduce", *tensors)
    for tensor in tensors:
        tensor.copy_(call.over_ranks(tensor))


def _to_one(call: _Call, tensors: Tensors, root: int, place: int) -> None:
    call.check("reduce", *tensors)
    if not 0 <= root < call.group.size():
        raise RuntimeError(f"reduce: invalid root rank: {root}; the group has {call.group.size()} ranks")
    for tensor in tensors:
        total = call.over_ranks(tensor)
        if call.group.rank() == root:
            tensor.copy_(total)


def _to_each(call: _Call, outputs: Tensors, inputs: Sequence[Tensors]) -> None:
    for output, by_rank in zip(outputs, inputs, strict=True):
        call.check("reduce_scatter", output, *by_rank)
        if len(by_rank) != call.group.size():
            raise RuntimeError(
                "reduce_scatter: invalid input tensor list size, must be world size: "
                f"{len(by_rank)} tensors for {call.group.size()} ranks; give one for each"
            )
        mine = by_rank[call.group.rank()]
        if (output.shape, output.dtype) != (mine.shape, mine.dtype):
            raise RuntimeError(
                f"reduce_scatter: the output has shape {tuple(output.shape)} and {output.dtype}, and the input "
                f"of this rank {tuple(mine.shape)} and {mine.dtype}; give an output of the latter"
            )
        output.copy_(call.exchanged(by_rank))


def _shares_to_each(call: _Call, outputs: Tensors, inputs: torch.Tensor | Tensors) -> None:
    """Of inputs that are cut into a share for each rank."""
    for output, whole in zip(outputs, [inputs] if isinstance(inputs, torch.Tensor) else inputs, strict=True):
        call.check("reduce_scatter_tensor", output, whole)
        if (whole.numel(), whole.dtype) != (output.numel() * call.group.size(), output.dtype):
            raise RuntimeError(
                f"reduce_scatter_tensor: the output has {output.numel()} elements of {output.dtype}, and the input "
                f"{whole.numel()} of {whole.dtype}; give {call.group.size()} times those of the output, of its dtype"
            )
        output.copy_(call.exchanged(whole.reshape(call.group.size(), *output.shape).unbind()))


_OPS = {
    "allreduce_": _Op(1, 1, True, _to_all),
    "allreduce_coalesced_": _Op(1, 0, False, _each_to_all),
    "reduce_": _Op(1, 2, False, _to_one),
    "reduce_scatter_": _Op(2, 0, True, _to_each),
    "_reduce_scatter_base_": _Op(2, 0, True, _shares_to_each),
    "reduce_scatter_tensor_coalesced_": _Op(2, 0, False, _shares_to_each),
}

_OF_FUNCTIONS = ("all_reduce", "reduce_scatter")
"""How the ops of torch.distributed._functional_collectives begin that call these."""


def computes(op: str) -> bool:
    """Whether an op of torch.distributed, "c10d::allreduce_", computes."""
    namespace, _, name = op.partition("::")
    return name.partition(".")[0] in _OPS if namespace == "c10d" else name.startswith(_OF_FUNCTIONS)


@cache
def kernels() -> dict[str, Callable[..., Any]]:
    """By the ops of c10d. Made once: from then on the library's own are hidden."""
    if not _dist.is_available():
        return {}
    key = torch._C.DispatchKey.CPU
    keys = torch._C.DispatchKeySet(key)

    def kernel(name: str, op: _Op) -> Callable[..., Any]:
        native = torch._C._dispatch_get_computed_kernel_for_dispatch_key(f"c10d::{name}", key)
        return partial(op.run, partial(native.call_boxed, keys))

    return {name: kernel(name, op) for name, op in _OPS.items()}
