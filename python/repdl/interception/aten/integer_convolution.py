# SPDX-License-Identifier: MIT
"""Convolution of integers: sums modulo 2^n, which are exact in any order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch


def _all(values: Any, rank: int) -> list[int]:
    values = list(values)
    return values * rank if len(values) == 1 else values


class IntegerConvolution:
    """Of any number of dimensions, place by place of the kernel."""

    def __init__(self, rank: int, stride: Any, padding: Any, dilation: Any, output_padding: Any, groups: int) -> None:
        self.rank, self.groups = rank, groups
        self.stride, self.padding, self.dilation, self.more = (
            _all(v, rank) for v in (stride, padding, dilation, output_padding)
        )

    def _steps(self, kernel: Sequence[int], met: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """By place of the kernel: the place, and where so many outputs meet it in the padded input."""
        for place in itertools.product(*map(range, kernel)):
            first = [p * d for p, d in zip(place, self.dilation, strict=True)]
            where = [slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(first, met, self.stride, strict=True)]
            yield (..., *place), (..., *where)

    def _grouped(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        return x.unflatten(dim, (self.groups, x.shape[dim] // self.groups))

    def _check(self, name: str, input: torch.Tensor, weight: torch.Tensor, channels: int, bias: Any) -> None:
        if input.dtype != weight.dtype or (bias is not None and bias.dtype != input.dtype):
            raise RuntimeError(f"[{name}] expected operands of the same dtype, got {input.dtype} and {weight.dtype}")
        if weight.dim() != input.dim() or input.shape[1] != channels or weight.shape[0] % self.groups:
            raise RuntimeError(
                f"[{name}] weight of shape {list(weight.shape)} in {self.groups} groups needs an input of {channels} "
                f"channels, but its shape is {list(input.shape)}"
            )

    def convolve(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        name = f"conv{self.rank}d"
        self._check(name, input, weight, weight.shape[1] * self.groups, bias)
        padded = torch.constant_pad_nd(input, [p for size in reversed(self.padding) for p in (size, size)])
        kernel = weight.shape[2:]
        sizes = [
            (n - d * (k - 1) - 1) // s + 1
            for n, k, s, d in zip(padded.shape[2:], kernel, self.stride, self.dilation, strict=True)
        ]
        if min(sizes, default=1) < 1:
            raise RuntimeError(
                f"[{name}] the kernel of size {list(kernel)} is larger than the padded input of size "
                f"{list(padded.shape[2:])}"
            )
        output = input.new_zeros(input.shape[0], self.groups, weight.shape[0] // self.groups, *sizes)
        rows, terms = self._grouped(weight, 0), self._grouped(padded, 1)
        for place, where in self._steps(kernel, sizes):
            output += (rows[place] @ terms[where].flatten(3)).reshape(output.shape)
        return _biased(output.flatten(1, 2), bias)

    def transposed(self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        self._check(f"conv_transpose{self.rank}d", input, weight, weight.shape[0], bias)
        kernel, met = weight.shape[2:], input.shape[2:]
        settings = list(zip(met, kernel, self.stride, self.dilation, self.padding, self.more, strict=True))
        sizes = [(n - 1) * s + d * (k - 1) + 1 + m for n, k, s, d, _, m in settings]
        output = input.new_zeros(input.shape[0], self.groups, weight.shape[1], *sizes)
        rows, terms = self._grouped(weight, 0).transpose(1, 2), self._grouped(input, 1).flatten(3)
        for place, where in self._steps(kernel, met):
            part = output[where]
            part += (rows[place] @ terms).reshape(part.shape)
        for d, (size, padding) in enumerate(zip(sizes, self.padding, strict=True)):
            output = output.narrow(3 + d, padding, size - 2 * padding)
        return _biased(output.flatten(1, 2), bias)


def _biased(output: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return output if bias is None else output + bias.reshape(-1, *[1] * (output.dim() - 2))
