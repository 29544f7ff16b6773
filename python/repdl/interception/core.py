# SPDX-License-Identifier: MIT
"""The ops of the core, for tensors of any number of dimensions.

A view of the core has eight. What has more is brought to fewer first: a result depends on the order of the elements
that meet in it alone, so reduced dimensions become one, as do those that are not told apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from repdl import _core
from repdl.interception.dtypes import map_tensors

RANKS = 8
_Kernel = Callable[..., Any]


def _flat(x: torch.Tensor | None) -> torch.Tensor | None:
    return None if x is None else x.reshape(-1)


_PAIRED = frozenset(op for name, op in _core.ops.items() if name.startswith("complex_"))
"""Ops of complex numbers, which are pairs in a last dimension that stays where it is."""


def _of_elements(op: _Kernel, *args: Any) -> Any:
    shape = torch.broadcast_shapes(*(a.shape for a in args if isinstance(a, torch.Tensor)))
    rows = (-1, 2) if op in _PAIRED else (-1,)
    result = op(*(a.expand(shape).reshape(rows) if isinstance(a, torch.Tensor) else a for a in args))
    return map_tensors(lambda t: t.reshape(shape if t.dim() == len(rows) else shape[:-1]), result)


def _of_sums(op: _Kernel, x: torch.Tensor, dims: Any = None, *args: Any) -> torch.Tensor:
    """Of `sum` and its like: the reduced dimensions become the last one. `keepdim` follows the correction, if any."""
    at = 1 if op in _CORRECTED else 0
    shape, parts = (x.shape[:-1], x.shape[-1:]) if op in _PAIRED else (x.shape, ())
    rank = len(shape)
    given = (dims,) if isinstance(dims, int) else dims or range(rank)
    reduced = sorted(d % rank for d in given)
    kept = [d for d in range(rank) if d not in reduced]
    sizes = (math.prod(shape[d] for d in dims) for dims in (kept, reduced))
    rows = x.permute(*kept, *reduced, *range(rank, x.dim())).reshape(*sizes, *parts)
    keepdim = len(args) > at and args[at]
    result = op(rows, (1,), *(False if i == at else a for i, a in enumerate(args)))
    left = [1 if d in reduced else n for d, n in enumerate(shape) if keepdim or d in kept]
    return result.reshape([*left, *result.shape[1:]])  # type: ignore[no-any-return]


_CORRECTED = tuple(_core.ops[name] for name in ("var", "std", "complex_var", "complex_std"))


def _of_lines(op: _Kernel, *args: Any) -> torch.Tensor:
    """Of softmax and its like, along one dimension: (before, along, after)."""
    *tensors, dim, order = args
    shape, dim = tensors[0].shape, dim % tensors[0].dim()
    before = math.prod(shape[:dim])
    lines = (t.reshape(before, shape[dim], math.prod(shape[dim + 1 :])) for t in tensors)
    return op(*lines, 1, order).reshape(shape)  # type: ignore[no-any-return]


def _along(op: _Kernel, x: torch.Tensor, dim: int) -> torch.Tensor:
    """Of cumsum and its like: (before, along, after)."""
    shape, parts = (x.shape[:-1], x.shape[-1:]) if op in _PAIRED else (x.shape, ())
    dim %= len(shape)
    lines = x.reshape(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]), *parts)
    return op(lines, 1).reshape(x.shape)  # type: ignore[no-any-return]


def _by_index(op: _Kernel, x: torch.Tensor, dim: int, *args: Any) -> torch.Tensor:
    """Of sums and reductions by index: (before, along, after). An index of places in one line stays as it is."""
    rank = x.dim()
    dim %= rank

    def lines(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dim() != rank:
            return value
        return value.reshape(math.prod(value.shape[:dim]), value.shape[dim], math.prod(value.shape[dim + 1 :]))

    return op(lines(x), 1, *map(lines, args)).reshape(x.shape)  # type: ignore[no-any-return]


def _of_segments(op: _Kernel, *args: Any) -> torch.Tensor:
    """Of segment_reduce and its gradient: (before, along, after), and the lengths of the segments before each."""
    *tensors, lengths, reduce, initial, dim = args
    before, behind = tensors[-1].shape[:dim], tensors[-1].shape[dim + 1 :]
    lines = (t.reshape(math.prod(before), t.shape[dim], math.prod(behind)) for t in tensors)
    result = op(*lines, lengths.reshape(math.prod(before), lengths.shape[dim]), reduce, initial, 1)
    return result.reshape(*before, result.shape[1], *behind)  # type: ignore[no-any-return]


def _of_indices(op: _Kernel, grad: torch.Tensor, indices: torch.Tensor, *args: Any) -> torch.Tensor:
    """Of embedding_grad, with the indices in one line."""
    return op(grad.reshape(indices.numel(), grad.shape[-1]), indices.reshape(-1), *args)  # type: ignore[no-any-return]


def _of_halves(op: _Kernel, *args: Any) -> torch.Tensor:
    """Of glu, and its gradient: (before, along, after)."""
    *tensors, dim = args if isinstance(args[-1], int) else (*args, -1)
    shape, dim = tensors[-1].shape, dim % tensors[-1].dim()
    lines = (t.reshape(math.prod(shape[:dim]), t.shape[dim], math.prod(shape[dim + 1 :])) for t in tensors)
    result = op(*lines, 1)
    return result.reshape(*shape[:dim], result.shape[1], *shape[dim + 1 :])  # type: ignore[no-any-return]


def _of_choices(op: _Kernel, x: torch.Tensor, *args: Any) -> tuple[torch.Tensor, ...]:
    """Of sort and its like: (before, along, after). `k`, if any, stands before the dimension."""
    at = 1 if op in _WITH_COUNT else 0
    dim = (args[at] if len(args) > at else -1) % x.dim()
    before, behind = x.shape[:dim], x.shape[dim + 1 :]
    results = op(x.reshape(math.prod(before), x.shape[dim], math.prod(behind)), *args[:at], 1, *args[at + 1 :])
    return tuple(t.reshape(*before, *t.shape[1:-1], *behind) for t in results)


_WITH_COUNT = (_core.ops["topk"], _core.ops["kthvalue"])


def _of_rows(op: _Kernel, x: torch.Tensor, shape: Any, *args: Any) -> tuple[torch.Tensor, ...]:
    """Of layer_norm and rms_norm: (rows, one)."""
    results = op(_rows(x, shape), (math.prod(shape),), *map(_flattened, args))
    return results[0].reshape(x.shape), *(t.reshape(_statistics(x, shape)) for t in results[1:])


def _of_rows_backward(
    op: _Kernel, grad: torch.Tensor, x: torch.Tensor, shape: Any, *args: Any
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    *statistics, weight, order = args
    columns = (t.reshape(-1, 1) for t in statistics)
    results = op(_rows(grad, shape), _rows(x, shape), (math.prod(shape),), *columns, _flat(weight), order)
    if isinstance(results, torch.Tensor):
        return results.reshape(x.shape)
    return results[0].reshape(x.shape), *(t.reshape(tuple(shape)) for t in results[1:])


def _flattened(value: Any) -> Any:
    return value.reshape(-1) if isinstance(value, torch.Tensor) else value


def _rows(x: torch.Tensor, shape: Any) -> torch.Tensor:
    return x.reshape(math.prod(x.shape[: x.dim() - len(shape)]), math.prod(shape))


def _statistics(x: torch.Tensor, shape: Any) -> list[int]:
    return [n if d < x.dim() - len(shape) else 1 for d, n in enumerate(x.shape)]


def _of_channels(op: _Kernel, *args: Any) -> Any:
    """Of group_norm, batch_norm and what takes (sample, channel, places): the places become one dimension."""
    shape = next(a.shape for a in args if isinstance(a, torch.Tensor) and a.dim() > RANKS)
    places = (*shape[:2], math.prod(shape[2:]))
    results = op(*(a.reshape(places) if isinstance(a, torch.Tensor) and a.shape == shape else a for a in args))
    if isinstance(results, torch.Tensor):
        return results.reshape(shape)
    return results[0].reshape(shape), *results[1:]


def _of_channels_alone(op: _Kernel, x: torch.Tensor, *args: Any) -> Any:
    """Of batch_norm_stats, whose results have a number for each channel."""
    return op(x.reshape(*x.shape[:2], math.prod(x.shape[2:])), *args)


def _of_weights(op: _Kernel, *args: Any) -> tuple[torch.Tensor, ...]:
    """Of weight_norm and its gradient: a matrix, of which the first or the last dimension is left."""
    *tensors, dim, order = args
    v, g = tensors if len(tensors) == 2 else tensors[1:3]
    first = dim % v.dim() == 0

    def matrix(t: torch.Tensor) -> torch.Tensor:
        return t.reshape(len(t), math.prod(t.shape[1:])) if first else t.reshape(math.prod(t.shape[:-1]), t.shape[-1])

    of_v, of_g = op(*map(matrix, tensors), 0 if first else 1, order)
    return of_v.reshape(v.shape), of_g.reshape(g.shape)


def _of_matrices(op: _Kernel, a: torch.Tensor, b: torch.Tensor, *args: Any) -> torch.Tensor:
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    rows = (x.expand(*batch, *x.shape[-2:]).reshape(math.prod(batch), *x.shape[-2:]) for x in (a, b))
    result = op(*rows, *args)
    return result.reshape(*batch, *result.shape[-2:])  # type: ignore[no-any-return]


def _of_systems(op: _Kernel, *args: Any, matrix: int = 2) -> Any:
    """Of what takes a batch of matrices, with vectors or other matrices beside each."""
    batch = args[0].shape[:-matrix]
    flat = (a.reshape(math.prod(batch), *a.shape[len(batch) :]) if isinstance(a, torch.Tensor) else a for a in args)
    results = op(*flat)
    if isinstance(results, torch.Tensor):
        return results.reshape(*batch, *results.shape[1:])
    return tuple(r.reshape(*batch, *r.shape[1:]) for r in results)


_of_pair_systems = partial(_of_systems, matrix=3)
"""The same of matrices of pairs."""


_WAYS: dict[str, _Kernel] = {
    **dict.fromkeys(("sum", "mean", "norm", "prod", "var", "std", "amax", "amin", "logsumexp"), _of_sums),
    **dict.fromkeys([f"complex_{name}" for name in ("sum", "mean", "norm", "prod", "var", "std")], _of_sums),
    **dict.fromkeys(("cumsum", "cumprod", "logcumsumexp"), _along),
    **dict.fromkeys(("complex_cumsum", "complex_cumprod", "complex_logcumsumexp"), _along),
    **dict.fromkeys(("sort", "topk", "kthvalue", "median", "nanmedian", "mode"), _of_choices),
    **dict.fromkeys(("softmax", "log_softmax", "softmax_grad", "log_softmax_grad"), _of_lines),
    **dict.fromkeys(("glu", "glu_grad"), _of_halves),
    **dict.fromkeys(("layer_norm", "rms_norm"), _of_rows),
    **dict.fromkeys(
        ("layer_norm_grad", "layer_norm_grad_input", "rms_norm_grad", "rms_norm_grad_input"), _of_rows_backward
    ),
    **dict.fromkeys(("group_norm", "group_norm_grad", "group_norm_grad_input"), _of_channels),
    **dict.fromkeys(("batch_norm", "batch_norm_grad", "batch_norm_eval", "batch_norm_eval_grad"), _of_channels),
    "batch_norm_stats": _of_channels_alone,
    "mm": _of_matrices,
    **dict.fromkeys(("index_add", "scatter_add", "index_reduce", "scatter_reduce"), _by_index),
    **dict.fromkeys(("segment_reduce", "segment_reduce_grad"), _of_segments),
    "embedding_grad": _of_indices,
    **dict.fromkeys(("weight_norm", "weight_norm_grad"), _of_weights),
    **dict.fromkeys(
        (
            "cdist",
            "cdist_grad",
            "cholesky",
            "cholesky_solve",
            "det",
            "eig",
            "eigh",
            "eigvals",
            "eigvalsh",
            "geqrf",
            "householder",
            "inv",
            "ldl",
            "ldl_solve",
            "lstsq",
            "lu",
            "lu_solve",
            "orgqr",
            "qr",
            "matrix_exp",
            "slogdet",
            "solve",
            "solve_triangular",
            "svd",
            "svdvals",
        ),
        _of_systems,
    ),
    **dict.fromkeys(
        (
            "complex_cholesky",
            "complex_cholesky_solve",
            "complex_det",
            "complex_eig",
            "complex_eigh",
            "complex_eigvals",
            "complex_eigvalsh",
            "complex_geqrf",
            "complex_householder",
            "complex_inv",
            "complex_ldl",
            "complex_ldl_solve",
            "complex_lstsq",
            "complex_lu",
            "complex_lu_solve",
            "complex_orgqr",
            "complex_qr",
            "complex_slogdet",
            "complex_solve",
            "complex_solve_triangular",
            "complex_svd",
            "complex_svdvals",
        ),
        _of_pair_systems,
    ),
}
"""How the ops that are not elementwise come to few dimensions."""


def _of_any_rank(name: str, op: _Kernel) -> _Kernel:
    way: _Kernel = _WAYS.get(name, _of_elements)

    def of_any_rank(*args: Any) -> Any:
        try:
            return op(*args)
        except ValueError:
            if not any(isinstance(a, torch.Tensor) and a.dim() > RANKS for a in args):
                raise
        return way(op, *args)

    of_any_rank.__name__ = name
    return of_any_rank


ops: Mapping[str, _Kernel] = {name: _of_any_rank(name, op) for name, op in _core.ops.items()}
