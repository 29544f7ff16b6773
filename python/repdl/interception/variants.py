# SPDX-License-Identifier: MIT
"""The overloads that write into a given tensor ("mm.out", "exp_"), made of the functional one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._prims_common import is_non_overlapping_and_dense_or_false as is_dense

from repdl import _core
from repdl.interception.native import Kernel, schemas
from repdl.interception.places import warn

ForOut = Callable[[torch.dtype, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def variants(
    name: str, converts: bool | None = None, for_out: ForOut | None = None, elementwise: bool = False
) -> Iterator[tuple[str, _core.OverrideTarget | None, Callable[[Kernel], Kernel]]]:
    """The overloads that compute the same as a functional one into a given tensor, and how they are made of it."""
    packet = name.partition(".")[0]
    same = schemas(packet)
    if name not in same:
        return
    taken = [(a.name, str(a.type)) for a in same[name].arguments]
    for other, schema in same.items():
        outs = [a.name for a in schema.arguments if a.is_out]
        if outs and [(a.name, str(a.type)) for a in schema.arguments if not a.is_out] == taken:
            target = _core.OverrideTarget.OUT if outs == ["out"] else None
            of_any_type = len(outs) == 1 if converts is None else converts
            yield other, target, into(outs, of_any_type, for_out, elementwise)
    for other, schema in schemas(packet + "_").items():
        if [(a.name, str(a.type)) for a in schema.arguments] == taken:
            yield other, _core.OverrideTarget.FIRST_ARGUMENT, in_place


def in_place(kernel: Kernel) -> Kernel:
    def changed(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        result = kernel(self, *args, **kwargs)
        _check_device(self, result)
        check_shape(self, result)
        check_cast(result.dtype, self.dtype)
        return self.copy_(result)

    return changed


def into(
    outs: list[str], converts: bool = True, for_out: ForOut | None = None, elementwise: bool = False
) -> Callable[[Kernel], Kernel]:
    """An operand of an elementwise op is not resized for its result."""

    def make(kernel: Kernel) -> Kernel:
        def filled(*args: Any, **kwargs: Any) -> Any:
            targets = [kwargs.pop(name) for name in outs]
            if for_out is not None:
                args, kwargs = for_out(targets[0].dtype, args, kwargs)
            results = kernel(*args, **kwargs)
            if elementwise and any(targets[0] is operand for operand in args):
                check_shape(targets[0], results)
            if isinstance(targets[0], list):
                for target, result in zip(targets[0], results, strict=True):
                    fill(target, result, converts)
                return None
            if len(outs) == 1:
                return fill(targets[0], results, converts)
            return tuple(fill(target, result, converts) for target, result in zip(targets, results, strict=True))

        return filled

    return make


def check_shape(target: torch.Tensor, result: torch.Tensor) -> None:
    if result.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )


def _check_device(target: torch.Tensor, result: torch.Tensor) -> None:
    if target.device != result.device:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but the result is on {result.device} and the tensor "
            f"given for it on {target.device}"
        )


def check_cast(result: torch.dtype, target: torch.dtype) -> None:
    if not torch.can_cast(result, target):
        raise RuntimeError(f"result type {result} can't be cast to the desired output type {target}")


def check_out_type(expected: torch.dtype, given: torch.dtype) -> None:
    if given != expected:
        raise RuntimeError(f"Expected out tensor to have dtype {expected}, but got {given} instead")


def fill(target: torch.Tensor, result: torch.Tensor, converts: bool = True) -> torch.Tensor:
    """Writes a result into the tensor given for it, which is resized, with torch's warning if it held elements.

    Resized, it has the strides of the result where these leave no gaps, as in torch.
    """
    _check_device(target, result)
    if not converts:
        check_out_type(result.dtype, target.dtype)
    check_cast(result.dtype, target.dtype)
    if target.shape != result.shape:
        if target.numel():
            warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does "
                f"not match the required output shape {list(result.shape)}. Resize the out "
                "tensor to no elements first, t.resize_(0)",
                UserWarning,
                "torch",
            )
        target.resize_(result.shape)
        if is_dense(result):
            target.as_strided_(result.shape, result.stride())
    return target.copy_(result)
