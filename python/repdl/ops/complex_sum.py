# SPDX-License-Identifier: MIT
"""Sums and products over dimensions of complex numbers, which are pairs in a last dimension that no `dim` counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from repdl._op import Sample, Tensor, op, rows_of, sample
from repdl.ops.complex import complex_exp, complex_log, complex_mul, conj, logaddexp
from repdl.ops.sum import zero_by_zero


@op()
def complex_sum(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, order: str | None = None
) -> Tensor:
    """Sum of complex numbers over some dimensions, or over all.

    Args:
        input: float32 or float64, (…, 2): pairs of a real and an imaginary part, as `torch.view_as_real` makes them.
        dim: a dimension or several of those but for the last; None for all.
        keepdim: leave the reduced dimensions in the result, with size 1.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        Of its type, the other dimensions of input.
    """


@op()
def complex_mean(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, order: str | None = None
) -> Tensor:
    """Mean of complex numbers over some dimensions, or over all. Arguments as for `complex_sum`."""


@op()
def complex_norm(
    input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False, order: str | None = None
) -> Tensor:
    """The norm of order 2 over some dimensions, or over all, a real number. Arguments as for `complex_sum`."""


@op()
def complex_var(
    input: Tensor,
    dim: int | tuple[int, ...] | None = None,
    correction: float = 1,
    keepdim: bool = False,
    order: str | None = None,
) -> Tensor:
    """Variance of complex numbers over some dimensions, or over all, a real number.

    Args:
        input: float32 or float64, (…, 2): pairs of a real and an imaginary part.
        dim: a dimension or several of those but for the last; None for all.
        correction: what is taken from the number of terms N.
        keepdim: leave the reduced dimensions in the result, with size 1.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        Of its type, the other dimensions of input but for the last.
    """


@op()
def complex_std(
    input: Tensor,
    dim: int | tuple[int, ...] | None = None,
    correction: float = 1,
    keepdim: bool = False,
    order: str | None = None,
) -> Tensor:
    """Standard deviation over some dimensions, or over all: the square root of `complex_var`, with its arguments."""


@op()
def complex_prod(input: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """The product of complex numbers over some dimensions, or over all. Arguments as for `complex_sum`."""


@op()
def complex_cumsum(input: Tensor, dim: int) -> Tensor:
    """The sums of the first complex numbers along a dimension, from left to right.

    Args:
        input: float32 or float64, (…, 2): pairs of a real and an imaginary part.
        dim: the dimension, of those but for the last.
    """


@op()
def complex_cumprod(input: Tensor, dim: int) -> Tensor:
    """The products of the first complex numbers along a dimension. Arguments as for `complex_cumsum`."""


@op()
def complex_logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the sums of exponentials of the first complex numbers. Arguments as for `complex_cumsum`."""


def _reduced(dims: Any, rank: int) -> list[int]:
    """The dimensions that are reduced, of `rank` without that of the parts."""
    if rank == 0 or dims is None or dims == [] or dims == ():
        return list(range(rank))
    return sorted({d % rank for d in ([dims] if isinstance(dims, int) else dims)})


def _expanded(dims: Any, shape: Any, grad: Any) -> tuple[int, Any]:
    """The number of terms, and the gradient of a result in the shape of the input; its last dimension is as it is."""
    sizes = shape[:-1]
    reduced = _reduced(dims, len(sizes))
    count = int(np.prod([sizes[d] for d in reduced], dtype=np.int64))
    with_ones = [1 if d in reduced else size for d, size in enumerate(sizes)]
    return count, grad.reshape(*with_ones, grad.shape[-1]).expand(*sizes, grad.shape[-1])


@complex_sum.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: _expanded(saved.dim, saved.input_shape, grad)[1]}


@complex_mean.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    from repdl.ops.elementwise.arithmetic import div

    count, expanded = _expanded(saved.dim, saved.input_shape, grad)
    return {"input": lambda: div(expanded, float(count))}


@complex_norm.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        factors = zero_by_zero(grad, saved.output)[..., None]
        return _expanded(saved.dim, saved.input.shape, factors)[1] * saved.input

    return {"input": grad_input}


def _distances(saved: Any) -> Any:
    return saved.input - complex_mean(saved.input, saved.dim, True, saved.order)


@complex_var.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    count, expanded = _expanded(saved.dim, saved.input.shape, grad[..., None])
    freedom = max(count - saved.correction, 0)
    return {"input": lambda: _distances(saved) * expanded * (2.0 / freedom if freedom else float("inf"))}


@complex_std.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    count, expanded = _expanded(saved.dim, saved.input.shape, zero_by_zero(grad, saved.output)[..., None])
    freedom = max(count - saved.correction, 0)
    return {"input": lambda: _distances(saved) * expanded * (1.0 / freedom if freedom else float("inf"))}


@complex_cumsum.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    dim = saved.dim % max(grad.dim() - 1, 1)
    return {"input": lambda: complex_cumsum(grad.flip(dim), dim).flip(dim) if grad.dim() > 1 else grad}


@complex_logcumsumexp.backward(saves=("input", "output"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        """The sum, from each place on, of the gradient times the conjugate of the exponential over the sum there."""
        dim = saved.dim % max(grad.dim() - 1, 1)
        if grad.dim() == 1:
            return grad
        dual = complex_logcumsumexp((complex_log(conj(grad)) - saved.output).flip(dim), dim).flip(dim)
        return conj(complex_exp(dual + saved.input))

    return {"input": grad_input}


def _ones(pairs: Any) -> Any:
    """Numbers 1 + 0i."""
    import torch

    return torch.stack((torch.ones_like(pairs[..., 0]), torch.zeros_like(pairs[..., 1])), -1)


def _before(x: Any) -> Any:
    """The products of the numbers before each, along the first dimension."""
    import torch

    return torch.cat((_ones(x[:1]), complex_cumprod(x[:-1], 0))) if len(x) > 1 else _ones(x)


@complex_prod.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        """The gradient times the conjugate of the product of all others, those before and those after."""
        x, reduced = saved.input, _reduced(saved.dim, saved.input.dim() - 1)
        moved = x.movedim(reduced, tuple(range(len(reduced))))
        lines = moved.reshape(-1, *moved.shape[len(reduced) :])
        if not len(lines):
            return x.clone()
        others = complex_mul(_before(lines), _before(lines.flip(0)).flip(0)).reshape(moved.shape)
        expanded = _expanded(saved.dim, x.shape, grad)[1]
        return complex_mul(expanded, conj(others.movedim(tuple(range(len(reduced))), reduced)))

    return {"input": grad_input}


@complex_cumprod.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def grad_input() -> Any:
        """For each place the sum, from it on, of the gradient times the conjugate of the product without its number."""
        import torch

        if saved.input.dim() == 1 or not saved.input.numel():
            return grad
        dim = saved.dim % (saved.input.dim() - 1)
        x, g = saved.input.movedim(dim, 0), grad.movedim(dim, 0)
        slopes = []
        for i in range(len(x)):
            without = torch.cat((x[:i], _ones(x[:1]), x[i + 1 :]))
            slopes.append(complex_sum(complex_mul(g[i:], conj(complex_cumprod(without, 0)[i:])), 0))
        return torch.stack(slopes).movedim(0, dim)

    return {"input": grad_input}


def _shapes() -> Iterator[dict[str, Any]]:
    for n in (0, 1, 3, 31, 32, 63, 64, 65, 200, 4095, 4096, 4097, 3 * 4096 + 5, 9 * 4096 + 70):
        yield {"input": f"normal[{n}, 2]#1"}
    yield {"input": "normal[2]#1"}
    yield {"input": "normal[300, 37, 2]#2", "dim": (0,)}
    yield {"input": "normal[9000, 3, 2]#2", "dim": (0,)}
    yield {"input": "normal[5000, 1, 2]#2", "dim": (0,)}
    yield {"input": "normal[137, 300, 2]#2", "dim": (1,), "keepdim": True}  # worth a fork
    yield {"input": "normal[5, 7, 4, 11, 2]#3", "dim": (0, 2, 3)}
    yield {"input": "normal[5, 7, 4, 11, 2]#3", "dim": (1, -1), "keepdim": True}
    for kind in ("wide", "tiny", "bits", "special"):
        yield {"input": f"{kind}[7, 100, 2]#5", "dim": (1,)}


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    """None where the first dimension is reduced, or the only one is that of the parts."""
    dims, rank = arguments["dim"], arguments["input"].ndim - 1
    dims = (dims,) if isinstance(dims, int) else dims or range(rank)
    return None if rank == 0 or 0 in {d % rank for d in dims} else rows_of("input")(arguments, rows)


def _samples() -> Iterator[Sample]:
    for arguments in _shapes():
        yield sample(**arguments)


def _spreads() -> Iterator[Sample]:
    for arguments in _shapes():
        yield sample(
            **arguments, **({"correction": 0} if arguments["input"] in ("normal[1, 2]#1", "normal[2]#1") else {})
        )
    yield sample(input="normal[30, 33, 2]#6", dim=(0,), correction=2.5)
    yield sample(input="normal[700, 3, 2]#6", dim=(1,), correction=4)


def _products() -> Iterator[Sample]:
    for n in (0, 1, 65, 4097, 20003):
        yield sample(input=f"unit[{n}, 2]#1")
    yield sample(input="normal[2]#1")
    yield sample(input="normal[300, 37, 2]#2", dim=(0,))
    yield sample(input="normal[37, 300, 2]#2", dim=(1,), keepdim=True)
    yield sample(input="uniform[5, 7, 4, 9, 2]#3", dim=(0, 2))
    yield sample(input="uniform[5, 7, 4, 9, 2]#3", dim=(1, 2))
    for kind in ("wide", "special", "zeros"):
        yield sample(input=f"{kind}[19, 30, 2]#4", dim=(1,))
        yield sample(input=f"{kind}[70, 3, 2]#4", dim=(-1,))


def _lines() -> Iterator[Sample]:
    yield sample(input="normal[101, 2]#1", dim=0)  # of more the products leave the range of float32
    yield sample(input="normal[37, 65, 2]#2", dim=1)
    yield sample(input="normal[65, 37, 2]#2", dim=0)
    yield sample(input="normal[150, 130, 2]#3", dim=-1)
    yield sample(input="normal[4, 30, 3, 2]#4", dim=1)
    yield sample(input="normal[2]#5", dim=-1)
    yield sample(input="normal[3, 0, 2]#5", dim=1)
    for kind in ("wide", "special", "zeros"):
        yield sample(input=f"{kind}[19, 40, 2]#6", dim=1)


def _lines_of_logs() -> Iterator[Sample]:
    yield from _lines()
    yield sample(input="normal[1000, 2]#7", dim=0)
    yield sample(input="normal[90, 100, 2]#7", dim=0)  # worth a fork
    for kind in ("infinite", "bits", "tiny"):
        yield sample(input=f"{kind}[19, 40, 2]#8", dim=0)


for _op, _samples_of in (
    (complex_sum, _samples),
    (complex_mean, _samples),
    (complex_norm, _samples),
    (complex_var, _spreads),
    (complex_std, _spreads),
    (complex_prod, _products),
    (complex_cumsum, _lines),
    (complex_cumprod, _lines),
    (complex_logcumsumexp, _lines_of_logs),
):
    _op.samples(_samples_of)
    _op.rows(_rows)


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def oracle(input: Any, dim: Any = None, **named: Any) -> Any:
        numbers = input[..., 0] + 1j * input[..., 1]
        axis = dim if dim is None or isinstance(dim, int) else tuple(dim)
        result = np.asarray(function(numbers, axis, **named))
        return np.stack([result.real, result.imag], -1) if np.iscomplexobj(result) else result

    return oracle


def _variance(z: Any, axis: Any, correction: float = 1, keepdim: bool = False) -> Any:
    count = z.size // max(np.sum(z, axis=axis).size, 1)
    away = z - np.mean(z, axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sum(np.abs(away) ** 2, axis=axis, keepdims=keepdim) / np.float64(max(count - correction, 0))


def _added_in_turn(z: Any, axis: int) -> Any:
    lines = np.moveaxis(z, axis, 0)
    totals: list[Any] = []
    with np.errstate(all="ignore"):
        for i, line in enumerate(lines):
            total = logaddexp(totals[-1], line) if i else line
            totals.append(total)
    return np.moveaxis(np.array(totals).reshape(lines.shape), 0, axis)


complex_sum.oracle(_of_numpy(lambda z, axis, keepdim=False: np.sum(z, axis, keepdims=keepdim)))
complex_mean.oracle(_of_numpy(lambda z, axis, keepdim=False: np.mean(z, axis, keepdims=keepdim)))
complex_norm.oracle(_of_numpy(lambda z, axis, keepdim=False: np.sqrt(np.sum(np.abs(z) ** 2, axis, keepdims=keepdim))))
complex_var.oracle(_of_numpy(_variance))
complex_std.oracle(_of_numpy(lambda z, axis, **named: np.sqrt(_variance(z, axis, **named))))
complex_prod.oracle(_of_numpy(lambda z, axis, keepdim=False: np.prod(z, axis, keepdims=keepdim)))
complex_cumsum.oracle(_of_numpy(lambda z, axis: np.cumsum(z, axis) if z.ndim else z))
complex_cumprod.oracle(_of_numpy(lambda z, axis: np.cumprod(z, axis) if z.ndim else z))
complex_logcumsumexp.oracle(_of_numpy(lambda z, axis: _added_in_turn(z, axis) if z.ndim else z))
