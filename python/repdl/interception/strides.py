# SPDX-License-Identifier: MIT
"""Which strides a result takes from its operands, as torch's results do."""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import (
    compute_elementwise_output_logical_to_physical_perm as physical_order,
    suggest_memory_format,
)

from repdl.interception.dtypes import map_tensors
from repdl.interception.native import Kernel


def memory_format(*operands: torch.Tensor) -> torch.memory_format:
    """That of a result: channels last if one of the operands is."""
    for x in operands:
        plain = x.dim() < 4 or (x.is_contiguous() and x.stride(1) != 1)
        if not plain and (suggested := suggest_memory_format(x)) != torch.contiguous_format:
            return suggested
    return torch.contiguous_format


def orders_of(*operands: torch.Tensor) -> tuple[list[int], list[int]]:
    """The dimensions of a pointwise result as they lie in memory, and how they are permuted back."""
    order, _ = physical_order(*operands)
    return order, sorted(range(len(order)), key=order.__getitem__)


def _broadcast(t: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The operand expanded, with steps of 0 in all that it lacks: `expand` has others in new dimensions of size 1."""
    lacks = len(shape) - t.dim()
    own = [step if size == full else 0 for step, size, full in zip(t.stride(), t.shape, shape[lacks:], strict=True)]
    return t.as_strided(shape, [0] * lacks + own)


def laid_out(compute: Kernel) -> Kernel:
    """Gives the result of a pointwise kernel the strides that torch would give it: those of its operands, in order.

    A single number is not expanded: it would count in the type of the result.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if all(t.is_contiguous() for t in tensors):
            return compute(*args, **kwargs)
        shape = torch.broadcast_shapes(*(t.shape for t in tensors))
        full = [t.expand(shape) if t.dim() else t for t in tensors]
        order, back = orders_of(*(_broadcast(t, shape) for t in tensors if t.dim()))
        turned = iter([t.permute(order) if t.dim() else t for t in full])
        result = compute(*(next(turned) if isinstance(a, torch.Tensor) else a for a in args), **kwargs)
        return map_tensors(lambda t: t.permute(back), result)

    return kernel
