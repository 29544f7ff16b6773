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
}


def define_ops() -> None:
    """Those of torchvision's compiled ops that are not there, with the gradient."""
    for name, schema in SCHEMAS.items():
        if not torch._C._jit_get_schemas_for_operator(f"torchvision::{name}"):
            torch.library.define(f"torchvision::{name}", schema)
            if name == "_roi_align_backward":
                torch.library.register_autograd("torchvision::roi_align", _backward, setup_context=_setup)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    input, rois, scale, height, width, ratio, aligned = inputs
    ctx.save_for_backward(rois)
    ctx.arguments = (scale, height, width, *input.shape, ratio, aligned)


def _backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
    (rois,) = ctx.saved_tensors
    return torch.ops.torchvision._roi_align_backward(grad, rois, *ctx.arguments), *[None] * 6


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
