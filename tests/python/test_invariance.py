# SPDX-License-Identifier: MIT
"""A result depends on its own operands and the reduced length, and on nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import repdl
from repdl import _core, ops
from support import ALL_OPS, TARGETS, golden_lines, same_bits

PRODUCT_CHUNK, SUM_CHUNK = 256, 4096


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def _products(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    a, b = normal(9, k), normal(k, 17)
    return lambda part: ops.mm(a[:, part], b[part]), PRODUCT_CHUNK


def _transposed_products(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    a, b = normal(k, 9), normal(17, k)
    return lambda part: ops.mm(a[part], b[:, part], True, True), PRODUCT_CHUNK


def _linear(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    x, w = normal(5, k), normal(30, k)
    return lambda part: ops.linear(x[:, part], w[:, part]), PRODUCT_CHUNK


def _conv2d(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    x, w = normal(2, k, 4, 3), normal(3, k, 1, 1)
    return lambda part: ops.conv2d(x[:, part], w[:, part]), PRODUCT_CHUNK


def _conv2d_grad_input(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    g, w = normal(2, k, 4, 3), normal(k, 5, 1, 1)
    return lambda part: ops.conv2d_grad_input((2, 5, 4, 3), w[part], g[:, part]), PRODUCT_CHUNK


def _conv2d_grad_kernel(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    # The sum runs over sample, row and column: one place an image.
    x, g = normal(k, 3, 1, 1), normal(k, 6, 1, 1)
    return lambda part: ops.conv2d_grad_kernel(x[part], (6, 3, 1, 1), g[part]), PRODUCT_CHUNK


def _sum_rows(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    x = normal(3, k)
    return lambda part: ops.sum(x[:, part], (1,)), SUM_CHUNK


def _sum_columns(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    x = normal(k, 5)
    return lambda part: ops.sum(x[part], (0,)), SUM_CHUNK


def _bias_gradient(k: int) -> tuple[Callable[[slice], torch.Tensor], int]:
    g, zeros, ones = normal(k, 3), torch.zeros(3), torch.ones(3)
    return lambda part: ops.batch_norm_eval_grad(g[part], g[part], zeros, ones)[2], SUM_CHUNK


SPLITS = [
    _products, _transposed_products, _linear, _conv2d, _conv2d_grad_input, _conv2d_grad_kernel, _sum_rows, _sum_columns,
    _bias_gradient,
]  # fmt: skip


@pytest.mark.parametrize("make", SPLITS)
@pytest.mark.parametrize("chunks", [2, 3, 4, 5, 7, 8])
def test_aligned_parts_of_a_sum_merge_into_the_whole(make: Any, chunks: int) -> None:
    """Cut after the largest power of two of chunks, again and again: the parts' results are added as in the tree."""

    def merged(part: Callable[[slice], torch.Tensor], start: int, stop: int, chunk: int, depth: int) -> torch.Tensor:
        num_chunks = -(-(stop - start) // chunk)
        if depth == 0 or num_chunks == 1:
            return part(slice(start, stop))
        middle = start + chunk * 2 ** ((num_chunks - 1).bit_length() - 1)
        return merged(part, start, middle, chunk, depth - 1) + merged(part, middle, stop, chunk, depth - 1)

    _, chunk = make(1)
    for k in (chunks * chunk, chunks * chunk - 1, (chunks - 1) * chunk + 1):
        part, _ = make(k)
        for depth in (1, 9):
            for number, target in enumerate(TARGETS):
                _core.set_target(target)
                repdl.set_num_threads(number % 3 + 1)
                assert same_bits(merged(part, 0, k, chunk, depth), part(slice(0, k))), (k, depth, target)


def test_parts_that_are_not_aligned_do_not_merge() -> None:
    """So that the test above can fail."""
    part, chunk = _products(6 * PRODUCT_CHUNK)
    whole = part(slice(None))
    middle = 3 * chunk
    assert not same_bits(part(slice(0, middle)) + part(slice(middle, None)), whole)


@pytest.mark.parametrize("name", ALL_OPS)
def test_samples_hold_hard_numbers(name: str) -> None:
    """NaN, infinities, signed zeros and subnormals (`special`, `bits`, `sweep`); or zeros and subnormals alone."""
    texts = [text for _, text in golden_lines(name)]
    kinds = [
        kind
        for kind in ("special[", "bits[", "sweep[", "infinite[", "nonnegative[")
        if any(kind in text for text in texts)
    ]
    only_integers = all(set(re.findall(r"([a-z]+)\d*[.\w]*\[", text)) <= {"classes", "offsets"} for text in texts)
    assert kinds or only_integers, f"the samples of {name} are harmless numbers alone"
