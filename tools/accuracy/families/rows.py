# SPDX-License-Identifier: MIT
"""What works on rows: softmax and losses, normalisations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from accuracy.calls import Call, Draw, family
from accuracy.precise import Array, cross_entropy, log_softmax, logsumexp, softmax, standardized


def _logits(draw: Draw) -> dict[str, Tensor]:
    return {"": draw.normal(200, 2000), ", logits of 20": 20 * draw.normal(200, 2000)}


@family("softmax", each=True)
def _softmax(draw: Draw) -> Iterator[Call]:
    for kind, x in _logits(draw).items():
        yield Call(f"softmax, rows of 2000{kind}", partial(torch.softmax, dim=1), (x,), softmax)
        yield Call(f"logsumexp, rows of 2000{kind}", partial(torch.logsumexp, dim=1), (x,), logsumexp)


@family("log_softmax and losses")
def _losses(draw: Draw) -> Iterator[Call]:
    labels = draw.places(2000, 200)
    for kind, x in _logits(draw).items():
        yield Call(f"log_softmax, rows of 2000{kind}", partial(torch.log_softmax, dim=1), (x,), log_softmax)
        yield Call(
            f"cross_entropy, 2000 classes, each row{kind}",
            partial(F.cross_entropy, reduction="none"),
            (x, labels),
            cross_entropy,
        )
    yield Call(
        "cross_entropy, 10 classes, 200 means of 128",
        lambda x, labels: torch.stack([F.cross_entropy(*both) for both in zip(x, labels)]),
        (draw.normal(200, 128, 10), draw.places(10, 200, 128)),
        lambda x, labels: np.array([cross_entropy(*both).mean() for both in zip(x, labels)]),
    )
    yield Call(
        "mse_loss, 200 means of 4096",
        lambda x, y: torch.stack([F.mse_loss(*both) for both in zip(x, y)]),
        (draw.normal(200, 4096), draw.normal(200, 4096)),
        lambda x, y: ((x - y) * (x - y)).mean(1),
    )
    yield Call(
        "binary_cross_entropy_with_logits, each",
        partial(F.binary_cross_entropy_with_logits, reduction="none"),
        (5 * draw.normal(4096), draw.between(0, 1, 4096)),
        lambda x, y: np.logaddexp(0, x) - x * y,
    )


@family("normalisations")
def _norms(draw: Draw) -> Iterator[Call]:
    weight, bias = draw.normal(768), draw.normal(768)
    for kind, x in {"": draw.normal(128, 768), " around 100": draw.normal(128, 768) + 100}.items():
        yield Call(
            f"layer_norm, rows of 768{kind}",
            lambda x, w, b: F.layer_norm(x, (768,), w, b),
            (x, weight, bias),
            lambda x, w, b: standardized(x) * w + b,
        )
    yield Call(
        "rms_norm, rows of 768",
        lambda x, w: F.rms_norm(x, (768,), w, 1e-5),
        (draw.normal(128, 768), weight),
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + np.longdouble(1e-5)) * w,
    )
    for kind, x in {"": draw.normal(16, 32, 14, 14), " around 100": draw.normal(16, 32, 14, 14) + 100}.items():
        yield Call(
            f"batch_norm, 16 of 32 × 14²{kind}",
            lambda x: F.batch_norm(x, None, None, training=True),
            (x,),
            partial(standardized, axes=(0, 2, 3)),
        )
        yield Call(f"group_norm, 16 of 32 × 14², 8 groups{kind}", lambda x: F.group_norm(x, 8), (x,), _of_groups)
    yield Call(
        "normalize, rows of 768",
        F.normalize,
        (draw.normal(128, 768),),
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
    )


def _of_groups(x: Array) -> Array:
    return standardized(x.reshape(len(x), 8, -1)).reshape(x.shape)
