# SPDX-License-Identifier: MIT
"""Tells a wrong result: against the same call of stock torch in float64, and against mpmath."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from repdl.conformance.torch_sweep.hostile import KINDS
from repdl.conformance.torch_sweep.samples import ORDER_IS_FREE, Sample

WIDER = {
    torch.float32: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float16: torch.float64,
    torch.complex64: torch.complex128,
}

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)

NO_PLACE_OF_INFINITY = (
    "fft.", "stft", "istft", "nn.functional.interpolate", "nn.functional.upsample", "_upsample",
    "nn.functional.scaled_dot_product", "addcmul", "nn.functional.conv", "nn.Conv", "nn.LazyConv", "native_layer_norm",
    "native_group_norm", "nn.functional.rms_norm", "nn.RMSNorm",
    "nn.functional.embedding_bag", "grid_sampler", "nn.functional.grid_sample", "nn.Bilinear", "nn.BatchNorm",
    "nn.GroupNorm", "nn.InstanceNorm", "nn.LayerNorm", "nn.functional.batch_norm", "nn.functional.group_norm",
    "nn.functional.instance_norm", "nn.functional.layer_norm", "polar", "special.chebyshev",
    "special.shifted_chebyshev", "special.hermite", "special.laguerre", "special.legendre", "dist",
    "nn.functional.bilinear",
)  # fmt: skip
"""Names of ops begin so that multiply by 0 in some algorithms and not in others, which makes NaN of an infinity.

embedding_bag, Bilinear, norms: sums that overflow on the way in one order, or in float32, and not in another. dist:
of a complex number with an infinite part and a NaN.
grid_sample: NaN places have NaN here, and 0 in torch where elements are the nearest or of a volume. addcmul: a product
that overflows, beside the other infinity, is NaN here and not where torch fuses both. conv, attention: what lies out
of the image or is masked is absent here, and times 0 in torch. Polynomials: of NaN torch returns what it never set."""

ORDER_OVERFLOWS = (
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "inner", "matmul", "mm", "mv", "vdot", "nn.Linear",
    "nn.functional.linear", "nn.LSTM", "nn.GRU", "nn.RNN",
)  # fmt: skip
"""Names of ops begin so whose sums of float64 overflow in one order and not in another; nothing wider tells which."""

GRADIENT_CANCELS = (
    "corrcoef", "logcumsumexp", "nn.functional.ctc_loss", "nn.CTCLoss", "nn.functional.group_norm", "nn.GroupNorm",
    "nn.functional.layer_norm", "nn.LayerNorm", "native_layer_norm", "native_group_norm",
    "nn.functional.cross_entropy", "nn.CrossEntropy", "nn.functional.rms_norm", "nn.RMSNorm",
)  # fmt: skip
"""Names of ops begin so in whose gradient large terms cancel, so that that of float64, with nothing wider to compare it
with, may differ from stock's in many digits."""

LOSE_THE_SIDE = ("acosh",)
"""Names of ops in whose gradient stock takes complex numbers below a branch cut, x - 0i, for those above it, x + 0i."""

LIMIT_FOR_NAN = (
    "nn.functional.silu", "nn.functional.mish", "nn.functional.gelu", "nn.functional.softsign",
    "nn.SiLU", "nn.Mish", "nn.GELU", "nn.Softsign", "i0", "i1", "special.i0", "special.i1",
    "polygamma", "special.polygamma", "nn.functional.soft_margin", "nn.SoftMargin", "special.modified_bessel",
    "special.zeta",
)  # fmt: skip
"""Names of ops begin so that have the limit at an infinity, by docs/arithmetic.md, where torch's steps give NaN.

soft_margin: or a number, where torch's exp overflows."""

CHOOSE_AMONG_EQUALS = (
    "kthvalue",
    "median",
    "masked.median",
    "nanmedian",
    "quantile",
    "nanquantile",
    "mode",
    "sort",
    "topk",
    "msort",
)
MANY_EQUALS = ("zeros", "ties", "special", "sizes")
"""Names of ops begin so whose gradient goes to one of equal numbers, here the first; and ends of labels."""

SLOPE_AT_NAN = (
    "nn.functional.elu", "nn.functional.celu", "nn.functional.selu", "nn.functional.hardswish",
    "nn.functional.hardtanh", "nn.functional.relu6", "nn.functional.hardshrink", "nn.functional.softshrink",
    "nn.ELU", "nn.CELU", "nn.SELU",
    "nn.Hardswish", "nn.Hardtanh", "nn.ReLU6", "nn.Hardshrink", "nn.Softshrink",
)  # fmt: skip
"""Names of ops begin so whose gradient at NaN is one in torch's vectors and another beside them; here the latter."""


FORMULA_IS_OFF = ("sinc", "special.sinc", "special.i1e", "special.log_ndtr", "digamma")
"""Names of ops whose gradient autograd computes by a formula that loses digits, whatever the kernels: where terms
cancel, and by torch's trigamma at the poles."""

CANCELS_TO_ZERO = (("corrcoef", "sizes"),)
"""Names of ops, and ends of labels: of two observations the correlation is 1 or -1, its gradient noise about zero."""


def gradient_is_free(name: str, label: str, has_equals: bool, is_widest: bool, is_complex: bool = False) -> bool:
    """Whether the gradient of a sample need not be torch's: of equal numbers, and of NaN.

    A large sample has equal numbers, and one of 16 bits. is_widest: whether there is no wider dtype to compare with.
    """
    if is_widest and name.startswith(GRADIENT_CANCELS):
        return True
    if is_complex and name in LOSE_THE_SIDE:
        return True
    if any(name == op and label.endswith(end) for op, end in CANCELS_TO_ZERO):
        return True
    if name in (*FORMULA_IS_OFF, *ORDER_IS_FREE) or name.startswith("mvlgamma"):
        return True
    if name.startswith(CHOOSE_AMONG_EQUALS):
        return has_equals or label.endswith(MANY_EQUALS)
    return label.endswith("special") and name.startswith(SLOPE_AT_NAN)


HARDLY_REGULAR = ("cholesky", "qr", "linalg.", "lu", "pinverse", "logdet", "svd", "geqrf", "ormqr", "triangular_solve")
"""Names of ops begin so of matrices, which hostile numbers make singular or nearly so, so that no digit is right."""

CANCELS = (
    "nn.functional.multi_margin_loss", "nn.MultiMarginLoss", "nn.functional.tanhshrink", "nn.Tanhshrink", "sinc",
    "special.sinc",
)  # fmt: skip
"""Names of ops begin so whose terms cancel in hostile samples, by weights of both signs say: no digit is right."""

NOT_FINITE = "LinAlgError"
"""An error for a matrix with infinities or NaN, of which some kernels of LAPACK make numbers, and others an error."""


CANNOT_ORDER_NAN = ("mode",)
"""Names of ops begin so for which stock torch sorts numbers by `<` alone, so that with NaN any of them may come out."""


HAVE_POLES = ("polygamma", "special.polygamma")
"""Names of ops begin so that are infinite at -1, -2, … There stock torch divides by the sine of a rounded multiple of
pi, in float64 too: trigamma of -3 is 7.3e31."""


def without_poles(name: str, sample: Sample, values: list[Any]) -> list[Any]:
    """Ours, stock's and the exact numbers, without those at poles where ours is not finite."""
    ours = values[0]
    x = next(iter(sample.tensors()), None)
    if not name.startswith(HAVE_POLES) or x is None or x.dtype == torch.bool:
        return values
    if not isinstance(ours, torch.Tensor) or ours.shape != x.shape:
        return values
    pole = (x < 0) & (x == x.floor()) & ~ours.isfinite()
    return [v.masked_fill(pole, 0) if isinstance(v, torch.Tensor) else v for v in values]


def is_hardly_defined(name: str, label: str) -> bool:
    """Whether hostile numbers leave nothing to compare with."""
    if label.endswith("special") and name.startswith(CANNOT_ORDER_NAN):
        return True
    return label.endswith(KINDS) and name.startswith((*HARDLY_REGULAR, *CANCELS, *MANY_LAYERS))


def is_breach(label: str, error: str) -> bool:
    """Whether an error is one that a call must not raise which stock torch takes."""
    return not (label.endswith("special") and NOT_FINITE in error)


MANY_LAYERS, GROWTH = ("nn.Transformer",), 64
"""Names of modules begin so in which a layer gets the errors of others, and how much more they may be off by.

With numbers of many sizes their gradients cancel, so that no digit is right."""

SUMS_CANCEL = ("nn.functional.poisson_nll_loss", "nn.PoissonNLLLoss")
"""Names of ops begin so whose terms, of both signs, may add up to a hundredth of one: an error counts against that."""

UNDOES_REFLECTIONS = ("linalg.householder_product",)
"""Names of ops whose gradient autograd computes by undoing one reflection after the other, which multiplies errors:
that of stock is a thousand units in the last place where a rounding of the operands makes four."""

ULPS = 4
"""So many units in the last place are allowed beside twice the error of stock torch; see also `_roundings`."""


def _roundings(dtype: torch.dtype, terms: int) -> int:
    """More of them, for sums of so many terms: one for each level of a tree. Sums of low precision round once."""
    return 0 if dtype in (torch.bfloat16, torch.float16) else max(terms, 1).bit_length()


def widened(sample: Sample, dtype: torch.dtype, result: Any) -> Sample | None:
    """The call in float64 or complex128, its numbers the same; None for a dtype that has nothing wider.

    Integers are widened too, if the result is of float32.
    """
    wider = WIDER
    if dtype in INTEGERS and isinstance(result, torch.Tensor) and result.dtype == torch.float32:
        wider = WIDER | dict.fromkeys(INTEGERS, torch.float64)
    elif dtype not in WIDER:
        return None

    def widen(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return x.to(wider[x.dtype]) if x.dtype in wider else x
        return wider.get(x, x) if isinstance(x, torch.dtype) else x

    return sample.mapped(widen)


def tensors_of(result: Any) -> list[torch.Tensor]:
    return [x.detach() for x in tree_leaves(result) if isinstance(x, torch.Tensor) and x.layout == torch.strided]


TAKE_OTHER_TYPES = ("cov",)
"""Names of ops begin so that take weights of float32 with operands of more digits, and are no better than those."""


def _precision(name: str, dtype: torch.dtype) -> torch.finfo:
    info, least = torch.finfo(dtype), torch.finfo(torch.float32)
    return least if name.startswith(TAKE_OTHER_TYPES) and info.eps < least.eps else info


def wrong(name: str, ours: Any, stock: Any, reference: Any, elementwise: bool, terms: int) -> str | None:
    """What is wrong with a result, if anything: its error is more than twice stock's and some units in the last place.

    terms: the numbers that a sum may have. Without a reference, of float64 and integers, stock's result is one: for
    integers it must be the same.
    """
    a, b = tensors_of(ours), tensors_of(stock)
    exact = tensors_of(reference) if reference is not None else b
    growth = GROWTH if name.startswith((*MANY_LAYERS, *SUMS_CANCEL, *UNDOES_REFLECTIONS)) else 1
    if not len(a) == len(b) == len(exact):
        return f"{len(a)} results where torch has {len(b)}" if len(a) != len(b) else None
    for x, y, r in zip(a, b, exact):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"{x.dtype}{list(x.shape)} where torch gives {y.dtype}{list(y.shape)}"
        if x.shape != r.shape or x.is_nested or x.numel() == 0:
            continue
        if x.dtype.is_floating_point or x.is_complex():
            found = _wrong_numbers(
                *(_doubles(x), _doubles(y), _doubles(r), _doubles(r.to(x.dtype))),
                info=_precision(name, x.dtype),
                ulps=(ULPS if elementwise else ULPS + _roundings(x.dtype, terms)) * growth,
                elementwise=elementwise and not x.is_complex(),  # a part may cancel to less than the other
                against_stock=reference is None or x.dtype in (torch.float64, torch.complex128),
                # Complex numbers have several ways to be infinite.
                infinite=not x.is_complex()
                and not name.startswith(NO_PLACE_OF_INFINITY)
                and not (reference is None and name.startswith(ORDER_OVERFLOWS)),
                limits=name.startswith(LIMIT_FOR_NAN),
            )
            if found is not None:
                return found
    return None


_NOISE = 1e-10

Doubles = np.ndarray[Any, np.dtype[np.float64]]


def _doubles(x: torch.Tensor) -> Doubles:
    """The numbers, in NumPy, whose arithmetic nothing overrides; of complex ones the parts."""
    x = x.resolve_conj().resolve_neg()
    numbers: Doubles = (torch.view_as_real(x.contiguous()) if x.is_complex() else x).double().numpy().reshape(-1)
    return numbers


@np.errstate(all="ignore")
def _wrong_numbers(
    x: Doubles,
    y: Doubles,
    r: Doubles,
    rounded: Doubles,
    *,
    info: torch.finfo,
    elementwise: bool,
    ulps: int,
    against_stock: bool,
    infinite: bool,
    limits: bool,
) -> str | None:
    """Of ours, stock's, the exact numbers, and those rounded.

    infinite: whether to look at NaN and infinities. limits: whether there may be a number where torch has none.
    """
    eps = info.eps
    finite = np.isfinite(rounded) & np.isfinite(y)
    # Where an intermediate result overflows, what comes of it depends on the order: it need not be as torch's.
    misplaced = finite & ~np.isfinite(x)
    if not limits:
        misplaced |= np.isnan(rounded) & np.isnan(y) & ~np.isnan(x)
        misplaced |= np.isinf(rounded) & (rounded == y) & ~np.isinf(x)
    if infinite and misplaced.any():
        i = int(misplaced.argmax())
        return f"{x[i]} where torch gives {y[i]} and float64 {r[i]}"
    finite &= np.isfinite(x)
    if not finite.any():
        return None
    a, b, c = x[finite], y[finite], r[finite]
    ours, stocks, size = abs(a - c), abs(b - c), abs(c)
    ulp = eps * np.maximum(size, float(info.smallest_normal))
    if against_stock:  # stock's own error is unknown; what is 0 may be noise there
        bad = (ours > 1e4 * (ulp if elementwise else eps * size.max())) & ~((a == 0) & (abs(b) < _NOISE))
    else:
        bad = ours > 2 * stocks + ulps * ulp
        if not elementwise:
            bad &= ours > 2 * stocks.max() + ulps * eps * size.max()
    if not bad.any():
        return None
    worst = int(np.where(bad, ours / ulp, 0).argmax())
    return (
        f"{a[worst]} where torch gives {b[worst]} and float64 {c[worst]}: an error of "
        f"{(ours / ulp)[worst]:.3g} ulp, {int(bad.sum())} of {bad.size} elements"
    )
