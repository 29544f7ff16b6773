# SPDX-License-Identifier: MIT
"""Compiled ops of torchvision that have kernels of ours."""

from __future__ import annotations

import torch

from repdl.interception.core import ops
from repdl.interception.override import of_library


@of_library("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
def nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    indices, count = ops["nms"](dets, scores, iou_threshold)
    return indices[: int(count)]


@of_library(
    "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor"
)
def roi_align(
    input: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    size = pooled_height, pooled_width
    return ops["roi_align"](input, *_parts(rois, input.shape[0]), size, spatial_scale, sampling_ratio, aligned)


@of_library(
    "torchvision::_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width, int batch_size, int channels, int height, int width, int sampling_ratio, bool aligned) -> Tensor"
)
def _roi_align_backward(
    grad: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    size = batch_size, channels, height, width
    return ops["roi_align_grad"](grad, *_parts(rois, batch_size), size, spatial_scale, sampling_ratio, aligned)


@of_library(
    "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width) "
    "-> (Tensor, Tensor)"
)
def roi_pool(
    input: torch.Tensor, rois: torch.Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    size = pooled_height, pooled_width
    output, places = ops["roi_pool"](input, *_parts(rois, input.shape[0]), size, spatial_scale)
    return output, places.to(torch.int32)


@of_library(
    "torchvision::_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, int pooled_height, "
    "int pooled_width, int batch_size, int channels, int height, int width) -> Tensor",
    low="widen",
)
def _roi_pool_backward(
    grad: torch.Tensor,
    rois: torch.Tensor,
    argmax: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    batch_size: int,
    channels: int,
    height: int,
    width: int,
) -> torch.Tensor:
    _, indices = _parts(rois, batch_size)
    return ops["roi_pool_grad"](grad, argmax.to(torch.int64), indices, (batch_size, channels, height, width))


def _parts(rois: torch.Tensor, images: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The boxes, and the image of each: -1, which the op refuses, for what is none."""
    if rois.dim() != 2 or rois.shape[1] != 5:
        raise RuntimeError(f"rois must have shape as Tensor[K, 5], got {list(rois.shape)}")
    image = rois[:, 0]
    return rois[:, 1:], torch.where((image > -1) & (image < images), image, -1.0).to(torch.int64)
