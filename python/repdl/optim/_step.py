# SPDX-License-Identifier: MIT
"""What the optimizers share: which parameters have a gradient, and tensors in a layout that the kernels take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from repdl import _torch  # noqa: F401 (registers the ops with torch)


def evaluate(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def parameters_with_gradient(optimizer: str, group: dict[str, Any]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for parameter in group["params"]:
        grad = parameter.grad
        if grad is None:
            continue
        if grad.is_sparse:
            raise RuntimeError(f"[{optimizer}] sparse gradients are not supported; make the gradient dense")
        yield parameter, grad


class TakesNoScale:
    """Mixed in before torch's optimizer, of which `fused=True` tells a GradScaler that `step` divides by the scale.

    The kernels do not, so the scaler has to do that itself, and to leave out the steps of gradients that overflow.
    """

    @property
    def _step_supports_amp_scaling(self) -> bool:
        return False

    @_step_supports_amp_scaling.setter
    def _step_supports_amp_scaling(self, supports: bool) -> None:
        pass


def number(value: Any) -> float:
    """A hyperparameter, which may be a tensor of one element."""
    return float(value)


def call_flat(kernel: Callable[..., None], tensors: Sequence[torch.Tensor | None], *options: Any) -> None:
    """Calls a kernel that walks memory, and so wants all tensors in one layout without gaps.

    Tensors that are laid out otherwise are copied, and changes are copied back. The second tensor, the gradient, is
    the one that does not change.
    """
    present = [t for t in tensors if t is not None]
    first = present[0]
    stride = first.stride()
    if all(t.stride() == stride for t in present) and (first.is_contiguous() or _is_dense(first)):
        kernel(*tensors, *options)
    else:
        copies = [None if t is None else t.contiguous() for t in tensors]
        kernel(*copies, *options)
        for original, copy in zip(tensors, copies, strict=True):
            if original is not None and copy is not None and copy is not original and original is not tensors[1]:
                original.copy_(copy)
    torch.autograd.graph.increment_version([t for t in present if t is not tensors[1]])


def _is_dense(tensor: torch.Tensor) -> bool:
    """Fills its memory without gaps or overlaps, in some order of its dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True
