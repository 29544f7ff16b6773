# SPDX-License-Identifier: MIT
"""Sums, means, variances and norms, in the order of the sum rule."""

from __future__ import annotations

import builtins
import math
from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core as _core
from repdl.interception.native import LOW_DTYPES, Kernel, native_of, overload, wide
from repdl.interception.ops_by_dtype import Ops, ops_of
from repdl.interception.override import override
from repdl.interception.places import warn
from repdl.interception.variants import check_out_type


def _dims(self: torch.Tensor, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce, which are all for None and for an empty list."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(self.dim()))
    return tuple(checked_dim(self, d) for d in ((dim,) if isinstance(dim, int) else dim))


def checked_dim(self: torch.Tensor, dim: int) -> int:
    rank = max(self.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim


def _cast(self: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    return self if dtype is None or dtype == self.dtype else self.to(dtype)


def sum_of(self: torch.Tensor, dim: Any = None, keepdim: bool = False, ops: Ops = _core.ops) -> torch.Tensor:
    average = () if self.is_complex() else (False,)
    return ops["sum"](self, _dims(self, dim), keepdim, *average, get_order())


def mean_of(self: torch.Tensor, dim: Any = None, keepdim: bool = False, ops: Ops = _core.ops) -> torch.Tensor:
    return ops["mean"](self, _dims(self, dim), keepdim, get_order())


def _typed(name: str, compute: Kernel, takes_low: bool = False) -> Kernel:
    """A reduction that takes a dtype, to which its operand is converted first. `takes_low`: whether `compute` widens
    numbers of 16 bits by itself."""

    def kernel(
        self: torch.Tensor, *args: Any, dtype: torch.dtype | None = None, ops: Ops = _core.ops, **kwargs: Any
    ) -> torch.Tensor:
        x = _cast(self, dtype)
        is_low = x.dtype in LOW_DTYPES
        if x.dtype == torch.float32 or (is_low and takes_low):
            return compute(x, *args, **kwargs)
        if x.dtype == self.dtype and (x.dtype == torch.float64 or x.is_complex()):
            return compute(x, *args, ops=ops, **kwargs)
        if is_low:
            return compute(x.to(torch.float32), *args, **kwargs).to(x.dtype)
        return overload(name)(x, *args, dtype=x.dtype, **kwargs)  # once more, now by the type that it shall have

    return kernel


def _in_type_of_out(
    out: torch.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As torch, which takes the type of the given tensor for `dtype`."""
    if (dtype := kwargs.get("dtype")) is not None:
        check_out_type(dtype, out)
    return args, kwargs | {"dtype": out}


def _mean_in_type_of_out(
    out: torch.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Likewise; but in 16 bits a mean is rounded once, and torch asks for the type of a mean of integers."""
    given = kwargs.get("dtype") is not None
    if not given and not (args[0].is_floating_point() or args[0].is_complex()):
        return args, kwargs
    return _in_type_of_out(out if given else wide(out), args, kwargs)


_WIDE: dict[str, Any] = {"wide": "float64", "complex": True}
_TYPED: dict[str, Any] = {"low": "compute", "integers": "dtype", **_WIDE}

override("sum", op="sum", pairs="complex_sum", converts=False, **_TYPED)(_typed("sum", sum_of, takes_low=True))
override("sum.dim_IntList", op="sum", pairs="complex_sum", for_out=_in_type_of_out, **_TYPED)(
    _typed("sum.dim_IntList", sum_of, takes_low=True)
)
for _name in ("mean", "mean.dim"):
    override(_name, op="mean", pairs="complex_mean", for_out=_mean_in_type_of_out, **_TYPED)(
        _typed(_name, mean_of, takes_low=True)
    )


def _as_precise_as_out(
    out: torch.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As torch, which computes in the type of the given tensor: in a wider one nothing was rounded before."""
    self, *others = args
    if all(dtype.is_floating_point or dtype.is_complex for dtype in (self.dtype, out)):
        self = self.to(torch.promote_types(self.dtype, out.to_real()))
    return (self, *others), kwargs


def _spread(op: str) -> None:
    """The variance or the standard deviation; and it together with the mean."""

    def spread_of(self: torch.Tensor, dim: Any, correction: Any, keepdim: bool, ops: Ops, name: str) -> torch.Tensor:
        correction = 1 if correction is None else correction
        result = ops[op](self, _dims(self, dim), correction, keepdim, get_order())
        terms = self.numel() // result.numel() if result.numel() else 0
        if terms <= correction:
            warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                "(input numel divided by output numel).",
                UserWarning,
                "torch",
            )
        return result

    @override(
        f"{op}.correction",
        op=op,
        pairs=f"complex_{op}",
        to_real=True,
        below_terms="correction",
        for_out=_as_precise_as_out,
        **_WIDE,
    )
    def spread(
        self: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False, ops: Ops = _core.ops
    ) -> torch.Tensor:
        return spread_of(self, dim, correction, keepdim, ops, op)

    @override(f"{op}_mean.correction", wide="float64", complex=True)
    def spread_and_mean(
        self: torch.Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False, ops: Ops = _core.ops
    ) -> tuple[torch.Tensor, torch.Tensor]:
        spread_out = spread_of(self, dim, correction, keepdim, ops, f"{op}_mean")
        return spread_out, mean_of(self, dim, keepdim, ops)


_spread("var")
_spread("std")


def _check_extreme(self: torch.Tensor, ord: Any, dim: Any) -> None:
    """torch's error for a norm that nothing has."""
    for_none = f"linalg.vector_norm cannot compute the {ord} norm on"
    if dim is None or dim == []:
        raise RuntimeError(f"{for_none} an empty tensor because the operation does not have an identity")
    for d in [dim] if isinstance(dim, int) else dim:
        if self.shape[d] == 0:
            raise RuntimeError(
                f"{for_none} the dimension {d} because this dimension is empty and the operation does not have an "
                "identity"
            )


def vector_norm(
    self: torch.Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, ops: Ops = _core.ops
) -> torch.Tensor:
    dims = _dims(self, dim)
    if ord == 2:
        return ops["norm"](self, dims, keepdim, get_order())
    if self.numel() == 0 and (ord < 0 or ord == float("inf")):
        _check_extreme(self, ord, dim)
    size = self.abs()
    ops = ops_of(size)
    if ord == 1:
        return sum_of(size, dims, keepdim, ops)
    if ord == float("inf"):
        return size.amax(dims, keepdim)
    if ord == -float("inf"):
        return size.amin(dims, keepdim)
    if ord == 0:
        return sum_of((self != 0).to(size.dtype), dims, keepdim, ops)
    exponents = (torch.full((), value, dtype=size.dtype) for value in (ord, 1 / ord))
    inner, outer = exponents
    return ops["pow"](sum_of(ops["pow"](size, inner), dims, keepdim, ops), outer)


_EUCLIDEAN: dict[str, Any] = {
    "op": "norm",
    "pairs": "complex_norm",
    "to_real": True,
    "wide": "float64",
    "complex": True,
    "constants": {1: 2},
}

_typed_norm, _native_norm = _typed("linalg_vector_norm", vector_norm), native_of("linalg_vector_norm")


@override("linalg_vector_norm", low="compute", converts=False, **_EUCLIDEAN)
def linalg_vector_norm(
    self: torch.Tensor, *args: Any, dtype: torch.dtype | None = None, ops: Ops = _core.ops, **kwargs: Any
) -> torch.Tensor:
    is_wide_enough = dtype is None or torch.promote_types(self.dtype, dtype) == dtype
    if not is_wide_enough or (dtype is not None and dtype.is_complex != self.is_complex()):
        return _native_norm(self, *args, dtype=dtype, **kwargs)  # torch's error
    return _typed_norm(self, *args, dtype=dtype, ops=ops, **kwargs)


@override("norm.Scalar", **_EUCLIDEAN)
def norm_scalar(self: torch.Tensor, p: Any = 2, *, ops: Ops = _core.ops) -> torch.Tensor:
    return vector_norm(self, p, ops=ops)


@override("norm.ScalarOpt_dim", **_EUCLIDEAN)
def norm_scalaropt_dim(
    self: torch.Tensor, p: Any, dim: Any, keepdim: bool = False, *, ops: Ops = _core.ops
) -> torch.Tensor:
    return vector_norm(self, 2 if p is None else p, dim, keepdim, ops)


@override("nansum", low="compute", wide="compute", integers="dtype", for_out=_in_type_of_out)
def nansum(
    self: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    return torch.sum(self.nan_to_num(0.0, float("inf"), -float("inf")), _dims(self, dim), keepdim, dtype=dtype)


def prod_of(self: torch.Tensor, dim: Any = None, keepdim: bool = False, ops: Ops = _core.ops) -> torch.Tensor:
    return ops["prod"](self, _dims(self, dim), keepdim)


override("prod", op="prod", pairs="complex_prod", converts=False, **_TYPED)(_typed("prod", prod_of))
override("prod.dim_int", op="prod", pairs="complex_prod", for_out=_in_type_of_out, **_TYPED)(
    _typed("prod.dim_int", prod_of)
)


def _logsumexp_of_complex(self: torch.Tensor, dims: tuple[int, ...], keepdim: bool, ops: Ops) -> torch.Tensor:
    """In complex128 and rounded once. The largest real part, unless it is infinite, is taken out first."""
    x = self.to(torch.complex128)
    if not x.numel():
        return ops["log"](sum_of(x, dims, keepdim, ops)).to(self.dtype)
    largest = x.real.amax(dims, True)
    largest = largest.masked_fill(largest.abs() == math.inf, 0.0).to(x.dtype)
    terms = ops["exp"](ops["sub"](x, largest)).masked_fill(x.real == -math.inf, 0.0)
    result = ops["add"](ops["log"](sum_of(terms, dims, True, ops)), largest)
    return (result if keepdim else result.squeeze(dims)).to(self.dtype)


@override("logsumexp", op="logsumexp", integers="float32", for_out=_as_precise_as_out, **_WIDE)
def logsumexp(self: torch.Tensor, dim: Any, keepdim: bool = False, *, ops: Ops = _core.ops) -> torch.Tensor:
    dims = _dims(self, dim)
    if self.is_complex():
        return _logsumexp_of_complex(self, dims, keepdim, ops)
    return ops["logsumexp"](self, dims, keepdim, get_order())


@override("trace", wide="float64", complex=True)
def trace(self: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    if self.dim() != 2:
        raise RuntimeError("trace: expected a matrix")
    return sum_of(self.diagonal(), ops=ops)


@override("_logcumsumexp", op="logcumsumexp", pairs="complex_logcumsumexp", wide="float64", complex=True)
def logcumsumexp(self: torch.Tensor, dim: int, *, ops: Ops = _core.ops) -> torch.Tensor:
    return ops["logcumsumexp"](self, checked_dim(self, dim))


def _check_bins(op: str, bins: int) -> None:
    if bins <= 0:
        raise RuntimeError(f"[{op}] bins must be > 0, but got {bins}; ask for one or more")


@override("histc", wide="float64", converts=False)
def histc(self: torch.Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> torch.Tensor:
    """How many lie in each bin: at its lower edge or above, and below the upper one; the last bin has both edges."""
    _check_bins("histc", bins)
    low, high = float(min), float(max)
    if low == high and self.numel():
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (-math.inf < low <= high < math.inf):
        raise RuntimeError(f"[histc] the range [{low}, {high}] must be finite and ascend; give min and max")
    edges = torch.linspace(low, high, bins + 1, dtype=self.dtype)
    return _core.ops["histogram"](self.reshape(-1), edges, None)


def _has_other_weights(self: torch.Tensor, *bins: Any, weight: torch.Tensor | None = None, **others: Any) -> bool:
    return weight is not None and weight.dtype != self.dtype


_COUNTED: dict[str, Any] = {"wide": "float64", "refused": _has_other_weights}


def _counted(
    x: torch.Tensor, edges: torch.Tensor, weight: torch.Tensor | None, density: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight between each two edges, as `histc` counts."""
    counts = _core.ops["histogram"](x.reshape(-1), edges, None if weight is None else weight.reshape(-1))
    if density:
        widths = _core.ops["mul"](edges.diff(), sum_of(counts, ops=_core.ops))
        counts = _core.ops["div"](counts, widths)
    return counts, edges


@override("histogram.bins_tensor", **_COUNTED)
def histogram_bins_tensor(
    self: torch.Tensor, bins: torch.Tensor, *, weight: torch.Tensor | None = None, density: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    return _counted(self, bins, weight, density)


@override("histogram.bin_ct", **_COUNTED)
def histogram_bin_ct(
    self: torch.Tensor,
    bins: int = 100,
    *,
    range: Any = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    _check_bins("histogram", bins)
    if range is not None:
        low, high = range
    else:
        low, high = (float(self.min()), float(self.max())) if self.numel() else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    if not (-math.inf < low <= high < math.inf):
        raise RuntimeError(f"[histogram] the range [{low}, {high}] must be finite and ascend")
    return _counted(self, torch.linspace(low, high, bins + 1, dtype=self.dtype), weight, density)


def _outer_edges(x: torch.Tensor, range: Any) -> list[tuple[float, float]]:
    """Of each column, where the first bin begins and the last one ends."""
    columns = x.shape[-1]
    if range is not None:
        if len(range) != 2 * columns:
            raise RuntimeError(f"[histogramdd] range needs {2 * columns} numbers, got {len(range)}")
        ends = [(float(a), float(b)) for a, b in zip(range[::2], range[1::2], strict=True)]
    elif x.numel():
        low, high = x.reshape(-1, columns).aminmax(dim=0)
        ends = list(zip(low.tolist(), high.tolist(), strict=True))
    else:
        ends = [(0.0, 1.0)] * columns
    ends = [(a - 0.5, b + 0.5) if a == b else (a, b) for a, b in ends]
    for low_end, high_end in ends:
        if not (-math.inf < low_end <= high_end < math.inf):
            raise RuntimeError(f"[histogramdd] the range [{low_end}, {high_end}] must be finite and ascend")
    return ends


@override("_histogramdd_bin_edges", wide="compute")
def histogramdd_bin_edges(
    self: torch.Tensor, bins: list[int], *, range: Any = None, weight: torch.Tensor | None = None, density: bool = False
) -> list[torch.Tensor]:
    if self.dim() < 2 or len(bins) != self.shape[-1]:
        raise RuntimeError(f"[histogramdd] bins needs one number for each column, got {bins} for {list(self.shape)}")
    ends = _outer_edges(self, range)
    return [torch.linspace(*end, count + 1, dtype=self.dtype) for end, count in zip(ends, bins, strict=True)]


@override("_histogramdd_from_bin_tensors", **_COUNTED)
def histogramdd_from_bin_tensors(
    self: torch.Tensor, bins: list[torch.Tensor], *, weight: torch.Tensor | None = None, density: bool = False
) -> torch.Tensor:
    """The weight in each bin, added in the order of the rows; a density is that over the sum and the widths."""
    if self.dim() < 2 or len(bins) != self.shape[-1]:
        raise RuntimeError(f"[histogramdd] needs edges for each of the {self.shape[-1]} columns, got {len(bins)}")
    rows = self.reshape(self.shape[:-1].numel(), self.shape[-1])
    place = torch.zeros(rows.shape[0], dtype=torch.int64)
    inside = torch.ones(rows.shape[0], dtype=torch.bool)
    for column, edges in zip(rows.mT.contiguous().unbind(0), bins, strict=True):
        inside = inside & (column >= edges[0]) & (column <= edges[-1])
        count = edges.numel() - 1
        place = place * count + (torch.bucketize(column, edges, right=True) - 1).clamp(0, count - 1)
    each = torch.ones_like(rows[:, 0]) if weight is None else weight.reshape(-1)
    shape = [edges.numel() - 1 for edges in bins]
    counts = rows.new_zeros(math.prod(shape)).index_add_(0, place[inside], each[inside]).reshape(shape)
    if density:
        counts = _core.ops["div"](counts, sum_of(counts, ops=_core.ops))
        for d, edges in enumerate(bins):
            widths = edges.diff().reshape([-1 if i == d else 1 for i in builtins.range(len(shape))])
            counts = _core.ops["div"](counts, widths)
    return counts


@override("_histogramdd_from_bin_cts", **_COUNTED)
def histogramdd_from_bin_counts(
    self: torch.Tensor, bins: list[int], *, range: Any = None, weight: torch.Tensor | None = None, density: bool = False
) -> torch.Tensor:
    edges = histogramdd_bin_edges(self, bins, range=range)
    return histogramdd_from_bin_tensors(self, edges, weight=weight, density=density)
