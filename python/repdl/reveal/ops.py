# SPDX-License-Identifier: MIT
"""Ops by name, ours and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from repdl._op import registry
from repdl.reveal import norms, products, sums
from repdl.reveal.attention import attention, attention_grad
from repdl.reveal.batch_norm import batch_norm, batch_norm_grad, batch_norm_stats, torch_batch_norm
from repdl.reveal.cross_entropy import cross_entropy, cross_entropy_grad, nll_loss
from repdl.reveal.margin_loss import multi_margin, multi_margin_grad, multilabel_margin
from repdl.reveal.probing import reveal
from repdl.reveal.setup import Adapter as Adapter, Options as Options, Setup
from repdl.reveal.tree import Array, Tree

Sums: TypeAlias = Adapter | Mapping[str, Adapter]
"""How an op is read, or each of its sums by name, the first if none is chosen."""

OURS: Mapping[str, Sums] = {
    "sum": sums.plain,
    "mean": sums.mean,
    "mm": products.mm,
    "mv": products.mv,
    "dot": products.dot,
    "addmm": products.addmm,
    "complex_mm": products.complex_mm,
    "complex_sum": sums.of_complex(sums.plain),
    "complex_mean": sums.of_complex(sums.mean),
    "complex_norm": sums.complex_norm,
    "complex_var": sums.of_complex(sums.var, to_real=True),
    "complex_std": sums.of_complex(sums.std, to_real=True),
    "sampled_mm": products.sampled_mm,
    "linear": products.linear,
    "conv2d": products.conv2d,
    "conv2d_grad_input": products.conv2d_grad_input,
    "conv2d_grad_kernel": products.conv2d_grad_kernel,
    "convolution": products.conv2d,
    "convolution_grad_input": products.conv2d_grad_input,
    "convolution_grad_kernel": products.conv2d_grad_kernel,
    "norm": sums.norm,
    "var": sums.var,
    "std": sums.std,
    "logsumexp": sums.logsumexp,
    "softmax": sums.softmax,
    "softmax_grad": sums.softmax_grad,
    "log_softmax": sums.log_softmax,
    "log_softmax_grad": sums.log_softmax_grad,
    "attention": attention,
    "attention_grad": attention_grad,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
    "nll_loss": nll_loss,
    "multi_margin": multi_margin,
    "multi_margin_grad": multi_margin_grad,
    "multilabel_margin": multilabel_margin,
    "batch_norm": batch_norm,
    "batch_norm_stats": batch_norm_stats,
    "batch_norm_grad": batch_norm_grad,
    "batch_norm_eval_grad": batch_norm_grad,
    "layer_norm": norms.layer_norm,
    "layer_norm_grad": norms.layer_norm_grad,
    "layer_norm_grad_input": norms.layer_norm_grad_input,
    "rms_norm": norms.rms_norm,
    "rms_norm_grad": norms.rms_norm_grad,
    "rms_norm_grad_input": norms.rms_norm_grad_input,
    "group_norm": norms.group_norm,
    "group_norm_grad": norms.group_norm_grad,
    "group_norm_grad_input": norms.group_norm_grad_input,
    "weight_norm": sums.weight_norm,
    "weight_norm_grad": sums.weight_norm_grad,
    "cdist": sums.cdist,
    "cdist_grad": sums.cdist_grad,
    "pdist": sums.pdist,
    "grid_sample_grad_grid": sums.grid_sample_grad_grid,
    "max_pool2d_grad": sums.max_pool2d_grad,
}
TORCH: Mapping[str, Sums] = {
    "torch.sum": sums.plain,
    "torch.mean": sums.mean,
    "torch.cumsum": sums.cumsum,
    "torch.softmax": sums.softmax,
    "torch._softmax_backward_data": sums.softmax_grad,
    "torch.log_softmax": sums.log_softmax,
    "torch._log_softmax_backward_data": sums.log_softmax_grad,
    "torch.mm": products.mm,
    "torch.mv": products.mv,
    "torch.dot": products.dot,
    "torch.matmul": products.mm,
    "torch.addmm": products.addmm,
    "torch.nn.functional.linear": products.linear,
    "torch.nn.functional.conv2d": products.conv2d,
    "torch.nn.grad.conv2d_input": products.conv2d_grad_input,
    "torch.nn.grad.conv2d_weight": products.conv2d_grad_kernel,
    "torch.nn.functional.cross_entropy": cross_entropy,
    "torch.nn.functional.batch_norm": torch_batch_norm,
    "torch.nn.functional.rms_norm": norms.torch_rms_norm,
}
NUMPY: Mapping[str, Sums] = {
    "numpy.sum": sums.plain,
    "numpy.mean": sums.mean,
    "numpy.cumsum": sums.cumsum,
    "numpy.matmul": products.mm,
}


def _torch_call(function: Callable[..., Any]) -> Callable[..., Array]:
    from torch import Tensor, float32, from_numpy

    last = (float32,) if function.__name__.endswith("_backward_data") else ()  # the dtype of the input that was

    def call(*arguments: Any, **named: Any) -> Array:
        result = function(*(from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments), *last, **named)
        assert isinstance(result, Tensor)
        return np.asarray(result.numpy())

    return call


def _numpy_call(function: Callable[..., Any]) -> Callable[..., Array]:
    def call(*arguments: Array, dim: int | None = None) -> Array:
        return np.asarray(function(*arguments, **({} if dim is None else {"axis": dim})))

    return call


def _function(path: str) -> Callable[..., Any]:
    """What "package.module:function", or a name of the tables above, stands for."""
    module, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"[reveal] there is no {path}: {error}") from error
    if not callable(found):
        raise ValueError(f"[reveal] {path} is no function")
    return found  # type: ignore[no-any-return]


def _guarded(function: Callable[..., Any], op: str) -> Callable[[Array], Any]:
    """Its errors are those of a wrong choice of function."""

    def call(terms: Array) -> Any:
        try:
            return function(terms)
        except Exception as error:
            what = f"[reveal] {op} must take a float32 array of shape {terms.shape}"
            raise ValueError(f"{what}, but raises {type(error).__name__}: {error}") from error

    return call


def _no_adapter(op: str) -> ValueError:
    if op in registry and not registry[op].takes_order:
        return ValueError(f"[reveal] {op} sums nothing")
    names = ", ".join([*OURS, *TORCH, *NUMPY])
    return ValueError(
        f"[reveal] {op} is not known. Known are {names}; any function of terms is package.module:function"
    )


def _adapter(op: str, known: Sums, options: Options) -> Adapter:
    if isinstance(known, Adapter):
        known.check(op, options)
        return known
    chosen = next(iter(known)) if options.sum is None else options.sum
    if chosen not in known:
        raise ValueError(f"[reveal] {op} has no sum {chosen!r}: choose one of {', '.join(known)}")
    known[chosen].check(f"the sum {chosen!r} of {op}", options)
    return known[chosen]


def _check_order(op: str, order: str | None) -> None:
    if order is not None and op in registry and not registry[op].takes_order:
        raise ValueError(f"[reveal] {op} adds in one order only: leave order out")
    if order is not None and op not in registry:
        raise ValueError(f"[reveal] {op} has no order to choose: only ops of repdl.ops have one, so leave order out")


def setup(op: str, options: Options, order: str | None = None) -> Setup:
    """How a named op is read.

    Args:
        op: an op of `repdl.ops`, or one of the tables above by its full name.
        options: which sum.
        order: for an op of `repdl.ops`: "blocked", "sequential", or None for the current one.

    Raises:
        ValueError: for an op that is not known, and options that do not fit it.
    """
    tables = {**OURS, **TORCH, **NUMPY}
    if op not in tables:
        raise _no_adapter(op)
    _check_order(op, order)
    adapter = _adapter(op, tables[op], options)
    if op in OURS:
        call: Callable[..., Any] = registry[op] if order is None else partial(registry[op], order=order)
    else:
        call = (_torch_call if op in TORCH else _numpy_call)(_function(op))
    made = adapter.make(call, options, op)
    if options.every == 1:
        return made
    return replace(made, every=options.every, what=f"{made.what}, 1 of each {options.every} terms")


def reveal_op(op: str, options: Options, order: str | None = None) -> tuple[str, Tree]:
    """What was read, in words, and its tree. As `setup`; also "package.module:function", which sums (n,) terms.

    Raises:
        NotASumError: if the op does not sum its terms in an order that can be read.
        ValueError: as `setup`.
    """
    if ":" in op:
        _check_order(op, order)
        if options != Options(options.n):
            raise ValueError(
                f"[reveal] {op} is called with n terms: no shape, dim, element, every or sum can be chosen, so leave "
                "them out"
            )
        return op, reveal(_guarded(_function(op), op), options.terms, name=op)
    of = setup(op, options, order)
    return of.what, reveal(of, of.n, batched=True, signed=not of.positive, exact=of.exact, name=op)
