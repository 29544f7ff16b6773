# SPDX-License-Identifier: MIT
"""Imports torchvision, also beside a torch for CPUs alone, which cannot load the ops that were compiled for CUDA.

transformers and timm import torchvision wherever it is installed. To be imported before them.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import torch


def import_torchvision() -> None:
    try:
        import torchvision
    except RuntimeError:  # operator torchvision::nms does not exist
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for op in ("nms", "qnms"):
            torch.library.define(f"torchvision::{op}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision  # noqa: F401


if find_spec("torchvision") is not None:
    import_torchvision()
