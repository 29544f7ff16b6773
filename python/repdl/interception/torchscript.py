# SPDX-License-Identifier: MIT
"""TorchScript computes what the program says: what freezing would fold, or hand to oneDNN, stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from repdl.interception.replaced import replaced


@contextmanager
def as_written() -> Iterator[None]:
    """In this block, `torch.jit.freeze` and `optimize_for_inference` keep the bits of the module.

    By themselves they fold what follows a convolution into its weights, and give convolutions to oneDNN below the
    dispatcher, where no kernel of ours could stand.
    """
    with ExitStack() as stack:
        for name, make in (
            ("_jit_pass_optimize_frozen_graph", _without_folding),
            ("_jit_pass_optimize_for_inference", _left_out),
        ):
            stack.enter_context(replaced(torch._C, name, make))
        yield


def _without_folding(original: Callable[..., Any]) -> Callable[..., Any]:
    def optimize_frozen_graph(graph: Any, optimize_numerics: bool = True) -> Any:
        return original(graph, False)

    return optimize_frozen_graph


def _left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    def optimize_for_inference(module: Any, other_methods: Any = ()) -> None:
        pass

    return optimize_for_inference
