# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from repdl._op import Sample, Tensor, op, sample


@op()
def fft_c2c(input: Tensor, dim: Sequence[int], normalization: int = 0, forward: bool = True) -> Tensor:
    """The discrete Fourier transform of complex numbers along some dimensions, or its inverse.

    Args:
        input: float32 or float64, (…, 2): pairs of a real and an imaginary part, as `torch.view_as_real` makes them.
        dim: the dimensions, which do not count the last one; negative ones count from the one before it.
        normalization: 0 for none, 1 to divide by the root of the number of terms, 2 to divide by their number.
        forward: False for the inverse, which is not divided by itself.

    Returns:
        The shape and dtype of input.
    """


@op()
def fft_r2c(input: Tensor, dim: Sequence[int], normalization: int = 0, onesided: bool = True) -> Tensor:
    """The discrete Fourier transform of real numbers along some dimensions. Arguments as for `fft_c2c`.

    Args:
        input: float32 or float64, any shape.
        onesided: of n numbers along the last dimension of `dim` only the first n // 2 + 1 results are made.

    Returns:
        (…, 2), pairs of a real and an imaginary part.
    """


@op()
def fft_c2r(input: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    """The inverse of `fft_r2c`, whose arguments it takes.

    Args:
        input: float32 or float64, (…, 2).
        last_dim_size: the real numbers along the last dimension of `dim`, of which input has n // 2 + 1 complex ones.

    Returns:
        The shape of input without its last dimension, but for the last dimension of `dim`.
    """


@fft_c2c.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    return {"input": lambda: fft_c2c(grad, saved.dim, saved.normalization, not saved.forward)}


@fft_r2c.backward(saves=("input",))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def of_input() -> Any:
        dims, last = list(saved.dim), saved.dim[-1]
        n = saved.input.shape[last]
        missing = n - n // 2 - 1
        if saved.onesided and missing:
            at = last % saved.input.dim()
            shape = [*grad.shape[:at], missing, *grad.shape[at + 1 :]]
            grad_of_all = grad.new_zeros(shape)
            return fft_c2c(_joined(grad, grad_of_all, at), dims, saved.normalization, False)[..., 0]
        return fft_c2c(grad, dims, saved.normalization, False)[..., 0]

    return {"input": of_input}


@fft_c2r.backward(saves=())
def _(saved: Any, grad: Any) -> dict[str, Any]:
    def of_input() -> Any:
        spectrum = fft_r2c(grad, saved.dim, saved.normalization)
        at = saved.dim[-1] % grad.dim()
        twice = saved.last_dim_size - saved.last_dim_size // 2 - 1
        # The numbers after the first stand for their conjugates, too, unless they are their own.
        weights = [1.0, *[2.0] * twice, *[1.0] * (spectrum.shape[at] - 1 - twice)]
        column = spectrum.new_tensor(weights).reshape(-1, *[1] * (grad.dim() - at))
        return spectrum * column

    return {"input": of_input}


def _joined(first: Any, second: Any, dim: int) -> Any:
    import torch

    return torch.cat([first, second], dim)


def _complex_samples() -> Iterator[Sample]:
    for n in (1, 2, 3, 4, 8, 15, 31, 37, 60, 64):
        yield sample(input=f"normal[3, {n}, 2]#1", dim=(1,))
    yield sample(input="normal[83, 60, 2]#2", dim=(-1,), normalization=1)
    yield sample(input="normal[60, 37, 2]#2", dim=(0,), normalization=2, forward=False)
    yield sample(input="normal[1, 4096, 2]#3", dim=(1,), normalization=1, forward=False)
    yield sample(input="normal[2, 1200, 2]#3", dim=(1,), normalization=2)
    yield sample(input="normal[1, 521, 2]#4", dim=(1,), forward=False)
    yield sample(input="normal[2, 3, 512, 2]#4", dim=(2,))
    yield sample(input="wide[2, 1536, 2]#4", dim=(1,), normalization=1, forward=False)
    yield sample(input="special[2, 1024, 2]#4", dim=(1,), forward=False)
    yield sample(input="normal[1, 2048, 2]#4", dim=(1,), normalization=2)
    yield sample(input="normal[4, 6, 10, 2]#5", dim=(2, 0, 1), normalization=1)
    yield sample(input="normal[5, 4, 2]#5", dim=())
    yield sample(input="normal[0, 4, 2]#5", dim=(1,))
    for kind in ("wide", "special", "bits", "infinite"):
        yield sample(input=f"{kind}[5, 12, 2]#6", dim=(1,), normalization=2)


def _real_samples() -> Iterator[Sample]:
    for n in (1, 2, 3, 4, 12, 37, 62, 74):
        yield sample(input=f"normal[3, {n}]#1", dim=(1,))
    yield sample(input="normal[83, 80]#2", dim=(-1,), normalization=1)
    yield sample(input="normal[30, 19]#2", dim=(0,), normalization=2)
    yield sample(input="normal[1, 8192]#3", dim=(1,), normalization=2)
    yield sample(input="special[3, 1024]#3", dim=(1,), normalization=1)
    yield sample(input="normal[1, 1125]#3", dim=(1,))
    yield sample(input="normal[4, 6, 10]#5", dim=(2, 0, 1), normalization=1, onesided=False)
    yield sample(input="normal[3, 9]#5", dim=(0, 1))
    yield sample(input="normal[0, 4]#5", dim=(1,))
    for kind in ("wide", "special", "bits", "infinite"):
        yield sample(input=f"{kind}[5, 12]#6", dim=(1,))


def _inverse_samples() -> Iterator[Sample]:
    for n in (1, 2, 3, 4, 12, 37, 62, 74):
        yield sample(input=f"normal[3, {n // 2 + 1}, 2]#1", dim=(1,), normalization=2, last_dim_size=n)
    yield sample(input="normal[83, 41, 2]#2", dim=(-1,), normalization=1, last_dim_size=80)
    yield sample(input="normal[16, 19, 2]#2", dim=(0,), normalization=0, last_dim_size=30)
    yield sample(input="normal[1, 4097, 2]#3", dim=(1,), normalization=2, last_dim_size=8192)
    yield sample(input="special[3, 513, 2]#3", dim=(1,), normalization=1, last_dim_size=1024)
    yield sample(input="infinite[3, 513, 2]#3", dim=(1,), normalization=0, last_dim_size=1024)
    yield sample(input="normal[1, 563, 2]#3", dim=(1,), normalization=2, last_dim_size=1125)
    yield sample(input="normal[4, 6, 6, 2]#5", dim=(1, 0, 2), normalization=1, last_dim_size=10)
    yield sample(input="normal[0, 3, 2]#5", dim=(1,), normalization=2, last_dim_size=4)
    for kind in ("wide", "special", "bits", "infinite"):
        yield sample(input=f"{kind}[5, 7, 2]#6", dim=(1,), normalization=0, last_dim_size=12)


fft_c2c.samples(_complex_samples)
fft_r2c.samples(_real_samples)
fft_c2r.samples(_inverse_samples)


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any] | None:
    rank = arguments["input"].ndim - (0 if "onesided" in arguments else 1)
    if rank == 0 or any(d % rank == 0 for d in arguments["dim"]):
        return None
    return {**arguments, "input": arguments["input"][rows]}


for _op in (fft_c2c, fft_r2c, fft_c2r):
    _op.rows(_rows)

_NORMS: tuple[Literal["backward"], Literal["ortho"], Literal["forward"]] = ("backward", "ortho", "forward")


def _pairs(z: Any) -> Any:
    return np.stack([z.real, z.imag], -1)


@fft_c2c.oracle
def _(input: Any, dim: Sequence[int], normalization: int = 0, forward: bool = True) -> Any:
    z = input[..., 0] + 1j * input[..., 1]
    if not len(dim):
        return input
    if forward:
        return _pairs(np.fft.fftn(z, axes=dim, norm=_NORMS[normalization]))
    return _pairs(np.fft.ifftn(z, axes=dim, norm=_NORMS[2 - normalization]))


@fft_r2c.oracle
def _(input: Any, dim: Sequence[int], normalization: int = 0, onesided: bool = True) -> Any:
    transform = np.fft.rfftn if onesided else np.fft.fftn
    return _pairs(transform(input, axes=dim, norm=_NORMS[normalization]))


@fft_c2r.oracle
def _(input: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    z = input[..., 0] + 1j * input[..., 1]
    sizes = [z.shape[d] for d in dim[:-1]]
    return np.fft.irfftn(z, [*sizes, last_dim_size], axes=dim, norm=_NORMS[2 - normalization])
