# SPDX-License-Identifier: MIT
"""Gives every declared op to torch: as `torch.ops.repdl.<name>` (kernel, shapes, gradient), and by a short cut.

`torch.library.Library.define` and `impl` rather than the decorators: a call costs about a quarter. Even so the
dispatcher and its autograd wrapper cost about 15 µs a call, and the short cut about 5. It is taken where nobody
watches: plain tensors with data, no tracing, no dispatch mode, no functorch transform.

An import declares the kernels alone, which takes 15 ms. What takes 0.5 ms an op is made when it is asked for: the
gradient by the first call that reaches the dispatcher's autograd, the shapes by whoever takes the op by its name.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, cached_property, reduce
from typing import Any

import torch
from torch.autograd import forward_ad

import repdl.ops  # noqa: F401 (declares the ops)
from repdl import _core
from repdl._op import Gradient, Op, Saved, registry
from repdl._symbols import addresses

_library = torch.library.Library("repdl", "DEF")

# torch.vmap calls them for each entry, so that it has the bits that it has alone; nothing for PyTorch to mend. This is
# for calls by torch.ops: `TorchOp` leaves the warning out whatever the filters are.
warnings.filterwarnings("ignore", r"There is a performance drop .* batching rule for repdl::", UserWarning)

PLAIN = (torch.Tensor, torch.nn.Parameter)
"""The types of tensors that torch's own functions serve, and nobody else."""


def _empty_strided(size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cpu")


empty_strided = getattr(getattr(torch._C._dynamo, "guards", None), "_empty_strided_cpu", _empty_strided)
"""A CPU tensor by its sizes, strides and dtype: what code of inductor calls, in less time than torch.empty."""


class TorchOp:
    """An op as torch sees it."""

    def __init__(self, op: Op[..., Any]) -> None:
        self.op = op
        self.defaults = op.defaults
        self.kernel = op.kernel
        self.function = _undifferentiable(op) if op.gradient is None else _autograd_function(op, op.gradient)
        _define(op)

    @cached_property
    def dispatched(self) -> Any:
        """The overload in torch's dispatcher."""
        return getattr(torch.ops.repdl, self.op.name).default

    @cached_property
    def transformable(self) -> Any:
        """The autograd.Function that torch.func transforms."""
        return _transformable_function(self.op, self.dispatched)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        needs_grad = False
        watched = _is_watched()
        if forward_ad._current_level >= 0:
            _refuse_tangents(self.op, *args, *kwargs.values())
        for value in (*args, *kwargs.values()) if kwargs else args:
            if type(value) in PLAIN:
                needs_grad = needs_grad or value.requires_grad
                watched = watched or value.is_meta
            elif isinstance(value, torch.Tensor):
                watched = True
        if watched:
            return self.transformed(args, kwargs) if _transform() is not None else self.dispatched(*args, **kwargs)
        if not needs_grad or self.function is None or not torch.is_grad_enabled():
            try:
                return self.kernel(*args, **kwargs)
            except TypeError:
                if not any(map(_is_batch_of_gradients, (*args, *kwargs.values()))):
                    raise
                return self.dispatched(*args, **kwargs)  # which calls it for each entry
        return self.function.apply(*self.all_arguments(args, kwargs))

    def transformed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Within a transform of torch.func, without torch's warning that it calls the op for each entry of a batch."""
        _warn_of_batches(False)
        try:
            if self.op.gradient is None or _is_compiled():
                return self.dispatched(*args, **kwargs)
            with _as_program():
                return self.transformable.apply(*self.all_arguments(args, kwargs))
        finally:
            _warn_of_batches(True)

    def all_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """In order, those left out too: an autograd.Function takes no names."""
        if not kwargs and len(args) == len(self.defaults):
            return args
        return tuple((self.defaults | dict(zip(self.defaults, args, strict=False)) | kwargs).values())


_transform = torch._C._functorch.peek_interpreter_stack
"""Of torch.func, which takes gradients of the calls that follow or maps them over a dimension; None outside of it."""

_warn_of_batches = torch._C._functorch._set_vmap_fallback_warning_enabled  # type: ignore[attr-defined]


_FRONT = torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode
_HIDDEN = reduce(
    operator.or_,
    (
        torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
        for key in (
            *("FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchBatched"),
            *("Functionalize", "Conjugate", "Negative", "ZeroTensor", "PythonTLSSnapshot"),
        )
    ),
)
"""What torch.func hides from the ops that a composite op calls while it takes a gradient."""


def _as_program() -> AbstractContextManager[Any]:
    """In this block, the transforms of torch.func take a call as one of the program, from the outermost on.

    A composite op of ours is called half-way through one, below which an autograd.Function finds no way.
    """
    hidden = torch._C._dispatch_tls_local_exclude_set()
    if not hidden.has(_FRONT):
        return nullcontext()
    included = torch._C._dispatch_tls_local_include_set()
    return torch._C._ForceDispatchKeyGuard(included, hidden - _HIDDEN)


def _is_batch_of_gradients(value: Any) -> bool:
    """Those that `torch.autograd.grad(..., is_grads_batched=True)` takes at once, which look like plain tensors."""
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_legacy_batchedtensor(value)


def _is_watched() -> bool:
    """Somebody traces, transforms or intercepts torch operations."""
    return _transform() is not None or _is_traced()


def _is_traced() -> bool:
    """Somebody traces or intercepts torch operations."""
    return torch._C._len_torch_dispatch_stack() > 0 or _is_compiled()


def _is_compiled() -> bool:
    """Somebody makes another program of this one, without running it."""
    return torch.compiler.is_compiling() or torch._C._is_tracing()


def _refuse_tangents(op: Op[..., Any], *values: Any) -> None:
    """Ops have gradients in reverse mode alone; in forward mode the tangent of an operand would be lost in silence.

    Below autograd, where kernels of torch's ops call ours, torch's own formulas have taken the tangents already.
    """
    below_autograd = torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.AutogradCPU)
    if not below_autograd and has_tangent(*values):
        raise _no_forward_mode(op)


def has_tangent(*values: Any) -> bool:
    """Whether one of these has a derivative in forward mode."""
    return any(isinstance(v, torch.Tensor) and forward_ad.unpack_dual(v).tangent is not None for v in values)


def may_have_tangents(*values: Any) -> bool:
    """The same; or a transform of torch.func may hide a derivative of one outside of it."""
    return forward_ad._current_level >= 0 and (_transform() is not None or has_tangent(*values))


def _no_forward_mode(op: Op[..., Any]) -> NotImplementedError:
    return NotImplementedError(
        f"[{op.name}] has no derivative in forward mode, and an operand has a tangent; call torch's function under "
        "repdl.enable(), which has one, or use reverse mode (backward, torch.func.vjp)"
    )


def _living(tensor: Any) -> Any:
    return None if tensor is None else torch._C._functorch.unwrap_if_dead(tensor)


class _Context:
    """What a gradient needs of a call, worked out once for an op."""

    def __init__(self, op: Op[..., Any], gradient: Gradient) -> None:
        self.op = op
        self.gradient = gradient
        self.names = [name for name, _, _ in op.arguments]
        self.tensors = [i for i, (_, kind, _) in enumerate(op.arguments) if kind.startswith("Tensor")]
        known = self.names + list(op.outputs)
        self.saves = [known.index(name) for name in gradient.saves]
        self.non_differentiable = [op.outputs.index(name) for name in gradient.non_differentiable]

    def setup(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        known = inputs + outputs
        ctx.save_for_backward(*[known[i] for i in self.saves])
        values = list(inputs)
        for i in self.tensors:
            values[i] = None if inputs[i] is None else tuple(inputs[i].shape)
        ctx.values = values
        # A gradient of zeros for an output without one would cost a tensor.
        ctx.set_materialize_grads(False)
        if self.non_differentiable:
            ctx.mark_non_differentiable(*[outputs[i] for i in self.non_differentiable])

    def backward(self, ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        wanted = [g for i, g in enumerate(grad_outputs) if i not in self.non_differentiable]
        if all(g is None for g in wanted):
            return (None,) * len(ctx.needs_input_grad)
        values = dict(zip(self.names, ctx.values, strict=True))
        for i in self.tensors:
            values[f"{self.names[i]}_shape"] = values.pop(self.names[i])
        # torch.func.vjp is over when the function that it gives is called, and its wrappers with it.
        values.update(zip(self.gradient.saves, map(_living, ctx.saved_tensors), strict=True))
        # The dispatcher leaves out trailing arguments that have their default.
        needed = dict(zip(self.names, ctx.needs_input_grad, strict=False))
        saved = Saved(values, frozenset(name for name in needed if needed[name]))
        grads = self.gradient.formula(saved, *wanted)
        return tuple(self.evaluate(name, grads) if needed[name] else None for name in needed)

    def evaluate(self, argument: str, gradients: Mapping[str, Any]) -> Any:
        if argument not in gradients:
            raise NotImplementedError(f"[{self.op.name}] has no gradient by {argument}; detach it")
        gradient = gradients[argument]
        return gradient() if callable(gradient) and not isinstance(gradient, torch.Tensor) else gradient


def _autograd_function(op: Op[..., Any], gradient: Gradient) -> Any:
    context, kernel = _Context(op, gradient), op.kernel

    def forward(ctx: Any, *inputs: Any) -> Any:
        output = kernel(*inputs)
        context.setup(ctx, inputs, output)
        return output

    members = {"forward": staticmethod(forward), "backward": staticmethod(context.backward)}
    return type(f"Repdl_{op.name}", (torch.autograd.Function,), members)


def _transformable_function(op: Op[..., Any], dispatched: Any) -> Any:
    """The same for torch.func, which unwraps the operands level by level and calls `forward` at each."""
    assert op.gradient is not None
    context = _Context(op, op.gradient)

    def forward(*inputs: Any) -> Any:
        return dispatched(*inputs)

    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise _no_forward_mode(op)

    members = {
        "generate_vmap_rule": True,
        "forward": staticmethod(forward),
        "jvp": staticmethod(jvp),
        "setup_context": staticmethod(context.setup),
        "backward": staticmethod(context.backward),
    }
    return type(f"Repdl_{op.name}", (torch.autograd.Function,), members)


def _undifferentiable(op: Op[..., Any]) -> Any:
    """For an op without a gradient, such as most gradients are: asking for one is an error, not a zero."""
    if op.mutates:
        return None
    kernel = op.kernel

    def forward(ctx: Any, *inputs: Any) -> Any:
        return kernel(*inputs)

    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(f"[{op.name}] has no gradient; detach its operands, or leave out create_graph=True")

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(f"Repdl_{op.name}", (torch.autograd.Function,), members)


def _fake_kernel(op: Op[..., Any]) -> Callable[..., Any]:
    """The outputs of an op without their data, for tracing. The core says what they are."""
    defaults = op.defaults

    def fake(*args: Any, **kwargs: Any) -> Any:
        arguments = defaults | dict(zip(defaults, args, strict=False)) | kwargs
        (first, like), *others = ((n, value) for n, value in arguments.items() if isinstance(value, torch.Tensor))
        for name, other in others:
            if other.device != like.device:  # an output on either would hold nothing
                devices = f"{first} on {like.device} and {name} on {other.device}"
                raise RuntimeError(f"[{op.name}] takes tensors on one device, got {devices}; move them with .to()")
        if op.symbolic_shapes is not None and _has_symbols(arguments.values()):
            outputs = [like.new_empty(tuple(shape)) for shape in op.symbolic_shapes(arguments)]
        else:
            inferred = _core.infer(op.name, *arguments.values())
            outputs = [like.new_empty(shape, dtype=getattr(torch, dtype)) for dtype, shape in inferred]
        if op.mutates:
            return None
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return fake


def _has_symbols(values: Iterable[Any]) -> bool:
    tensors = (value for value in values if isinstance(value, torch.Tensor))
    return any(isinstance(size, torch.SymInt) for t in tensors for size in t.shape)


_defined: set[str] = set()
_without_shapes: set[str] = set()


def _define(op: Op[..., Any]) -> None:
    """Gives the dispatcher an op and its kernel, and its gradient when that is needed."""
    if op.name in _defined:
        return
    _defined.add(op.name)
    _library.define(_core.schemas[op.name], tags=(torch.Tag.pt2_compliant_tag,))
    # One callable for every device: the core knows which kernels it has, and says so where it has none.
    for key in ("CPU", "CUDA"):
        _library.impl(op.name, op.kernel, key)
    _without_shapes.add(op.name)
    if op.gradient is not None:
        _library.impl(op.name, _differentiable(op, op.gradient), "Autograd", with_keyset=True)


def _differentiable(op: Op[..., Any], gradient: Gradient) -> Callable[..., Any]:
    """What `torch.library.register_autograd` registers, made by the first call."""

    @cache
    def made() -> Callable[..., Any]:
        context = _Context(op, gradient)

        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            context.setup(ctx, inputs, output)

        info = torch._library.autograd.Info(context.backward, setup_context)
        kernel: Callable[..., Any] = torch._library.autograd.make_autograd_impl(torch_ops[op.name].dispatched, info)
        return kernel

    def differentiable(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if forward_ad._current_level >= 0:
            _refuse_tangents(op, *args, *kwargs.values())
        return made()(keyset, *args, **kwargs)

    return differentiable


class _Namespace(torch._ops._OpNamespace):
    """`torch.ops.repdl`, which gives tracers the shapes of an op before it gives the op, the first time."""

    def __getattr__(self, name: str) -> Any:
        if name in _without_shapes:
            _without_shapes.remove(name)
            torch.library.register_fake(f"repdl::{name}", _fake_kernel(registry[name]), lib=_library)
        return super().__getattr__(name)  # which keeps it as an attribute


class _TorchOps(dict[str, TorchOp]):
    """Every op by name, made by its first call."""

    def __missing__(self, name: str) -> TorchOp:
        return self.setdefault(name, TorchOp(registry[name]))


torch_ops = _TorchOps()

setattr(torch.ops, "repdl", _Namespace("repdl"))  # noqa: B010 (no type checker knows the attribute)
for _op in registry.values():
    _define(_op)

_core.set_threads_source(torch.get_num_threads)
_core.share_openmp()

_core.set_maker(torch.Tensor, empty_strided, torch)


def _set_tensor_source() -> None:
    """Where torch's libraries name the functions that make and describe a tensor, they are called instead."""
    names = (
        "empty_strided",
        "delete_tensor_object",
        "is_defined",
        "get_data_ptr",
        "get_storage_offset",
        "get_dim",
        "get_sizes",
        "get_strides",
        "get_dtype",
    )
    in_c = addresses("torch_cpu", *(f"aoti_torch_{name}" for name in (*names, "get_device_type", "get_layout")))
    in_python = addresses("torch_python", "_Z16THPVariable_WrapON2at10TensorBaseE")
    if in_c and in_python:
        sample = torch.Tensor()
        _core.set_tensor_source([*in_python, *in_c], sample, sample._cdata, PLAIN)


_set_tensor_source()
