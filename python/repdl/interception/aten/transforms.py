# SPDX-License-Identifier: MIT
"""Ops that torch.func makes of other steps than a call alone. Here they are made of those that give its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.vmap import lazy_load_decompositions  # type: ignore[attr-defined]
from torch.utils import _pytree as pytree

from repdl.interception.aten.composites import linear
from repdl.interception.aten.matmul import over_batch, plus
from repdl.interception.dtypes import LOW, WIDE, kinds_of, map_tensors, widen
from repdl.interception.native import LOW_DTYPES, Kernel, native_of, overload
from repdl.interception.override import of_transform
from repdl.interception.rounding import first_rounded, rounded_once
from repdl.interception.unwatched import wrapped

functorch = torch._C._functorch
_BATCHED = "FuncTorchBatched"
# Gradients, and for which reductions torch has no tangent of them; its steps for a batch have one.
_WITHOUT_TANGENT = {"mse_loss_backward": (1,), "huber_loss_backward": (0, 1, 2)}

lazy_load_decompositions()  # which torch else puts over ours with the first vmap


def _add_product(name: str, product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    def compute(self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, beta: Any, alpha: Any) -> torch.Tensor:
        return plus(self, product(a, b), beta, alpha)

    low = rounded_once(compute)

    @of_transform(_BATCHED, name)
    def add_product(
        self: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> torch.Tensor:
        are_low = self.dtype in LOW_DTYPES and self.dtype == a.dtype == b.dtype
        return (low if are_low else compute)(self, a, b, beta, alpha)


_add_product("addmm", torch.mm)
_add_product("addmv", torch.mv)
_add_product("baddbmm", torch.bmm)
_add_product("addbmm", lambda batch1, batch2: torch.mm(*over_batch(batch1, batch2)))


def _in_float32(round_results: Callable[[Kernel], Kernel], *names: str) -> None:
    """Declares ops that torch makes of several steps for a batch, each of which rounds bfloat16 and float16.

    A single entry is widened and rounded once. So is the batch: in float32 the steps give the bits of the op.
    """
    for name in names:
        of_transform(_BATCHED, name)(_widened(name, round_results))


_RUNNING = ("running_mean", "running_var")


def _places(name: str, *arguments: str) -> list[int]:
    """Of the arguments that an op has of these names."""
    return [i for i, argument in enumerate(overload(name)._schema.arguments) if argument.name in arguments]


def _widened(name: str, round_results: Callable[[Kernel], Kernel]) -> Kernel:
    native, op = native_of(name, _BATCHED), overload(name)
    statistics, training = _places(name, *_RUNNING), _places(name, "training")

    def wide(*args: Any) -> Any:
        return op(*args)

    rounded = round_results(wide)

    def in_float32(*args: Any) -> Any:
        kinds = kinds_of(args)
        if not kinds & LOW or kinds & WIDE:
            return native.run(args, args, {})
        given = list(args)
        for i in statistics:
            given[i] = widen(args[i])
        result = rounded(*given)
        for i in statistics:
            if given[i] is not args[i] and args[training[0]]:
                args[i].copy_(given[i])
        return result

    return in_float32


def _each_alone(name: str) -> Kernel:
    """An op that is called for each entry of a batch, since the steps of torch give other bits."""
    op, native = overload(name), native_of(name, _BATCHED)
    without_tangent = _WITHOUT_TANGENT.get(name, ())

    def each_alone(*args: Any) -> Any:
        level = functorch.maybe_current_level()
        assert level is not None
        given = [functorch._unwrap_batched(a, level) if isinstance(a, torch.Tensor) else (a, None) for a in args]
        sizes = {x.shape[dim] for x, dim in given if dim is not None}
        lacks_tangent = without_tangent and args[3] in without_tangent and any(map(_has_tangent, args))
        if sizes == {0} or lacks_tangent:
            return native.run(args, args, {})
        with torch._C._ExcludeDispatchKeyGuard(native.keys):
            if not sizes:  # a batch of another level
                return op(*args)
            (size,) = sizes
            rows = [op(*(x if dim is None else x.select(dim, i) for x, dim in given)) for i in range(size)]
            results = pytree.tree_map(lambda *row: None if row[0] is None else torch.stack(row), *rows)
        return map_tensors(lambda x: functorch._add_batch_dim(x, 0, level), results)

    return each_alone


def _alone_if_watched(name: str, at_once: Kernel, only_low: bool = False) -> None:
    """Declares an op whose entries have its gradient only alone: that of torch's steps for a batch has other bits.

    Those of a transform or of autograd outside of `torch.vmap`, that is; inside they are no part of the batch.
    """
    each_alone = _each_alone(name)
    statistics = _places(name, *_RUNNING)

    @of_transform(_BATCHED, name)
    def alone_if_watched(*args: Any) -> Any:
        is_other = only_low and not kinds_of(args) & LOW
        if is_other or not any(map(_is_watched, args)) or any(_is_of_all(args[i]) for i in statistics):
            return at_once(*args)
        return each_alone(*args)


def _of_torch(name: str) -> Kernel:
    native = native_of(name, _BATCHED)
    return lambda *args: native.run(args, args, {})


def _is_of_all(statistic: torch.Tensor | None) -> bool:
    """Whether it is not part of the batch. If it is to be updated, torch says that it cannot."""
    return statistic is not None and functorch.maybe_get_level(statistic) != functorch.maybe_current_level()


def _is_watched(value: Any) -> bool:
    return any(functorch.is_gradtrackingtensor(x) or x.requires_grad for x in wrapped(value))


def _has_tangent(value: Any) -> bool:
    """Whether one of the transforms outside takes its tangent."""
    of_tangents = {i.level() for i in functorch.get_interpreter_stack() or () if i.key() == functorch.TransformType.Jvp}
    return any(functorch.maybe_get_level(x) in of_tangents for x in wrapped(value))


_in_float32(first_rounded, "_native_batch_norm_legit")
_in_float32(
    rounded_once,
    *("native_layer_norm_backward", "native_group_norm_backward"),
    *("convolution", "_convolution", "convolution_backward"),
)


_alone_if_watched("native_layer_norm", _widened("native_layer_norm", first_rounded), only_low=True)
_alone_if_watched("native_group_norm", _widened("native_group_norm", first_rounded))
for _name in ("native_batch_norm", "_native_batch_norm_legit.no_stats"):
    _alone_if_watched(_name, _widened(_name, first_rounded))
_alone_if_watched("mse_loss", _of_torch("mse_loss"))
for _name in ("smooth_l1_loss", "huber_loss", "binary_cross_entropy"):
    _alone_if_watched(_name, _widened(_name, rounded_once))

for _name in (
    "native_batch_norm_backward",
    "_cdist_backward",  # for which torch's rule takes gradients that alone are many for one
    *(f"{loss}_backward" for loss in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy")),
):
    of_transform(_BATCHED, _name)(_each_alone(_name))
of_transform("FuncTorchDynamicLayerFrontMode", "linear")(linear)


def _with_wide_targets(name: str) -> Kernel:
    """Takes targets of int32 too, as torch does for a batch alone."""
    each_alone, (target,) = _each_alone(name), _places(name, "target")

    def with_wide_targets(*args: Any) -> Any:
        classes = args[target]
        if classes.dtype == torch.int32:
            args = (*args[:target], classes.to(torch.int64), *args[target + 1 :])
        return each_alone(*args)

    return with_wide_targets


for _loss in ("nll_loss", "nll_loss2d"):
    for _way in ("forward", "backward"):
        of_transform(_BATCHED, f"{_loss}_{_way}")(_with_wide_targets(f"{_loss}_{_way}"))


_native_log_sigmoid_forward, _native_log_sigmoid_backward = (
    native_of(f"log_sigmoid_{way}", _BATCHED) for way in ("forward", "backward")
)


@of_transform(_BATCHED, "log_sigmoid_forward")
def log_sigmoid_forward(self: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The second result, which our gradient does without, may have no elements, and so no batch."""
    level = functorch.maybe_current_level()
    assert level is not None
    x, dim = functorch._unwrap_batched(self, level)
    with torch._C._ExcludeDispatchKeyGuard(_native_log_sigmoid_forward.keys):
        result, buffer = torch.ops.aten.log_sigmoid_forward(x if dim is None else x.movedim(dim, 0))
    return result if dim is None else functorch._add_batch_dim(result, 0, level), buffer


@of_transform(_BATCHED, "log_sigmoid_backward")
def log_sigmoid_backward(grad_output: torch.Tensor, self: torch.Tensor, _buffer: torch.Tensor) -> torch.Tensor:
    """With the operand in the place of what it does without, where torch's rule wants the shape of it."""
    args = grad_output, self, self
    result: torch.Tensor = _native_log_sigmoid_backward.run(args, args, {})
    return result


@of_transform("FuncTorchDynamicLayerFrontMode", "binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    self: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    pos_weight: torch.Tensor | None = None,
    reduction: int = 1,
) -> torch.Tensor:
    """The steps of torch outside of a transform, none in place."""
    log = torch.nn.functional.logsigmoid(self)
    if pos_weight is not None:
        log = log * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * self - log
    if weight is not None:
        loss = loss * weight
    return loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss
