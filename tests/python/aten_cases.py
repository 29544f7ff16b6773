# SPDX-License-Identifier: MIT
"""Calls of torch that the tests of `repdl.enable()` make, in stock torch and with our kernels: a row for each.

A row is the name of a function and its arguments. `Leaf` is an operand with a gradient, whose dtype and layout the
tests vary; a floating-point tensor follows its dtype; all else stays as it is.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
import torch.nn.functional as F

_generator = torch.Generator().manual_seed(20)


@dataclass(frozen=True)
class Leaf:
    values: torch.Tensor


def normal(*shape: int) -> Leaf:
    return Leaf(torch.randn(shape, generator=_generator))


def unit(*shape: int) -> Leaf:
    """Numbers in (0.02, 0.98)."""
    return Leaf(torch.rand(shape, generator=_generator) * 0.96 + 0.02)


def positive(*shape: int) -> Leaf:
    """Numbers in (0.3, 2.3)."""
    return Leaf(torch.rand(shape, generator=_generator) * 2 + 0.3)


def fixed(leaf: Leaf) -> torch.Tensor:
    """The same numbers without a gradient."""
    return leaf.values


def ints(*values: Any) -> torch.Tensor:
    return torch.tensor(values)


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    random: bool = False  # draws numbers, so that there is no float64 reference

    def run(self, filled: Callable[[Leaf | torch.Tensor], torch.Tensor]) -> Any:
        """Calls the function, seeded, with what is made of its leaves and of its other tensors of floats."""

        def fill(value: Any) -> Any:
            if isinstance(value, Leaf) or (isinstance(value, torch.Tensor) and value.is_floating_point()):
                return filled(value)
            if isinstance(value, (list, tuple)):
                return type(value)(map(fill, value))
            return value

        torch.manual_seed(3)
        return self.function(*map(fill, self.args), **{name: fill(value) for name, value in self.kwargs.items()})


CASES: dict[str, Case] = {}


def case(name: str, *args: Any, **kwargs: Any) -> None:
    """A call of F.gelu, torch.exp or Tensor.exp_; of an in-place method on a copy of its first argument."""
    function = _named(name)
    if name.startswith("Tensor.") and name.endswith("_"):
        method = function

        def function(self: torch.Tensor, *rest: Any, **options: Any) -> Any:
            return method(self.clone(), *rest, **options)

    _enter(Case(name, function, args, kwargs))


def written(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """A call of a function written here."""
    _enter(Case(name, function, args, kwargs))


def drawn(name: str, *args: Any, **kwargs: Any) -> None:
    """A call of a function that draws random numbers."""
    _enter(Case(name, _named(name), args, kwargs, random=True))


def _named(name: str) -> Callable[..., Any]:
    """A function of torch. What this version lacks raises when it is called: the others are there."""
    try:
        return reduce(getattr, name.split("."), _ROOT)
    except AttributeError as error:
        why = str(error)

    def lacking(*_: Any, **__: Any) -> Any:
        raise AttributeError(why)

    return lacking


def _enter(new: Case) -> None:
    key, n = new.name, 2
    while key in CASES:
        key, n = f"{new.name} {n}", n + 1
    CASES[key] = new


class _ROOT:
    F, torch, Tensor = F, torch, torch.Tensor


X, Y, P, U = normal(6, 8), normal(6, 8), positive(6, 8), unit(6, 8)
ROW, ROWS, ONE = normal(8), normal(6), Leaf(torch.tensor(0.7))
LINE, IMAGE, VOLUME = normal(2, 4, 9), normal(2, 4, 8, 8), normal(1, 2, 5, 5, 5)
NONE = normal(0, 8)
SIGNS = fixed(normal(6, 8)).sign()
CLASSES = ints(0, 1, 7, 3, 4, 2)
MASK = fixed(Y) > 0
Q, K, V = normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8)

# Functions of one number.
for _name in """
    abs absolute acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor
    i0 lgamma log log10 log1p log2 logit nan_to_num neg positive rad2deg reciprocal relu round rsqrt selu sgn sigmoid
    sign sin sinc sinh sqrt square tan tanh trunc arccos arctan celu fix frac
""".split():
    _operand = {"acosh": Leaf(fixed(P) + 1), "arccos": U, "acos": U}.get(_name, U if _name != "round" else X)
    case(f"torch.{_name}", _operand)
    case(f"torch.{_name}", Leaf(_operand.values[0, 0].clone()))
    case(f"torch.{_name}", Leaf(_operand.values[:0].clone()))
    if hasattr(torch.Tensor, _name + "_"):
        case(f"Tensor.{_name}_", _operand)
for _name in "exp log sqrt sin sigmoid rsqrt tanh erf square neg abs ceil expm1 reciprocal log1p atan".split():
    case(f"torch.{_name}", ints(1, 2, 3))
    case(f"torch.{_name}", torch.tensor([True, False]))
for _name in """
    entr erfcx expit exp2 expm1 gammaln i0e i1 i1e log1p log_ndtr log_softmax logit ndtr ndtri psi round sinc softmax
    xlog1py xlogy zeta logsumexp erf erfc erfinv digamma i0 airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1
    modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0
    scaled_modified_bessel_k1 spherical_bessel_j0
""".split():
    if _name in ("log_softmax", "softmax", "logsumexp"):
        case(f"torch.special.{_name}", X, 1)
    elif _name in ("xlog1py", "xlogy", "zeta"):
        case(f"torch.special.{_name}", fixed(P) + 1, Leaf(fixed(U) + 1))
    else:
        case(f"torch.special.{_name}", U)
case("torch.polygamma", 2, P)
written("torch.Tensor.polygamma_", lambda x: x.clone().polygamma_(2), P)
written("torch.Tensor.ldexp_", lambda x, e: x.clone().ldexp_(e), X, fixed(torch.arange(8) - 4))
case("torch.mvlgamma", Leaf(fixed(P) + 2), 2)
case("torch.special.gammainc", fixed(P), U)
case("torch.special.gammaincc", fixed(P), U)
case("torch.special.zeta", 2.5, Leaf(fixed(U) + 1))

# Activations.
for _name in """
    celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu sigmoid silu
    softplus softshrink softsign tanh tanhshrink
""".split():
    case(f"F.{_name}", X)
    case(f"F.{_name}", IMAGE)
for _name in "celu_ elu_ hardtanh_ leaky_relu_ relu_ selu_".split():
    written(f"F.{_name}", lambda x, name=_name: getattr(F, name)(x.clone()), X)
for _name in "silu hardswish mish elu relu6 hardsigmoid".split():
    written(f"F.{_name} in place", lambda x, name=_name: getattr(F, name)(x.clone(), inplace=True), X)
case("F.gelu", X, approximate="tanh")
case("F.elu", X, 0.5)
case("F.celu", X, 2.0)
case("F.softplus", X, 2.0, 1.0)
case("F.hardtanh", X, -0.5, 0.5)
case("F.leaky_relu", X, 0.3)
case("F.hardshrink", X, 0.3)
case("F.softshrink", X, 0.3)
case("F.threshold", X, 0.1, -1.0)
written("F.threshold_", lambda x: F.threshold_(x.clone(), 0.1, 0.0), X)
case("F.glu", X)
case("F.glu", IMAGE, 1)
case("F.prelu", X, ROW)
case("F.prelu", IMAGE, Leaf(torch.tensor([0.25])))
case("F.rrelu", X)
drawn("F.rrelu", X, training=True)
written("F.rrelu_", lambda x: F.rrelu_(x.clone()), X)
for _eps in (0.1, 0.5, 0.6, -0.2, 1.2):
    case("torch.logit", U, _eps)
case("torch.logit", fixed(U), math.nan)  # its gradient is 0 in vectors of torch's, and not elsewhere

# Softmax.
for _dim in (0, 1, -1):
    case("F.softmax", X, _dim)
    case("F.log_softmax", X, _dim)
case("F.softmax", IMAGE, 1)
case("F.log_softmax", IMAGE, 1)
case("F.softmax", ONE, 0)
case("F.softmax", NONE, 1)
case("F.softmin", X, 1)
case("F.softmax", X, 1, dtype=torch.float32)
written("F.softmax widened", lambda x: F.softmax(x.bfloat16(), 1, dtype=torch.float32), X)
drawn("F.gumbel_softmax", X)
drawn("F.gumbel_softmax", X, hard=True)
case("torch.logsumexp", X, 1)
case("torch.logsumexp", IMAGE, (1, 3), True)
case("torch.logsumexp", IMAGE, (2, 0))
case("torch.logsumexp", ints([1, 2], [3, 4]), 1)
case("torch.logcumsumexp", X, 1)
case("torch.logcumsumexp", X, 0)
case("torch.logaddexp", X, Y)
case("torch.logaddexp2", X, Y)

# Products.
case("torch.mm", X, normal(8, 5))
case("torch.mm", NONE, normal(8, 5))
case("torch.mm", normal(3, 0), normal(0, 4))
case("torch.addmm", normal(5), X, normal(8, 5))
case("torch.addmm", normal(6, 5), X, normal(8, 5), beta=0.5, alpha=2)
case("torch.addmm", normal(6, 1), X, normal(8, 5), beta=0)
written("Tensor.addmm_", lambda s, a, b: s.clone().addmm_(a, b), normal(6, 5), X, normal(8, 5))
case("torch.bmm", normal(2, 3, 4), normal(2, 4, 5))
case("torch.baddbmm", normal(2, 3, 5), normal(2, 3, 4), normal(2, 4, 5))
case("torch.baddbmm", normal(5), normal(2, 3, 4), normal(2, 4, 5), beta=0.3, alpha=0.7)
case("torch.addbmm", normal(3, 5), normal(2, 3, 4), normal(2, 4, 5), beta=0.3, alpha=0.7)
case("torch.mv", X, ROW)
case("torch.addmv", ROWS, X, ROW, alpha=0.5)
case("torch.dot", ROW, normal(8))
case("torch.vdot", ROW, normal(8))
case("torch.inner", X, Y)
case("torch.addr", X, ROWS, ROW, beta=0.5, alpha=3)
case("torch.addr", MASK, MASK[:, 0], MASK[0], beta=2, alpha=3)
case("torch.outer", ROWS, ROW)
case("torch.matmul", normal(2, 3, 4, 5), normal(2, 3, 5, 6))
case("torch.matmul", normal(2, 3, 4, 5), normal(5))
case("torch.matmul", X, ROW)
case("torch.matmul", ROW, ROW)
case("torch.einsum", "bij,bjk->bik", normal(2, 3, 4), normal(2, 4, 5))
case("torch.einsum", "bhqd,bhkd->bhqk", Q, K)
case("torch.tensordot", normal(2, 3, 4), normal(3, 4, 5), 2)
case("torch.tensordot", ints(*range(6)).int().reshape(2, 3), ints(5, 7).int().reshape(1, 2), 1)
case("torch.kron", normal(2, 2), normal(2, 3))
case("torch.linalg.multi_dot", [normal(3, 4), normal(4, 5), normal(5, 6)])
case("torch.linalg.matrix_power", normal(4, 4), 3)
case("torch.trace", normal(4, 4))
case("torch.cross", normal(4, 3), normal(4, 3), dim=1)
case("F.linear", X, normal(5, 8), normal(5))
case("F.linear", X, normal(5, 8))
case("F.linear", normal(2, 3, 8), normal(5, 8), normal(5))
case("F.linear", ROW, normal(5, 8), normal(5))
case("F.bilinear", X, normal(6, 4), normal(5, 8, 4), normal(5))
case("F.bilinear", normal(2, 3, 8), normal(2, 3, 4), normal(5, 8, 4))
case("F.bilinear", ROW, normal(4), normal(5, 8, 4), normal(5))

# Convolution.
case("F.conv1d", LINE, normal(6, 4, 3), normal(6))
case("F.conv1d", LINE, normal(6, 2, 3), None, 2, 1, 1, 2)
case("F.conv2d", IMAGE, normal(6, 4, 3, 3), normal(6))
case("F.conv2d", IMAGE, normal(6, 2, 3, 3), None, 2, 1, 1, 2)
case("F.conv2d", IMAGE, normal(4, 1, 3, 3), groups=4)
case("F.conv2d", IMAGE, normal(6, 4, 3, 3), dilation=2)
case("F.conv2d", IMAGE, normal(6, 4, 3, 3), padding="same")
case("F.conv2d", normal(4, 8, 8), normal(6, 4, 3, 3), normal(6))
case("F.conv2d", IMAGE, normal(6, 4, 1, 1), normal(6))
written(
    "F.conv2d channels last",
    lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w),
    IMAGE,
    normal(6, 4, 3, 3),
)
case("F.conv2d", ints(*range(18)).reshape(1, 2, 3, 3), ints(*range(12)).reshape(1, 2, 2, 3), ints(5), 2, 1)
case("F.conv1d", ints(*range(6)).reshape(1, 1, 6), ints(1, 2, 3).reshape(1, 1, 3))
case("F.conv3d", VOLUME, normal(3, 2, 2, 2, 2), normal(3))
case("F.conv3d", VOLUME, normal(4, 1, 3, 2, 2), normal(4), (1, 2, 1), (1, 0, 1), (1, 1, 2), 2)
case("F.conv_transpose1d", LINE, normal(4, 6, 3), normal(6))
case("F.conv_transpose2d", IMAGE, normal(4, 6, 3, 3), normal(6))
case("F.conv_transpose2d", IMAGE, normal(4, 3, 3, 3), normal(6), 2, 1, 1, 2, 1)
case("F.conv_transpose3d", VOLUME, normal(2, 3, 2, 2, 2))
case("F.conv_transpose3d", VOLUME, normal(2, 3, 2, 2, 2), normal(3), 2, 1, 1)
# Of an output with places for more windows than the input has elements.
case("F.conv_transpose1d", LINE, normal(4, 6, 3), normal(6), 1, 1, 2, 1, 3)
case("F.conv_transpose2d", IMAGE, normal(4, 3, 3, 3), normal(6), (1, 2), (2, 1), (3, 2), 2, 4)
case("F.conv_transpose3d", VOLUME, normal(2, 3, 2, 2, 2), normal(3), 1, 1, (1, 2, 0), 1, 3)
case(
    "F.conv_transpose3d", normal(2, 4, 3, 4, 3), normal(4, 2, 2, 3, 2), normal(4), (2, 1, 2), 1, (1, 0, 1), 2, (2, 1, 1)
)
case("F.conv3d", normal(2, 5, 5, 5), normal(3, 2, 2, 2, 2))
case("F.conv_tbc", normal(5, 2, 4), normal(3, 4, 6), normal(6), 1)

# Normalisation.
case("F.layer_norm", X, (8,), ROW, normal(8))
case("F.layer_norm", X, (8,))
case("F.layer_norm", IMAGE, (8, 8), normal(8, 8), normal(8, 8))
case("F.group_norm", IMAGE, 2, normal(4), normal(4))
case("F.group_norm", LINE, 4)
case("F.rms_norm", X, (8,), ROW)
case("F.rms_norm", X, (8,))
case("F.instance_norm", IMAGE)
case("F.instance_norm", IMAGE, weight=normal(4), bias=normal(4))
case("F.local_response_norm", IMAGE, 2)
case("F.normalize", X)
case("F.normalize", X, 1.0, 0)
case("F.normalize", X, 3.0)
case("torch._weight_norm", normal(5, 8), normal(5, 1), 0)
case("torch._weight_norm", normal(3, 4, 8), normal(1, 1, 8), 2)
case("F.cosine_similarity", X, Y)
case("F.pairwise_distance", X, Y)
case("F.pairwise_distance", X, Y, 1.0)


def batch_norm(x: torch.Tensor, weight: Any, bias: Any, training: bool) -> tuple[torch.Tensor, ...]:
    mean, var = x.new_zeros(x.shape[1]), x.new_ones(x.shape[1])
    return F.batch_norm(x, mean, var, weight, bias, training), mean, var


def batch_norm_mixed(x: torch.Tensor, weight: Any, bias: Any, training: bool) -> tuple[torch.Tensor, ...]:
    mean, var = weight.detach() * 0, weight.detach() * 0 + 1
    return F.batch_norm(x, mean, var, weight, bias, training), mean, var


for _training in (True, False):
    written("F.batch_norm", batch_norm, IMAGE, normal(4), normal(4), _training)
    written("F.batch_norm", batch_norm, X, normal(8), normal(8), _training)
    written("F.batch_norm", batch_norm, LINE, None, None, _training)
case("F.batch_norm", IMAGE, None, None, None, None, True)
# What torch.export makes of it.
written(
    "native_batch_norm_legit", lambda x: torch.ops.aten._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)[0], X
)
for _training in (True, False):
    written(
        "native_batch_norm_legit",
        lambda x, w, b, mean, how: torch.ops.aten._native_batch_norm_legit(x, w, b, mean, mean + 1, how, 0.1, 1e-5)[0],
        IMAGE,
        normal(4),
        normal(4),
        fixed(unit(4)),
        _training,
    )
written(
    "native_batch_norm_legit_no_training",
    lambda x, mean: torch.ops.aten._native_batch_norm_legit_no_training(x, None, None, mean, mean + 1, 0.1, 1e-5)[0],
    IMAGE,
    fixed(unit(4)),
)
written(
    "native_batch_norm_legit_functional",
    lambda x, mean: torch.ops.aten._native_batch_norm_legit_functional(x, None, None, mean, mean + 1, True, 0.1, 1e-5)[
        ::4
    ],
    IMAGE,
    fixed(unit(4)),
)
# As under autocast: a narrow input, parameters of float32.
for _training in (True, False):
    written(
        "F.batch_norm mixed",
        lambda x, *rest: batch_norm_mixed(x.bfloat16(), *rest),
        IMAGE,
        normal(4),
        normal(4),
        _training,
    )
written("F.layer_norm mixed", lambda x, *rest: F.layer_norm(x.bfloat16(), (8,), *rest), X, ROW, normal(8))
written("F.group_norm mixed", lambda x, *rest: F.group_norm(x.bfloat16(), 2, *rest), IMAGE, normal(4), normal(4))

# Losses.
_SOME_CLASSES = torch.stack([CLASSES, (CLASSES + 3) % 8, *[torch.full((6,), -1)] * 6], 1)
for _reduction in ("mean", "sum", "none"):
    _how = {"reduction": _reduction}
    case("F.mse_loss", X, Y, **_how)
    case("F.l1_loss", X, Y, **_how)
    case("F.smooth_l1_loss", X, Y, **_how)
    case("F.huber_loss", X, Y, **_how, delta=0.5)
    case("F.binary_cross_entropy", U, fixed(unit(6, 8)), **_how)
    case("F.binary_cross_entropy_with_logits", X, fixed(unit(6, 8)), **_how)
    case("F.kl_div", X, fixed(unit(6, 8)), **_how)
    case("F.cross_entropy", X, CLASSES, **_how)
    case("F.cross_entropy", X, CLASSES, fixed(positive(8)), **_how, label_smoothing=0.1)
    case("F.cross_entropy", X, CLASSES, **_how, ignore_index=3)
    case("F.nll_loss", X, CLASSES, fixed(positive(8)), **_how)
    case("F.nll_loss", X, CLASSES, **_how)
    case("F.nll_loss", X, CLASSES.to(torch.uint8), **_how)
    case("F.nll_loss", X, CLASSES.to(torch.int32), **_how)
    case("F.nll_loss", X, CLASSES + 7, **_how)
    case("F.nll_loss", normal(2, 4, 3, 3), torch.arange(18).reshape(2, 3, 3) % 4, **_how)
    case("F.soft_margin_loss", X, SIGNS, **_how)
    case("F.multi_margin_loss", X, CLASSES, **_how)
    case("F.multi_margin_loss", X, CLASSES, 2, 0.5, fixed(positive(8)), **_how)
    case("F.multilabel_margin_loss", X, _SOME_CLASSES, **_how)
    case("F.multilabel_margin_loss", ONE, ints(0)[0], **_how)
    case("F.multilabel_soft_margin_loss", X, fixed(unit(6, 8)), **_how)
    case("F.hinge_embedding_loss", X, SIGNS, **_how)
    case("F.poisson_nll_loss", X, fixed(P), **_how)
    case("F.gaussian_nll_loss", X, fixed(Y), P, **_how)
    case("F.margin_ranking_loss", X, Y, SIGNS, **_how)
    case("F.cosine_embedding_loss", X, Y, SIGNS[:, 0], **_how)
    case("F.triplet_margin_loss", X, Y, P, **_how)
    case("F.triplet_margin_with_distance_loss", X, Y, P, **_how)
    written(
        "F.ctc_loss",
        lambda x, how: F.ctc_loss(x.log_softmax(2), ints([1, 2, 2], [2, 1, 3]), ints(7, 6), ints(3, 2), reduction=how),
        normal(7, 2, 4),
        _reduction,
    )
case("F.kl_div", X, fixed(unit(6, 8)), reduction="batchmean", log_target=True)
case("F.mse_loss", X, Y, weight=fixed(P))
case("F.cross_entropy", X, fixed(X).softmax(1))
case("F.cross_entropy", normal(8), torch.tensor(3))
case("F.cross_entropy", normal(2, 4, 3, 3), torch.arange(18).reshape(2, 3, 3) % 4)
case("F.binary_cross_entropy_with_logits", X, fixed(U), pos_weight=fixed(positive(8)))
case("F.binary_cross_entropy", U, fixed(unit(6, 8)), fixed(P))
case("F.linear_cross_entropy", X, normal(9, 8), CLASSES)
written(
    "F.ctc_loss one",
    lambda x: F.ctc_loss(x.log_softmax(1), ints(1, 2), torch.tensor(6), torch.tensor(2), zero_infinity=True),
    normal(6, 4),
)

# Dropout.
for _name in "dropout alpha_dropout".split():
    drawn(f"F.{_name}", X)
    drawn(f"F.{_name}", X, 0.2, False)
drawn("F.dropout1d", LINE)
drawn("F.dropout2d", IMAGE)
drawn("F.dropout3d", VOLUME)
drawn("F.feature_alpha_dropout", IMAGE, training=True)

# Embedding.
IDS = ints([0, 1, 1], [5, 2, 1])
case("F.embedding", IDS, X)
case("F.embedding", IDS, X, padding_idx=1)
written("F.embedding max_norm", lambda x: F.embedding(IDS, x.detach().clone(), max_norm=1.0), X)
case("torch.renorm", X, 2, 0, 1.0)
case("torch.renorm", X, 1, 1, 1.0)
for _mode in ("mean", "sum", "max"):
    case("F.embedding_bag", IDS, X, mode=_mode)
    case("F.embedding_bag", IDS.reshape(-1), X, ints(0, 2, 2), mode=_mode)
    case("F.embedding_bag", IDS, X, mode=_mode, padding_idx=1)
    case("F.embedding_bag", IDS.reshape(-1), X, ints(0, 2, 6), mode=_mode, include_last_offset=True)
case("F.embedding_bag", IDS, X, mode="sum", per_sample_weights=normal(2, 3))
for _mode in ("mean", "sum"):
    written(
        "F.embedding_bag sparse",
        lambda x, mode: torch.autograd.grad(
            F.embedding_bag(IDS, x, mode=mode, sparse=True, padding_idx=2).square().sum(), x
        )[0].to_dense(),
        X,
        _mode,
    )
case("F.one_hot", IDS)
case("F.one_hot", IDS, 9)

# Indexing.
case("torch.gather", X, 1, ints([0, 0, 3]).expand(6, 3))
case("torch.take_along_dim", X, ints([0, 0, 3]).expand(6, 3), 1)
case("torch.index_select", X, 0, ints(0, 0, 5))
case("torch.take", X, ints(0, 0, 47))
case("torch.index_add", X, 0, ints(0, 0), normal(2, 8))
case("torch.index_add", X, 0, ints(0, 0), normal(2, 8), alpha=0.3)
case("torch.index_copy", X, 0, ints(3, 1), normal(2, 8))
case("torch.index_fill", X, 0, ints(3, 1), 0.5)
case("torch.scatter", X, 0, torch.zeros(1, 8, dtype=torch.long), normal(1, 8))
case("torch.scatter", X, 0, torch.zeros(1, 8, dtype=torch.long), 0.5)
case("torch.scatter_add", X, 0, torch.zeros(2, 8, dtype=torch.long), normal(2, 8))
for _reduce in ("sum", "prod", "mean", "amax", "amin"):
    for _self in (True, False):
        case("torch.scatter_reduce", X, 0, ints([0], [0], [3]).expand(3, 8), normal(3, 8), _reduce, include_self=_self)
        case("torch.index_reduce", X, 0, ints(0, 0, 3), normal(3, 8), _reduce, include_self=_self) if (
            _reduce != "sum"
        ) else None
case("torch.scatter", fixed(X), 0, torch.zeros(2, 8, dtype=torch.long), fixed(normal(2, 8)), reduce="add")
case("torch.scatter", fixed(X), 0, torch.zeros(2, 8, dtype=torch.long), fixed(normal(2, 8)), reduce="multiply")
case("torch.masked_fill", X, MASK, -1.0)
case("torch.masked_select", X, MASK)
case("torch.masked_scatter", X, MASK, Y)
case("torch.where", MASK, X, Y)
case("torch.where", MASK, X, 0.0)
case("torch.index_put", X, (ints(0, 0),), normal(2, 8), accumulate=True)
case("torch.index_put", X, (ints(0, 3),), normal(2, 8))
case("torch.put", X, ints(0, 0), normal(2), accumulate=True)
case("torch.put", X, ints(0, 5), normal(2))
case("Tensor.put_", X, ints(0, -5), normal(2))
case("torch.select_scatter", X, ROW, 0, 1)
case("torch.slice_scatter", X, normal(2, 8), 0, 1, 3)
case("torch.diagonal_scatter", normal(5, 5), normal(5))
case("torch.repeat_interleave", X, 2, 1)
written("x[i]", lambda x: x[[0, 0, 1]], X)
written("x[:, i]", lambda x: x[:, [0, 0, 1]], X)
written("x[i, j]", lambda x: x[ints(0, 0, 1), ints(1, 1, 2)], X)
written("x[mask]", lambda x: x[MASK], X)
written("x[None, ..., 1:]", lambda x: x[None, ..., 1:], X)


def assigned(x: torch.Tensor, where: Any, value: Any) -> torch.Tensor:
    y = x.clone()
    y[where] = value
    return y


written("x[:, 0] = n", assigned, X, (slice(None), 0), 1.0)
written("x[i] = n", assigned, X, ints(0, 1), 1.0)
written("x[i] = y", assigned, X, ints(0, 1), normal(2, 8))
written("x[mask] = n", assigned, X, MASK, 1.0)
written("x[1:3] = y", assigned, X, slice(1, 3), normal(2, 8))

# Movement.
case("torch.roll", X, 1, 0)
case("torch.flip", X, (0,))
case("torch.rot90", X)
case("F.pad", X, (1, 1))
case("F.pad", X, (1, -1), value=2.0)
for _mode in ("reflect", "replicate", "circular"):
    case("F.pad", IMAGE, (1, 1, 1, 2), mode=_mode)
    case("F.pad", LINE, (2, 1), mode=_mode)
    case("F.pad", VOLUME, (1, 1, 1, 1, 2, 0), mode=_mode)
case("F.unfold", IMAGE, 3)
case("F.fold", normal(2, 8, 9), (4, 4), 2)
case("Tensor.unfold", X, 1, 3, 1)
case("F.pixel_shuffle", IMAGE, 2)
case("F.pixel_unshuffle", IMAGE, 2)
case("F.channel_shuffle", IMAGE, 2)
case("F.native_channel_shuffle", fixed(IMAGE), 2)
case("torch.tril", X)
case("torch.triu", X, 1)
case("torch.cat", [X, Y], 1)
case("torch.stack", [X, Y], 1)
case("torch.split", X, 4)
case("torch.chunk", X, 3)
case("torch.unbind", X)
case("Tensor.repeat", X, 2, 2)
case("Tensor.expand", ROW, 3, 8)
case("torch.diag", ROW)
case("torch.diag", normal(4, 4))
case("torch.diag_embed", X)
case("torch.permute", IMAGE, (0, 2, 3, 1))
case("torch.movedim", IMAGE, 1, 3)
case("torch.meshgrid", ROW, ROWS, indexing="ij")
case("torch.block_diag", X, Y)
case("torch.tile", X, (2, 1))
case("torch.clone", X)
case("Tensor.contiguous", IMAGE, memory_format=torch.channels_last)
case("Tensor.to", X, torch.bfloat16)
case("Tensor.double", X)
case("Tensor.int", X)
case("torch.atleast_3d", X)
case("torch.broadcast_to", ROW, (3, 8))
case("torch.unflatten", X, 1, (2, 4))
case("torch.swapaxes", X, 0, 1)
case("torch.vander", fixed(ROW), 3)
case("torch.cartesian_prod", ROW, ROWS)
case("torch.combinations", ROW)

# Reductions.
for _name in "sum mean nansum amax amin prod logsumexp var std".split():
    _all = ((0, 1),) if _name == "logsumexp" else ()
    case(f"torch.{_name}", X, *_all)
    case(f"torch.{_name}", X, 1)
    case(f"torch.{_name}", IMAGE, 1, keepdim=True)
    case(f"torch.{_name}", ONE, *((0,) if _all else _all))
    if _name not in ("amax", "amin"):
        case(f"torch.{_name}", NONE, *_all)
    case(f"torch.{_name}", NONE, 1)
    if _name != "prod":
        case(f"torch.{_name}", IMAGE, (0, 2))
for _name in "sum mean prod".split():
    case(f"torch.{_name}", X, dtype=torch.float32)
    case(f"torch.{_name}", X, 1, dtype=torch.bfloat16)
    case(f"torch.{_name}", ints(1, 2, 3), dtype=torch.float32)
for _name in "sum prod amax any all argmax count_nonzero cumsum".split():
    case(f"torch.{_name}", ints([1, 2], [3, 0]), *((0,) if _name == "cumsum" else ()))
    case(f"torch.{_name}", torch.tensor([True, False]), *((0,) if _name == "cumsum" else ()))
case("torch.var", X, correction=0)
case("torch.std", X, 1, correction=3)
case("torch.var_mean", X, 1)
case("torch.std_mean", X)
for _p in (2, 1, 3, 0.5, 0, float("inf"), -float("inf"), -2):
    case("torch.linalg.vector_norm", X, _p, 1)
    case("torch.norm", X, _p)
case("torch.norm", X)
case("torch.norm", X, "fro", (0, 1))
case("torch.linalg.norm", X)
case("torch.linalg.matrix_norm", X)
case("torch.linalg.vector_norm", X, 2, (0, 1), True)
case("torch.linalg.vector_norm", NONE)
case("torch.dist", X, Y)
case("torch.dist", X, Y, 1)
case("torch.cdist", X, normal(3, 8))
case("torch.cdist", X, normal(3, 8), 1.0)
case("torch.cdist", normal(2, 6, 8), normal(2, 3, 8), 3.0)
case("torch.cdist", X, normal(3, 8), float("inf"))
case("torch.cdist", X, normal(3, 8), 2.0, "donot_use_mm_for_euclid_dist")
case("torch.cdist", normal(30, 4), normal(28, 4))
case("F.pdist", X)
case("torch.cumsum", X, 1)
case("torch.cumsum", X, 0)
case("torch.cumprod", X, 1)
case("torch.cummax", X, 1)
case("torch.cummin", X, 0)
case("torch.diff", X)
case("torch.trapezoid", X)
case("torch.cumulative_trapezoid", X)
case("torch.gradient", X, dim=1)
case("torch.max", X)
case("torch.max", X, 1)
case("torch.min", X, 0)
case("torch.aminmax", X, dim=1)
case("torch.median", X)
case("torch.median", X, 1)
case("torch.nanmedian", X, 1)
# Ours gives the first index of several, torch the last.
written("torch.mode, values", lambda x: torch.mode(x).values, X.values.round())
case("torch.sort", X, 1)
case("torch.sort", X, 0, True)
case("torch.argsort", X, 1)
case("torch.msort", X)
case("torch.topk", X, 3, 1)
case("torch.topk", X, 2, 0, False)
case("torch.topk", ints(3, 1, 2), 2)
case("torch.kthvalue", X, 2, 1)
case("torch.argmax", X, 1)
case("torch.argmin", X)
case("torch.quantile", X, 0.3)
case("torch.quantile", X, fixed(unit(3)), 1)
case("torch.nanquantile", X, 0.3, 1)
case("torch.nanmean", X, 1)
case("torch.histc", fixed(X), 5, -1, 1)
case("torch.histc", fixed(X), 5)
case("torch.histogram", fixed(X), 5)
case("torch.histogram", fixed(X), 5, range=(-1.0, 1.0), weight=fixed(P))
case("torch.histogram", fixed(X), 5, density=True)
case("torch.histogram", fixed(X), torch.tensor([-1.0, -0.2, 0.0, 0.9]))
case("torch.histogram", torch.ones(3), 4)
case("torch.bincount", ints(0, 1, 1, 4))
case("torch.bincount", ints(0, 1, 1, 4), fixed(positive(4)))
case("torch.unique", ints(3, 1, 1), return_inverse=True, return_counts=True)
case("torch.unique_consecutive", ints(3, 1, 1))
case("torch.searchsorted", fixed(ROW).sort()[0], fixed(X))
case("torch.bucketize", fixed(X), fixed(ROW).sort()[0])
case("torch.allclose", X, Y)
case("torch.isclose", X, Y)
case("torch.equal", X, X)
case("torch.cov", X)
case("torch.corrcoef", X)
case("torch.segment_reduce", X, "sum", lengths=ints(2, 4))

# Pooling and resizing.
case("F.max_pool1d", LINE, 2)
case("F.max_pool2d", IMAGE, 2)
case("F.max_pool2d", IMAGE, 3, 2, 1, ceil_mode=True)
case("F.max_pool3d", VOLUME, 2)
case("F.max_pool1d_with_indices", LINE, 2)
case("F.max_pool2d_with_indices", IMAGE, 2)
case("F.max_pool3d_with_indices", VOLUME, 2)
case("F.avg_pool1d", LINE, 2)
case("F.avg_pool2d", IMAGE, 2)
case("F.avg_pool2d", IMAGE, 3, 2, 1, True, False)
case("F.avg_pool3d", VOLUME, 2)
case("F.adaptive_avg_pool1d", LINE, 3)
for _size in (1, 3, (2, 5)):
    case("F.adaptive_avg_pool2d", IMAGE, _size)
    case("F.adaptive_max_pool2d", IMAGE, _size)
case("F.adaptive_avg_pool3d", VOLUME, 2)
case("F.adaptive_max_pool1d", LINE, 3)
case("F.adaptive_max_pool3d", VOLUME, 2)
case("F.adaptive_max_pool1d_with_indices", LINE, 3)
case("F.adaptive_max_pool2d_with_indices", IMAGE, 3)
case("F.adaptive_max_pool3d_with_indices", VOLUME, 2)
case("F.lp_pool1d", Leaf(LINE.values.abs() + 0.1), 2.0, 2)
case("F.lp_pool2d", Leaf(IMAGE.values.abs() + 0.1), 2.0, 2)
case("F.lp_pool3d", Leaf(VOLUME.values.abs() + 0.1), 3.0, 2)
for _n, _x in ((1, LINE), (2, IMAGE), (3, normal(1, 2, 4, 4, 4))):
    written(
        f"F.max_unpool{_n}d",
        lambda x, n: getattr(F, f"max_unpool{n}d")(*getattr(F, f"max_pool{n}d")(x, 2, return_indices=True), 2),
        _x,
        _n,
    )
drawn("F.fractional_max_pool2d", IMAGE, 2, output_size=3)
drawn("F.fractional_max_pool2d_with_indices", IMAGE, 2, output_size=3)
drawn("F.fractional_max_pool3d", VOLUME, 2, output_size=3)
drawn("F.fractional_max_pool3d_with_indices", VOLUME, 2, output_size=3)
for _mode in ("nearest", "nearest-exact", "area"):
    case("F.interpolate", LINE, scale_factor=2, mode=_mode)
    case("F.interpolate", IMAGE, size=(5, 11), mode=_mode)
    case("F.interpolate", VOLUME, scale_factor=1.5, mode=_mode)
for _corners in (False, True):
    _how = {"align_corners": _corners}
    case("F.interpolate", LINE, scale_factor=2, mode="linear", **_how)
    case("F.interpolate", LINE, size=5, mode="linear", **_how)
    case("F.interpolate", IMAGE, scale_factor=2, mode="bilinear", **_how)
    case("F.interpolate", IMAGE, size=(5, 11), mode="bilinear", **_how)
    case("F.interpolate", IMAGE, size=(1, 1), mode="bilinear", **_how)
    case("F.interpolate", IMAGE, scale_factor=1.7, mode="bilinear", **_how)
    case("F.interpolate", IMAGE, scale_factor=1.7, mode="bicubic", **_how)
    case("F.interpolate", IMAGE, size=(5, 11), mode="bicubic", **_how)
    case("F.interpolate", VOLUME, scale_factor=2, mode="trilinear", **_how)
    case("F.interpolate", VOLUME, size=(3, 7, 5), mode="trilinear", **_how)
    case("F.interpolate", IMAGE, size=(5, 3), mode="bilinear", antialias=True, **_how)
    case("F.interpolate", IMAGE, size=(5, 13), mode="bicubic", antialias=True, **_how)
    case("F.interpolate", IMAGE, size=(5, 13), mode="lanczos", antialias=True, **_how)
    case("F.interpolate", IMAGE, scale_factor=0.4, mode="bicubic", recompute_scale_factor=True, **_how)
    case("F.affine_grid", normal(2, 2, 3), (2, 1, 3, 4), **_how)
    case("F.affine_grid", normal(2, 3, 4), (2, 1, 3, 4, 2), **_how)
    for _padding in ("zeros", "border", "reflection"):
        _how = {"align_corners": _corners, "padding_mode": _padding}
        for _mode in ("bilinear", "nearest", "bicubic"):
            case("F.grid_sample", IMAGE, normal(2, 3, 5, 2), _mode, **_how)
        for _mode in ("bilinear", "nearest"):
            case("F.grid_sample", VOLUME, normal(1, 3, 5, 2, 3), _mode, **_how)
written("F.upsample", lambda x: F.interpolate(x, scale_factor=2), IMAGE)
case("F.upsample_nearest", IMAGE, scale_factor=2)
case("F.upsample_bilinear", IMAGE, scale_factor=2)

# Arithmetic.
for _op in ("add", "sub", "mul", "truediv"):
    written(f"x {_op} y", getattr(operator, _op), X, P)
    written(f"x {_op} row", getattr(operator, _op), X, positive(8))
    written(f"x {_op} number", getattr(operator, _op), X, 3)
    written(f"number {_op} x", getattr(operator, _op), 2.5, P)
    written(f"x {_op} one", getattr(operator, _op), X, ONE)
    written(f"ints {_op} number", getattr(operator, _op), ints(1, 2, 3), 2)
    written(f"ints {_op} x", getattr(operator, _op), ints(1, 2, 3, 4, 5, 6, 7, 8), P)
    written(f"x {_op} column", getattr(operator, _op), X, positive(6, 1))
    case(f"Tensor.{_op.removeprefix('true')}_", X, P)
    case(f"Tensor.{_op.removeprefix('true')}_", X, 3)
    case(f"Tensor.{_op.removeprefix('true')}_", fixed(X), fixed(P).double())
case("torch.add", X, Y, alpha=2)
case("torch.add", X, 3, alpha=2)
case("torch.add", ints(1, 2), ints(3, 4), alpha=2)
case("torch.sub", X, Y, alpha=0.3)
case("Tensor.add_", X, Y, alpha=0.3)
case("Tensor.sub_", X, Y, alpha=0.3)
case("torch.rsub", X, Y, alpha=0.3)
case("torch.rsub", X, 2, alpha=3)
for _name in "addcmul addcdiv".split():
    case(f"torch.{_name}", X, Y, P)
    case(f"torch.{_name}", X, Y, P, value=0.1)
    case(f"torch.{_name}", X, ROW, positive(6, 1), value=-2)
    case(f"Tensor.{_name}_", X, Y, P, value=0.1)
case("torch.lerp", X, Y, 0.1)
case("torch.lerp", X, Y, 0.9)
case("torch.lerp", X, Y, U)
case("Tensor.lerp_", X, Y, 0.3)
for _mode in (None, "floor", "trunc"):
    case("torch.div", X, P, rounding_mode=_mode)
    case("torch.div", X, 3, rounding_mode=_mode)
    case("torch.div", ints(7, -7), ints(2, 2), rounding_mode=_mode)
case("torch.floor_divide", fixed(X), fixed(P))
case("torch.remainder", X, P)
case("torch.fmod", X, P)
for _n in (2, 3, 0.5, -1, -2, 1, 0, 1.5, 4, -0.5):
    case("torch.pow", P, _n)
    case("Tensor.pow_", P, _n)
case("torch.pow", X, 3)
case("torch.pow", X, 4.0)
case("torch.pow", P, X)
case("torch.pow", 2, X)
case("torch.pow", 1.0, X)
case("torch.pow", 0.3, ONE)
case("torch.pow", ints(1, 2), 2)
case("torch.pow", ints(1, 2), 0.5)
case("torch.pow", ints(1, 2), P.values[0, :2])
case("torch.pow", P, ints(1, 2, 3, 1, 2, 3, 1, 2))
for _name in "atan2 hypot maximum minimum fmax fmin copysign logaddexp xlogy ldexp".split():
    case(f"torch.{_name}", X, Leaf(fixed(P) + 0.01))
    if _name != "ldexp":
        case(f"torch.{_name}", ROWS, normal(5, 1)) if _name != "xlogy" else case("torch.xlogy", X, positive(8))
case("torch.nextafter", fixed(X), fixed(Y))
case("torch.heaviside", fixed(X), fixed(Y))
case("torch.xlogy", X, 2.0)
case("torch.xlogy", 2.0, P)
case("torch.atan2", ints(1, 2), ints(3, 4))
case("torch.clamp", X, -0.5, 0.5)
case("torch.clamp", X, fixed(Y))
case("torch.clamp", X, fixed(ONE) - 1, fixed(ONE))
case("torch.complex", X, Y)
case("torch.angle", X)
case("torch.angle", Leaf(torch.tensor([0.0, -0.0, float("nan"), -float("inf")])))
case("torch.angle", ints(-3, 0, 2))
case("torch.eq", X, Y)
case("torch.gt", X, 0)
case("torch.logical_and", MASK, MASK)
case("torch.isnan", X)
case("torch.isfinite", X)
case("torch.isin", ints(1, 2), ints(2, 3))
case("torch.gcd", ints(4, 6), ints(6, 9))
case("torch.frexp", fixed(X))
case("torch.signbit", X)

# Mixed dtypes: single numbers count only among themselves.
LOW = fixed(X).bfloat16()
for _name in "add mul div atan2 maximum hypot".split():
    written(f"bf16 {_name} f32", lambda y, name=_name: getattr(torch, name)(LOW, y), P)
    written(f"f32 {_name} f64 number", lambda y, name=_name: getattr(torch, name)(y, torch.tensor(0.3).double()), P)
    written(f"bf16 {_name} f32 number", lambda y, name=_name: getattr(torch, name)(LOW, y), ONE)
written("f32 pow f64 number", lambda y: torch.pow(y, torch.tensor(1.5).double()), P)
written("f32 addcmul f64 number", lambda x, y: torch.addcmul(x, y, torch.tensor(1.5).double(), value=2), X, P)
written("f32 add f64 number alpha", lambda x: torch.add(x, torch.tensor(1.5).double(), alpha=3), X)
written("f32 lerp f64 number", lambda x, y: torch.lerp(x, y, torch.tensor(0.3, dtype=x.dtype)), X, Y)
written("x **= f64 number", lambda x: x.clone().pow_(torch.tensor(1.5).double()), P)

# Made.
case("torch.linspace", 0.1, 7.3, 999)
case("torch.linspace", -1, 1, 1)
case("torch.linspace", 0, 10, 5, dtype=torch.int64)
case("torch.linspace", 0, 1, 17, dtype=torch.bfloat16)
case("torch.linspace", 4.9, 3.0, 5, dtype=torch.int64)
case("torch.linspace", torch.tensor(0.5), torch.tensor(2), 5)
case("torch.linspace", torch.tensor(0.5), 2, 5)
case("torch.linspace", 0.5, torch.tensor(2), 5)
case("torch.logspace", 0, 1, 7)
case("torch.logspace", -1.5, 3, 10, base=2)
case("torch.logspace", 0, 3, 4, dtype=torch.int64)
case("torch.logspace", 0, 3, 4, dtype=torch.bfloat16)
case("torch.logspace", torch.tensor(0), 3, 4)
case("torch.arange", 0, 1, 0.1)
case("torch.arange", 5)
case("torch.range", 0, 1, 0.1)
case("torch.fft.fftfreq", 7, 0.3)
case("torch.fft.rfftfreq", 10)
case("torch.eye", 3)
case("torch.tril_indices", 3, 3)
case("torch.hann_window", 16)
case("torch.hamming_window", 16)
case("torch.blackman_window", 16)
case("torch.bartlett_window", 16)
case("torch.kaiser_window", 16)
for _name in "rand randn".split():
    drawn(f"torch.{_name}", 20)
    drawn(f"torch.{_name}", 3)
drawn("torch.randint", 0, 10, (7,))
drawn("torch.randperm", 9)
drawn("torch.rand_like", X)
drawn("torch.randn_like", X)
drawn("torch.bernoulli", fixed(U))
drawn("torch.normal", 0.5, 2.0, (4,))
drawn("torch.normal", 0.5, 2.0, (4, 8))
drawn("torch.normal", fixed(X), fixed(P))
drawn("torch.multinomial", fixed(U), 3)
drawn("torch.multinomial", fixed(U), 3, True)
drawn("torch.poisson", fixed(P))
drawn("torch.binomial", fixed(P).round(), fixed(U))
for _name in "uniform_ normal_ exponential_ bernoulli_ random_ geometric_ cauchy_ log_normal_".split():
    _enter(
        Case(
            f"Tensor.{_name}",
            lambda x, name=_name: getattr(x.detach().clone(), name)(*([0.3] if name == "geometric_" else [])),
            (X,),
            {},
            random=True,
        )
    )

# Attention.
case("F.scaled_dot_product_attention", Q, K, V)
case("F.scaled_dot_product_attention", Q, normal(2, 3, 4, 8), normal(2, 3, 4, 8), is_causal=True)
case("F.scaled_dot_product_attention", Q, K, V, torch.ones(4, 5, dtype=torch.bool).tril())
case("F.scaled_dot_product_attention", Q, K, V, normal(4, 5))
case("F.scaled_dot_product_attention", Q, K, normal(2, 3, 5, 6), scale=0.3)
case("F.scaled_dot_product_attention", normal(2, 4, 4, 8), normal(2, 2, 5, 8), normal(2, 2, 5, 8), enable_gqa=True)
case("F.scaled_dot_product_attention", normal(2, 4, 8), normal(2, 5, 8), normal(2, 5, 8))
drawn("F.scaled_dot_product_attention", Q, K, V, dropout_p=0.2)
written(
    "F.multi_head_attention_forward",
    lambda x, w, b, v, c: F.multi_head_attention_forward(x, x, x, 8, 2, w, b, None, None, False, 0.0, v, c)[0],
    normal(5, 2, 8),
    normal(24, 8),
    normal(24),
    normal(8, 8),
    normal(8),
)

# Matrices.
TALL, FLAT, SQUARE, SEVERAL = normal(5, 3), normal(3, 5), normal(4, 4), normal(2, 3, 3)


def _sum(values: Any) -> Any:
    return sum(v.sum() for v in (values if isinstance(values, tuple) else (values,)))


def definite(a: torch.Tensor) -> torch.Tensor:
    return a @ a.mT + a.shape[-1] * torch.eye(a.shape[-1], dtype=a.dtype)


for _name in "qr geqrf".split():
    for _a in (TALL, FLAT, SQUARE, SEVERAL):
        case(f"torch.{'linalg.' if _name == 'qr' else ''}{_name}", _a)
case("torch.linalg.qr", TALL, "complete")
case("torch.linalg.qr", FLAT, "r")
written("torch.linalg.qr of zeros", lambda a: torch.linalg.qr(a.detach() * 0), TALL)
case("torch.linalg.householder_product", TALL, positive(3))
case("torch.linalg.householder_product", normal(2, 4, 3), positive(2, 2))
for _name in "inv det slogdet cholesky lu_factor inv_ex cholesky_ex".split():
    for _a in (SQUARE, SEVERAL, normal(1, 1)):
        written(f"torch.linalg.{_name}", lambda a, name=_name: getattr(torch.linalg, name)(definite(a)), _a)
for _name in "inv det slogdet".split():
    case(f"torch.linalg.{_name}", SQUARE)
case("torch.linalg.lu_factor", TALL)
case("torch.linalg.lu_factor", FLAT)
case("torch.linalg.lu", SEVERAL)
for _shape in ((0,), (2, 0)):
    written(
        "torch.linalg.solve of nothing",
        lambda a, b: torch.linalg.solve(a, b).reshape(0),
        normal(*_shape, 0),
        normal(*_shape, 2),
    )
case("torch.linalg.householder_product", normal(2, 0, 0), normal(2, 0))
written("torch.linalg.inv of none", lambda a: torch.linalg.inv(a * 0), SQUARE)
written("torch.linalg.cholesky of none", lambda a: torch.linalg.cholesky(a * 0 - 1), SQUARE)
written("torch.linalg.cholesky upper", lambda a: torch.linalg.cholesky(definite(a), upper=True), SEVERAL)
written("torch.cholesky", lambda a: torch.cholesky(definite(a)), SQUARE)
written("torch.cholesky_solve", lambda a, b: torch.cholesky_solve(b, definite(a).tril()), SQUARE, normal(4, 2))
written(
    "torch.cholesky_solve upper", lambda a, b: torch.cholesky_solve(b, definite(a).triu(), True), SQUARE, normal(4, 2)
)
written("torch.cholesky_inverse", lambda a: torch.cholesky_inverse(definite(a).tril()), SQUARE)
for _upper in (False, True):
    for _left in (False, True):
        for _unit in (False, True):
            written(
                "torch.linalg.solve_triangular",
                lambda a, b, how: torch.linalg.solve_triangular(definite(a), b if how["left"] else b.mT, **how),
                SEVERAL,
                normal(2, 3, 2),
                {"upper": _upper, "left": _left, "unitriangular": _unit},
            )
written(
    "torch.linalg.solve_triangular of many", lambda a, b: torch.linalg.solve_triangular(definite(a), b, upper=False),
    SEVERAL, normal(3, 2),
)  # fmt: skip
written(
    "torch.triangular_solve", lambda a, b: torch.triangular_solve(b, definite(a), False, True), SQUARE, normal(4, 2)
)
case("torch.linalg.solve", SQUARE, normal(4, 2))
case("torch.linalg.solve", SQUARE, normal(4))
case("torch.linalg.solve", SEVERAL, normal(2, 3))
case("torch.linalg.solve", SEVERAL, normal(3, 2))
case("torch.linalg.solve", SQUARE, normal(2, 4), left=False)
written(
    "torch.linalg.lu_solve", lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b), SQUARE, normal(4, 2)
)
written(
    "torch.linalg.lu_solve turned",
    lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=False, adjoint=True), SQUARE, normal(2, 4),
)  # fmt: skip
for _name in "inv det slogdet solve".split():  # the first gradient alone, where torch takes another way
    written(
        f"torch.linalg.{_name} gradient",
        lambda a, *b, name=_name: torch.autograd.grad(_sum(getattr(torch.linalg, name)(a, *b)), (a, *b)),
        SQUARE,
        *([normal(4, 2)] if _name == "solve" else []),
    )
case("torch.linalg.tensorsolve", normal(2, 3, 6), normal(2, 3))
case("torch.logdet", fixed(SQUARE) @ fixed(SQUARE).mT)

for _size in (1.0, torch.tensor([1e-3, 4.0])[:, None, None]):  # of bfloat16 torch's results are arbitrary
    written(
        "torch.linalg.matrix_exp",
        lambda a, size: torch.linalg.matrix_exp((a if a.element_size() > 2 else a.float()) * size),
        SEVERAL,
        _size,
    )

for _name in "pinv svdvals eigvalsh".split():
    written(f"torch.linalg.{_name}", lambda a, name=_name: getattr(torch.linalg, name)(definite(a)), normal(3, 3))
case("torch.linalg.lstsq", fixed(normal(4, 3)), fixed(normal(4, 2)))
for _a in (TALL, FLAT, SEVERAL):  # signs are torch's own
    written("torch.linalg.svd", lambda a: tuple(t.abs() for t in torch.linalg.svd(a, full_matrices=False)), _a)
written("torch.linalg.eigh", lambda a: tuple(t.abs() for t in torch.linalg.eigh(definite(a))), SEVERAL)


def _by_value(values: torch.Tensor) -> torch.Tensor:
    """The places of eigenvalues by size, since LAPACK's order is another on another CPU."""
    return torch.argsort(values.detach().real + values.detach().imag / 8)


def _eig(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, vectors = torch.linalg.eig(a)
    order = _by_value(values)
    return values[order], vectors.abs()[:, order]


written("torch.linalg.eigvals", lambda a: (v := torch.linalg.eigvals(a))[_by_value(v)], SQUARE)
written("torch.linalg.eig", _eig, SQUARE)
for _order in (2, -2, "nuc"):
    case("torch.linalg.matrix_norm", TALL, _order)
    case("torch.linalg.cond", SQUARE, _order)
case("torch.ormqr", TALL, positive(3), normal(5, 2))
case("torch.ormqr", fixed(TALL), fixed(positive(3)), fixed(normal(2, 5)), False, True)

# What has no reproducible kernel yet.
case("torch.fft.rfft", X)
case("torch.fft.fft", X)
case("torch.stft", normal(16), 4, window=torch.ones(4), return_complex=True)
case("torch.polar", P, X)
written(
    "F.grouped_mm",
    lambda a, b: F.grouped_mm(a, b, offs=torch.tensor([2, 6], dtype=torch.int32)),
    normal(6, 16),
    normal(2, 16, 8),
)

_HELPERS = """
    assert_int_or_pair boolean_dispatch handle_torch_function has_torch_function has_torch_function_unary
    has_torch_function_variadic
"""
NOT_CALLED = {
    "scaled_addmm": "needs float8 operands",
    "scaled_addmm_": "needs float8 operands",
    "scaled_mm": "needs float8 operands; test_quantized has it",
    "scaled_grouped_mm": "needs float8 operands",
    **dict.fromkeys(_HELPERS.split(), "a helper of torch's that computes nothing"),
}
"""Functions of torch.nn.functional without a row, and why."""


def functional_names() -> Iterator[str]:
    """The functions of torch.nn.functional."""
    for name in dir(F):
        value = getattr(F, name)
        of_torch = (getattr(value, "__module__", None) or "torch").startswith("torch")
        if not name.startswith("_") and inspect.isroutine(value) and of_torch:
            yield name


NOT_REPRODUCIBLE = set(
    re.split(
        r",\s+",
        """
    F.rrelu 2, torch.binomial, torch.poisson
""".strip(),
    )
)
"""The cases that raise, having no reproducible kernel yet. One that gets a kernel leaves the list."""
