# SPDX-License-Identifier: MIT
"""Registers every declared op with torch, as `torch.ops.repdl.<name>`: kernel, shapes and gradient.

`torch.library.Library.define` and `impl` rather than the decorators: a call costs about a quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

import repdl.ops  # noqa: F401: declares the ops
from repdl import _core
from repdl._op import Gradient, Op, Saved, registry

_library = torch.library.Library("repdl", "DEF")

torch_ops: dict[str, Any] = {}
"""The op that torch dispatches, by name."""


def _fake_kernel(op: Op[..., Any]) -> Callable[..., Any]:
    """The outputs of an op without their data, for tracing. The core says what they are."""
    defaults = op.defaults

    def fake(*args: Any, **kwargs: Any) -> Any:
        arguments = defaults | dict(zip(defaults, args, strict=False)) | kwargs
        like = next(value for value in arguments.values() if isinstance(value, torch.Tensor))
        outputs = [
            like.new_empty(shape, dtype=getattr(torch, dtype))
            for dtype, shape in _core.infer(op.name, *arguments.values())
        ]
        if op.mutates:
            return None
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return fake


def _autograd(op: Op[..., Any], gradient: Gradient) -> tuple[Callable[..., Any], Callable[..., None]]:
    """The gradient of a declaration as torch.library.register_autograd wants it."""
    names = [name for name, _, _ in op.arguments]
    is_tensor = {name: kind.startswith("Tensor") for name, kind, _ in op.arguments}

    def setup_context(
        ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any] | None = None, output: Any = None
    ) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        known = dict(zip(names, inputs, strict=True)) | dict(zip(op.outputs, outputs, strict=True))
        ctx.save_for_backward(*(known[name] for name in gradient.saves))
        ctx.plain = {name: known[name] for name in names if not is_tensor[name]}
        ctx.shapes = {
            f"{name}_shape": tuple(known[name].shape) for name in names if is_tensor[name] and known[name] is not None
        }
        ctx.mark_non_differentiable(*(known[name] for name in gradient.non_differentiable))

    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        tensors = dict(zip(gradient.saves, ctx.saved_tensors, strict=True))
        wanted = [g for g, name in zip(grad_outputs, op.outputs, strict=True) if name not in gradient.non_differentiable]
        grads = gradient.formula(Saved(ctx.shapes | ctx.plain | tensors), *wanted)
        # The dispatcher leaves out trailing arguments that have their default.
        return tuple(
            _evaluate(op.name, name, grads) if needed else None
            for name, needed in zip(names, ctx.needs_input_grad, strict=False)
        )

    return backward, setup_context


def _evaluate(op: str, argument: str, gradients: Mapping[str, Any]) -> Any:
    if argument not in gradients:
        raise NotImplementedError(f"[{op}] has no gradient by {argument}; detach it")
    gradient = gradients[argument]
    return gradient() if callable(gradient) and not isinstance(gradient, torch.Tensor) else gradient


def _register(op: Op[..., Any]) -> None:
    qualified = f"repdl::{op.name}"
    _library.define(_core.schemas[op.name], tags=(torch.Tag.pt2_compliant_tag,))
    # One callable for every device: the core knows which kernels it has, and says so where it has none.
    for key in ("CPU", "CUDA"):
        _library.impl(op.name, op.kernel, key)
    torch.library.register_fake(qualified, _fake_kernel(op), lib=_library)
    if op.gradient is not None:
        backward, setup_context = _autograd(op, op.gradient)
        torch.library.register_autograd(qualified, backward, setup_context=setup_context, lib=_library)
    torch_ops[op.name] = getattr(torch.ops.repdl, op.name).default


def _register_all(ops: Sequence[Op[..., Any]]) -> None:
    for op in ops:
        _register(op)
    _core.set_threads_source(torch.get_num_threads)


_register_all(list(registry.values()))
