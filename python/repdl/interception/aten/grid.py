# SPDX-License-Identifier: MIT
"""Samples of an image or volume at the places of a grid: the ops of the core."""

from __future__ import annotations

from typing import Any

import torch

from repdl._order import get_order
from repdl.interception import core
from repdl.interception.override import override

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@override("grid_sampler_2d", "grid_sampler_3d", wide="float64", alike=(0, 1))
def grid_sampler(
    input: torch.Tensor, grid: torch.Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> torch.Tensor:
    settings = _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    result: torch.Tensor = core.ops["grid_sample"](input, grid, *settings)
    return result


@override("grid_sampler_2d_backward", "grid_sampler_3d_backward", wide="float64")
def grid_sampler_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Any,
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    settings = _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    by_input = by_grid = None
    if output_mask[0]:
        by_input = core.ops["grid_sample_grad_input"](grad_output, grid, list(input.shape[2:]), *settings)
    if output_mask[1]:
        by_grid = core.ops["grid_sample_grad_grid"](grad_output, input, grid, *settings, get_order())
    return by_input, by_grid
