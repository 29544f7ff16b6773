# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample


@op(outputs=())
def sgd_step(
    param: Tensor,
    grad: Tensor,
    momentum_buffer: Tensor | None = None,
    first_step: bool = False,
    lr: float = 0.001,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
) -> None:
    """One step of SGD on one parameter, in place. `repdl.optim.SGD` is the optimizer.

    Args:
        param: float32 or float64; changed.
        grad: float32 or float64 of that shape.
        momentum_buffer: the same, changed too; None without momentum.
        first_step: the buffer holds nothing yet and is filled.
        lr, momentum, dampening, weight_decay, nesterov: as in torch.optim.SGD.
        maximize: climb instead of descend.
    """


@sgd_step.samples
def _() -> Iterator[Sample]:
    state = {"param": "normal[1000]#1", "grad": "normal[1000]#2"}
    yield sample(**state, lr=0.1)
    yield sample(param="normal[20000]#1", grad="normal[20000]#2", momentum_buffer="normal[20000]#3", momentum=0.9)
    yield sample(**state, lr=0.1, weight_decay=0.01, maximize=True)
    yield sample(**state, momentum_buffer="normal[1000]#3", first_step=True, momentum=0.9)
    yield sample(**state, momentum_buffer="normal[1000]#3", momentum=0.9, dampening=0.2)
    yield sample(**state, momentum_buffer="normal[1000]#3", momentum=0.9, nesterov=True, weight_decay=0.001)
    yield sample(param="special[300]#1", grad="bits[300]#2", momentum_buffer="special[300]#3", momentum=0.5)
