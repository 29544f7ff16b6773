# SPDX-License-Identifier: MIT
"""Ops by name, ours and others: how their terms are put in and their sum is read out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from repdl._op import registry
from repdl.reveal.probing import reveal
from repdl.reveal.tree import Array, Tree

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Options:
    """What of an op is read; None for what the op takes by default.

    Attributes:
        n: the number of terms, if there is no shape.
        shape: the sizes of the call: those that errors name.
        dim: the dimension summed over, for ops along one.
        element: the element of the result.
        every: read only the first of each so many terms, the others being 0. Quicker for a long sum.
    """

    n: int = 64
    shape: Ints | None = None
    dim: int = -1
    element: Ints | None = None
    every: int = 1

    def __post_init__(self) -> None:
        for name in ("n", "every"):
            if getattr(self, name) < 1:
                raise ValueError(f"[reveal] {name} must be at least 1, got {getattr(self, name)}")

    def shape_or(self, default: Ints, names: str) -> Ints:
        shape = default if self.shape is None else self.shape
        if len(shape) != len(default) or min(shape) < 1:
            raise ValueError(f"[reveal] shape must be {names}, each at least 1; got {shape}")
        return shape

    def element_of(self, shape: Ints, default: Ints | None = None) -> Ints:
        """The element of the result that is read."""
        element = self.element if self.element is not None else default or (0,) * len(shape)
        if len(element) != len(shape) or not all(0 <= i < size for i, size in zip(element, shape)):
            raise ValueError(f"[reveal] element must be one of a result of shape {shape}, got {element}")
        return element


@dataclass(frozen=True)
class Setup:
    """A call whose result has the sum of n terms somewhere."""

    what: str
    """Which sum, in words."""
    slot: Array
    """A view into an operand, where the terms go in row-major order."""
    run: Callable[[], Any]
    """Calls the op on the operands and returns the sum."""
    factors: Array | None = None
    """What the terms are multiplied by: a view as large as `slot`, set to powers of two that are not all equal, so that
    a way of computing that needs more than the products shows."""
    every: int = 1
    """Of so many terms only the first counts; the others are 0."""
    exact: bool = True
    positive: bool = False
    """The terms go through exp: their logarithms are put in."""

    def __post_init__(self) -> None:
        if self.factors is not None:
            self.factors[...] = np.random.default_rng(0).choice([0.5, 1, 2], self.factors.shape)

    @property
    def n(self) -> int:
        return -(-self.slot.size // self.every)

    def __call__(self, rows: Array) -> Array:
        terms = np.zeros(self.slot.size, np.float32)
        shaped = terms.reshape(self.slot.shape)
        sums = np.empty(len(rows))
        for k, row in enumerate(rows):
            terms[:: self.every] = row
            if self.positive:
                with np.errstate(divide="ignore"):
                    self.slot[...] = np.maximum(np.log(shaped), -1e4)
            else:
                self.slot[...] = shaped if self.factors is None else shaped / self.factors
            sums[k] = self.run()
        return sums


def _ones(*shape: int) -> Array:
    """Aligned as torch aligns: where an operand begins may show in another library's order."""
    memory = np.empty(4 * math.prod(shape) + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array: Array = memory[start : start + 4 * math.prod(shape)].view(np.float32).reshape(shape)
    array[...] = 1
    return array


def _along(options: Options, name: str) -> tuple[str, Array, Array, Ints, int]:
    """For ops along a dimension: words, the operand, the slot, the element without the dimension, the dimension."""
    shape = options.shape or (options.n,)
    if not -len(shape) <= options.dim < len(shape) or min(shape) < 1:
        raise ValueError(f"[reveal] dimension {options.dim} is none of shape {shape}")
    dim = options.dim % len(shape)
    others = shape[:dim] + shape[dim + 1 :]
    at = options.element_of(others)
    x = _ones(*shape)
    where = f", element {at}" if others else ""
    slot: Array = np.moveaxis(x, dim, -1)[at]
    return f"{name} of {shape} along dimension {dim}{where}", x, slot, at, dim


def _sum(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)
    return Setup(what, slot, lambda: call(x, dim=dim)[at])


def _mean(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)
    return Setup(what, slot, lambda: np.float64(call(x, dim=dim)[at]) * slot.size, exact=False)


def _cumsum(call: Callable[..., Any], options: Options, name: str) -> Setup:
    what, x, slot, at, dim = _along(options, name)
    last = (*at[:dim], slot.size - 1, *at[dim:])
    return Setup(f"{what}, the last sum", slot, lambda: call(x, dim=dim)[last])


def _softmax(call: Callable[..., Any], options: Options, name: str, log: bool = False) -> Setup:
    what, x, slot, at, dim = _along(options, name)

    def run() -> float:
        i = int(slot.argmax())  # its term is exp(0) = 1
        result = np.float64(call(x, dim=dim)[(*at[:dim], i, *at[dim:])])
        return float(np.exp(-result) if log else 1 / result)

    return Setup(f"{what}, the denominator", slot, run, exact=False, positive=True)


def _mm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    m, k, n = options.shape_or((32, options.n, 32), "M,K,N")
    a, b, at = _ones(m, k), _ones(k, n), options.element_of((m, n))
    return Setup(
        f"{name} of ({m}, {k}) and ({k}, {n}), element {at}, over k", a[at[0]], lambda: call(a, b)[at], b[:, at[1]]
    )


def _linear(call: Callable[..., Any], options: Options, name: str) -> Setup:
    rows, k, outputs = options.shape_or((32, options.n, 32), "ROWS,K,OUTPUTS")
    x, w, at = _ones(rows, k), _ones(outputs, k), options.element_of((rows, outputs))
    what = f"{name} of input ({rows}, {k}) and weight ({outputs}, {k}), element {at}, over k"
    return Setup(what, x[at[0]], lambda: call(x, w)[at], w[at[1]])


def _kernel_of(n: int) -> tuple[int, int]:
    """Channels, and height and width of a kernel with so many terms."""
    return (n // 9, 3) if n % 9 == 0 else (n, 1)


CONVOLUTION = "N,C,H,W,O,KH,KW"


def _convolution(default: Ints, options: Options) -> tuple[Array, Array, Array]:
    """Input, weight and output of a convolution without stride and padding."""
    n, c, h, w, o, kh, kw = options.shape_or(default, CONVOLUTION)
    if kh > h or kw > w:
        raise ValueError(f"[reveal] a kernel of {kh} × {kw} is larger than an image of {h} × {w}")
    return _ones(n, c, h, w), _ones(o, c, kh, kw), _ones(n, o, h - kh + 1, w - kw + 1)


def _conv2d(call: Callable[..., Any], options: Options, name: str) -> Setup:
    channels, size = _kernel_of(options.n)
    x, w, y = _convolution((1, channels, 8, 8, 8, size, size), options)
    at = options.element_of(y.shape)
    what = f"{name} of input {x.shape} and weight {w.shape}, element {at}, over channel, row, column"
    seen = x[at[0], :, at[2] : at[2] + w.shape[2], at[3] : at[3] + w.shape[3]]
    return Setup(what, w[at[1]], lambda: call(x, w)[at], seen)


def _conv2d_grad_input(call: Callable[..., Any], options: Options, name: str) -> Setup:
    channels, size = _kernel_of(options.n)
    x, w, y = _convolution((1, 8, 8, 8, channels, size, size), options)
    (height, width), (kh, kw) = x.shape[2:], w.shape[2:]
    at = options.element_of(x.shape, (0, 0, kh - 1, kw - 1))
    if not (kh <= at[2] + 1 <= height - kh + 1 and kw <= at[3] + 1 <= width - kw + 1):
        raise ValueError(
            f"[reveal] element {at} of an input {x.shape} does not lie below a whole kernel of {kh} × {kw} on all "
            f"sides: give another shape {CONVOLUTION} or element"
        )
    what = f"{name} of input {x.shape} and weight {w.shape}, element {at}, over channel, row, column"
    seen = y[at[0], :, at[2] - kh + 1 : at[2] + 1, at[3] - kw + 1 : at[3] + 1][:, ::-1, ::-1]
    return Setup(what, w[:, at[1]], lambda: call(x.shape, w, y)[at], seen)


def _conv2d_grad_kernel(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x, w, y = _convolution((1, 4, 3, options.n + 2, 4, 3, 3), options)
    at = options.element_of(w.shape)
    what = f"{name} of input {x.shape} and output {y.shape}, element {at}, over sample, row, column"
    seen = x[:, at[1], at[2] : at[2] + y.shape[2], at[3] : at[3] + y.shape[3]]
    return Setup(what, y[:, at[0]], lambda: call(x, w.shape, y)[at], seen)


def _of_channel(options: Options) -> tuple[Array, int]:
    shape = options.shape or (options.n, 4)
    if len(shape) < 2 or min(shape) < 1:
        raise ValueError(f"[reveal] shape must be N,C or N,C,…, each at least 1; got {shape}")
    return _ones(*shape), options.element_of(shape[1:2])[0]


def _batch_norm(call: Callable[..., Any], options: Options, name: str) -> Setup:
    x, channel = _of_channel(options)
    slot = x[:, channel]
    run = lambda: np.float64(call(x)[1][channel]) * slot.size  # noqa: E731
    return Setup(f"{name} of {x.shape}, the mean of channel {channel}", slot, run, exact=False)


def _batch_norm_grad(call: Callable[..., Any], options: Options, name: str) -> Setup:
    g, channel = _of_channel(options)
    x, one = np.ones_like(g), np.ones(g.shape[1], np.float32)
    what = f"{name} of {g.shape}, the gradient of the bias of channel {channel}"
    return Setup(what, g[:, channel], lambda: call(g, x, one, one)[2][channel])


Make = Callable[[Callable[..., Any], Options, str], Setup]

OURS: Mapping[str, Make] = {
    "sum": _sum,
    "mean": _mean,
    "mm": _mm,
    "linear": _linear,
    "conv2d": _conv2d,
    "conv2d_grad_input": _conv2d_grad_input,
    "conv2d_grad_kernel": _conv2d_grad_kernel,
    "softmax": _softmax,
    "log_softmax": partial(_softmax, log=True),
    "batch_norm": _batch_norm,
    "batch_norm_grad": _batch_norm_grad,
    "batch_norm_eval_grad": _batch_norm_grad,
}
TORCH: Mapping[str, Make] = {
    "torch.sum": _sum,
    "torch.mean": _mean,
    "torch.cumsum": _cumsum,
    "torch.softmax": _softmax,
    "torch.log_softmax": partial(_softmax, log=True),
    "torch.mm": _mm,
    "torch.matmul": _mm,
    "torch.nn.functional.linear": _linear,
    "torch.nn.functional.conv2d": _conv2d,
    "torch.nn.grad.conv2d_input": _conv2d_grad_input,
    "torch.nn.grad.conv2d_weight": _conv2d_grad_kernel,
}
NUMPY: Mapping[str, Make] = {
    "numpy.sum": _sum,
    "numpy.mean": _mean,
    "numpy.cumsum": _cumsum,
    "numpy.matmul": _mm,
}


def _torch_call(function: Callable[..., Any]) -> Callable[..., Array]:
    from torch import Tensor, from_numpy

    def call(*arguments: Any, **named: Any) -> Array:
        result = function(*(from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments), **named)
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
        return ValueError(f"[reveal] {op} takes no order: it sums nothing")
    why = "takes an order, but how its sum is to be read is not known here" if op in registry else "is not known"
    names = ", ".join([*OURS, *TORCH, *NUMPY])
    return ValueError(f"[reveal] {op} {why}. Known are {names}; any function of terms is package.module:function")


def setup(op: str, options: Options, order: str | None = None) -> Setup:
    """How a named op is read.

    Args:
        op: an op of `repdl.ops`, or one of the tables above by its full name.
        options: which sum.
        order: for an op of `repdl.ops`: "blocked", "sequential", or None for the current one.

    Raises:
        ValueError: for an op that is not known, and options that do not fit it.
    """
    if order is not None and op not in OURS:
        raise ValueError(f"[reveal] {op} has no order to choose: only the ops of repdl.ops do")
    if op in OURS:
        made = OURS[op](partial(registry[op], order=order), options, op)
    elif op in TORCH:
        made = TORCH[op](_torch_call(_function(op)), options, op)
    elif op in NUMPY:
        made = NUMPY[op](_numpy_call(_function(op)), options, op)
    else:
        raise _no_adapter(op)
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
        if order is not None:
            raise ValueError(f"[reveal] {op} has no order to choose: only the ops of repdl.ops do")
        if options != Options(options.n):
            raise ValueError(f"[reveal] {op} is called with n terms: no shape, dim, element or every can be chosen")
        return op, reveal(_guarded(_function(op), op), options.n, name=op)
    of = setup(op, options, order)
    return of.what, reveal(of, of.n, batched=True, signed=not of.positive, exact=of.exact, name=op)
