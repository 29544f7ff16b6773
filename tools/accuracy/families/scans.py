# SPDX-License-Identifier: MIT
"""Running sums and products."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from accuracy.calls import Call, Draw, family


@family("running sums and products")
def _scans(draw: Draw) -> Iterator[Call]:
    rows = (draw.normal(64, 4096),)
    sums, products, logs = (partial(f, dim=1) for f in (torch.cumsum, torch.cumprod, torch.logcumsumexp))
    yield Call("cumsum, rows of 4096", sums, rows, lambda x: x.cumsum(1))
    yield Call("cumsum, positive", sums, (draw.between(0, 1, 64, 4096),), lambda x: x.cumsum(1))
    yield Call("cumsum, cancelling", sums, (draw.cancelling(64, 4096),), lambda x: x.cumsum(1))
    yield Call("cumsum, columns", partial(torch.cumsum, dim=0), (draw.normal(4096, 64),), lambda x: x.cumsum(0))
    yield Call("cumprod, rows of 256 near 1", products, (draw.between(0.9, 1.1, 256, 256),), lambda x: x.cumprod(1))
    log_sums = partial(np.logaddexp.accumulate, axis=1)
    yield Call("logcumsumexp, rows of 4096", logs, rows, log_sums)
    yield Call("logcumsumexp, far apart", logs, (draw.normal(64, 4096) * 400,), log_sums)
