# SPDX-License-Identifier: MIT
"""Products of matrices: each element by the product rule over k, then what is added to it, one rounding each."""

from __future__ import annotations

from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core as _core
from repdl.interception.aten.reduction import sum_of
from repdl.interception.native import Kernel, native_of
from repdl.interception.operands import check_factors, of_common_type
from repdl.interception.ops_by_dtype import Ops
from repdl.interception.override import on_devices, override


def product(a: torch.Tensor, b: torch.Tensor, ops: Ops = _core.ops) -> torch.Tensor:
    return ops["mm"](a, b, False, False, get_order())


def plus(self: torch.Tensor, product: torch.Tensor, beta: Any, alpha: Any) -> torch.Tensor:
    """beta * self + alpha * product; with beta = 0, self is not read. It has no shape but one that fits the product."""
    if self.shape != product.shape:
        self = self.expand(product.shape)
    check_factors(product.dtype, beta=beta, alpha=alpha)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)  # the layout is that of the product


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def _check_mm(a: torch.Tensor, b: torch.Tensor) -> None:
    _check(a.dim() == 2, "mat1 must be a matrix" if b.dim() == 2 else "self must be a matrix")
    _check(b.dim() == 2, "mat2 must be a matrix")
    _check(
        a.shape[1] == b.shape[0],
        f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})",
    )
    _check_types(a, b)


def _check_types(a: torch.Tensor, b: torch.Tensor) -> None:
    _check(a.dtype == b.dtype, f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")


def _check_bmm(a: torch.Tensor, b: torch.Tensor) -> None:
    _check(a.dim() == 3, "batch1 must be a 3D tensor")
    _check(b.dim() == 3, "batch2 must be a 3D tensor")
    _check(
        a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1],
        f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
        f"[{b.shape[0]}, {b.shape[1]}].",
    )
    _check_types(a, b)


@override("mm", wide="float64", complex=True, op="mm", pairs="complex_mm", rank=2, low="alike", converts=False)
def mm(self: torch.Tensor, mat2: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    _check_mm(self, mat2)
    return product(self, mat2, ops)


@override("addmm", wide="float64", complex=True, op="addmm", alike=(0, 1, 2), converts=False)
def addmm(
    self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, ops: Ops = _core.ops
) -> torch.Tensor:
    _check_mm(mat1, mat2)
    if beta == 1 and alpha == 1 and self.dim() == 1 and self.shape[0] == mat2.shape[1]:
        return ops["addmm"](self, mat1, mat2, get_order())
    return plus(self, product(mat1, mat2, ops), beta, alpha)


@override("_addmm_activation", wide="float64", low="alike", converts=False)
def _addmm_activation(
    self: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    use_gelu: bool = False,
    ops: Ops = _core.ops,
) -> torch.Tensor:
    """relu or gelu of `addmm`; of low types both in float32, rounded once."""
    result = addmm(self, mat1, mat2, beta=beta, alpha=alpha, ops=ops)
    return ops["gelu"](result) if use_gelu else result.relu()


@override("bmm", wide="float64", complex=True, op="mm", pairs="complex_mm", rank=3, low="alike", converts=False)
def bmm(self: torch.Tensor, mat2: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    _check_bmm(self, mat2)
    return product(self, mat2, ops)


@override("baddbmm", wide="float64", complex=True, alike=(0, 1, 2), converts=False)
def baddbmm(
    self: torch.Tensor,
    batch1: torch.Tensor,
    batch2: torch.Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    ops: Ops = _core.ops,
) -> torch.Tensor:
    _check_bmm(batch1, batch2)
    return plus(self, product(batch1, batch2, ops), beta, alpha)


def over_batch(batch1: torch.Tensor, batch2: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The operands of the one product over (batch, k) that `addbmm` is."""
    return batch1.transpose(0, 1).reshape(batch1.shape[1], -1), batch2.reshape(-1, batch2.shape[2])


@override("addbmm", wide="float64", complex=True, low="alike", alike=(0, 1, 2), converts=False)
def addbmm(
    self: torch.Tensor,
    batch1: torch.Tensor,
    batch2: torch.Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    ops: Ops = _core.ops,
) -> torch.Tensor:
    _check_bmm(batch1, batch2)
    return plus(self, product(*over_batch(batch1, batch2), ops), beta, alpha)


@override("mv", wide="float64", complex=True, op="mv", low="alike", converts=False)
def mv(self: torch.Tensor, vec: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    _check(self.dim() == 2 and vec.dim() == 1, f"vector + matrix @ vector expected, got {self.dim()}, {vec.dim()}")
    _check(
        self.shape[1] == vec.shape[0],
        f"size mismatch, got input ({self.shape[0]}), mat ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})",
    )
    _check_types(self, vec)
    return ops["mv"](self, vec, get_order())


@override("addmv", wide="float64", complex=True, low="alike", alike=(0, 1, 2), converts=False)
def addmv(
    self: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, *, beta: Any = 1, alpha: Any = 1, ops: Ops = _core.ops
) -> torch.Tensor:
    return plus(self, mv(mat, vec, ops=ops), beta, alpha)


@override("dot", wide="float64", complex=True, op="dot", rank=1, low="alike", converts=False)
def dot(self: torch.Tensor, tensor: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    _check(
        self.dim() == 1 and tensor.dim() == 1,
        f"1D tensors expected, but got {self.dim()}D and {tensor.dim()}D tensors",
    )
    _check(
        self.shape == tensor.shape,
        "inconsistent tensor size, expected tensor "
        f"[{self.shape[0]}] and src [{tensor.shape[0]}] to have the same number of elements",
    )
    _check(
        self.dtype == tensor.dtype,
        f"dot : expected both vectors to have same dtype, but found {self.dtype} and {tensor.dtype}",
    )
    if self._is_zerotensor() or tensor._is_zerotensor():  # tangents that are missing, which make nothing of infinities
        return torch._efficientzerotensor((), dtype=self.dtype, device=self.device)
    return ops["dot"](self, tensor, get_order())


@override("vdot", wide="float64", complex=True, low="alike", converts=False)
def vdot(self: torch.Tensor, other: torch.Tensor, *, ops: Ops = _core.ops) -> torch.Tensor:
    return dot(self.conj(), other, ops=ops)


@override("addr", wide="compute")
def addr(self: torch.Tensor, vec1: torch.Tensor, vec2: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> torch.Tensor:
    _check(vec1.dim() == 1, f"addr: Expected 1-D argument vec1, but got {vec1.dim()}-D")
    _check(vec2.dim() == 1, f"addr: Expected 1-D argument vec2, but got {vec2.dim()}-D")
    self, vec1, vec2 = of_common_type(self, vec1, vec2)
    product = torch.mul(vec1[:, None], vec2)
    self, scaled = self.expand(product.shape), product if alpha == 1 else product * alpha
    check_factors(self.dtype, beta=beta, alpha=alpha)
    return scaled if beta == 0 else (self if beta == 1 else self * beta) + scaled


@override("linalg_cross", op="cross", wide="compute", integers="compute", alike=(0, 1), converts=False)
def linalg_cross(self: torch.Tensor, other: torch.Tensor, *, dim: int = -1) -> torch.Tensor:
    _check(
        self.dim() == other.dim() and self.size(dim) == other.size(dim) == 3,
        f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[dim]} and {other.shape[dim]}",
    )
    if self.is_floating_point():
        shape = torch.broadcast_shapes(self.shape, other.shape)
        return _core.ops["cross"](self.expand(shape), other.expand(shape), dim)
    return self.roll(-1, dim) * other.roll(-2, dim) - self.roll(-2, dim) * other.roll(-1, dim)


@override("_trilinear", wide="float64")
def _trilinear(
    i1: torch.Tensor,
    i2: torch.Tensor,
    i3: torch.Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
    *,
    ops: Ops = _core.ops,
) -> torch.Tensor:
    """The Sum of (i1 * i2) * i3, each with further dimensions of size 1, over some dimensions, or none."""
    tensors = [i1, i2, i3]
    for i, dims in enumerate((expand1, expand2, expand3)):
        for dim in sorted(dims):
            tensors[i] = tensors[i].unsqueeze(dim)
    terms = ops["mul"](ops["mul"](tensors[0], tensors[1]), tensors[2])
    return sum_of(terms, sumdim, ops=ops) if sumdim else terms


@override("conv_tbc", wide="float64")
def conv_tbc(
    self: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, pad: int = 0, *, ops: Ops = _core.ops
) -> torch.Tensor:
    """For time, batch, channel: one Product over (kernel, channel), padding being absent, plus the bias.

    That is a convolution of images of one channel, whose rows are the times and whose columns the channels.
    """
    images, kernels = self.transpose(0, 1)[:, None], weight.permute(2, 0, 1)[:, None]
    result = ops["conv2d"](images, kernels, (1, 1), (pad, 0), 1, (1, 1), bias, get_order())
    return result[..., 0].permute(2, 0, 1).contiguous()


def _product_of_integers(a: torch.Tensor, b: torch.Tensor, *_: Any) -> torch.Tensor:
    return _core.ops["integer_mm"](a, b)


_OF_INTEGERS: Ops = {
    "mm": _product_of_integers,
    "addmm": lambda bias, a, b, *_: bias + _product_of_integers(a, b),  # integers
    "mv": lambda a, b, *_: _product_of_integers(a, b[:, None])[:, 0],
    "dot": lambda a, b, *_: _product_of_integers(a[None], b[:, None])[0, 0],
}


def _serve_integers(name: str, compute: Kernel) -> None:
    """torch has products of integers on the CPU alone; what is none it refuses there."""

    @on_devices(name)
    def kernel(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        if self.is_floating_point() or self.is_complex() or self.dtype == torch.bool:
            return native_of(name, "CUDA")(self, *args, **kwargs)
        return compute(self, *args, **kwargs, ops=_OF_INTEGERS)


for _name, _compute in {
    "mm": mm,
    "addmm": addmm,
    "bmm": bmm,
    "baddbmm": baddbmm,
    "addbmm": addbmm,
    "mv": mv,
    "addmv": addmv,
    "dot": dot,
    "vdot": vdot,
}.items():
    _serve_integers(_name, _compute)
