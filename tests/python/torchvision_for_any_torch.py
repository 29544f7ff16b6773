# SPDX-License-Identifier: MIT
"""Imports torchvision, also beside a torch for CPUs alone, which cannot load the ops that were compiled for CUDA.

transformers and timm import torchvision wherever it is installed. To be imported before them. The ops are defined then
without kernels: what `repdl.enable()` has kernels for can be called.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import torch

_NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_POOLED = "Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
SCHEMAS = {
    "nms": _NMS,
    "qnms": _NMS,
    "roi_align": f"(Tensor input, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    "_roi_align_backward": f"(Tensor grad, {_POOLED}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool": f"(Tensor input, {_POOLED}) -> (Tensor, Tensor)",
    "_roi_pool_backward": f"(Tensor grad, {_POOLED.replace('rois,', 'rois, Tensor argmax,')}, {_SIZES}) -> Tensor",
}


def define_ops() -> None:
    """Those of torchvision's compiled ops that are not there, with the gradients."""
    missing = [name for name in SCHEMAS if not torch._C._jit_get_schemas_for_operator(f"torchvision::{name}")]
    for name in missing:
        torch.library.define(f"torchvision::{name}", SCHEMAS[name])
    for name, setup, backward in (("roi_align", _setup_align, _align), ("roi_pool", _setup_pool, _pool)):
        if name in missing:
            torch.library.register_autograd(f"torchvision::{name}", backward, setup_context=setup)


def _setup_align(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    input, rois, scale, height, width, ratio, aligned = inputs
    ctx.save_for_backward(rois)
    ctx.arguments = (scale, height, width, *input.shape, ratio, aligned)


def _align(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    (rois,) = ctx.saved_tensors
    return torch.ops.torchvision._roi_align_backward(grad, rois, *ctx.arguments), *[None] * 6


def _setup_pool(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
    input, rois, scale, height, width = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(rois, output[1])
    ctx.arguments = (scale, height, width, *input.shape)


def _pool(ctx: Any, grad: torch.Tensor, _: Any) -> tuple[torch.Tensor | None, ...]:
    return torch.ops.torchvision._roi_pool_backward(grad, *ctx.saved_tensors, *ctx.arguments), *[None] * 4


def import_torchvision() -> None:
    try:
        import torchvision
    except RuntimeError:  # operator torchvision::nms does not exist
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        define_ops()
        import torchvision  # noqa: F401


if find_spec("torchvision") is not None:
    import_torchvision()
