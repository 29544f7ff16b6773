# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample


@op(outputs=())
def adam_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor | None = None,
    step: int = 1,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-08,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> None:
    """One step of Adam on one parameter, in place. `repdl.optim.Adam` is the optimizer.

    Args:
        param, exp_avg, exp_avg_sq: float32 or float64 of one shape; changed.
        grad: float32 or float64 of that shape.
        max_exp_avg_sq: the same, changed too: the AMSGrad variant. None for plain Adam.
        step: 1 for the first step.
        lr, beta1, beta2, eps, weight_decay: as in torch.optim.Adam.
        maximize: climb instead of descend.
    """


@op(outputs=())
def adamw_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor | None = None,
    step: int = 1,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-08,
    weight_decay: float = 0.01,
    maximize: bool = False,
) -> None:
    """One step of AdamW, Adam with decoupled weight decay. Arguments as for `adam_step`."""


def _samples() -> Iterator[Sample]:
    state = {
        "param": "normal[1000]#1", "grad": "normal[1000]#2", "exp_avg": "uniform[1000]#3",
        "exp_avg_sq": "positive[1000]#4",
    }  # fmt: skip
    yield sample(**state)
    yield sample(**state, step=1200, lr=0.01)
    yield sample(**state, step=7, weight_decay=0.05, maximize=True)
    yield sample(**state, max_exp_avg_sq="positive[1000]#5", step=3, beta1=0.5, beta2=0.9, eps=0.001)
    yield sample(
        param="special[300]#1", grad="bits[300]#2", exp_avg="special[300]#3", exp_avg_sq="special[300]#4", step=2
    )
    yield sample(
        param="normal[20000]#1", grad="normal[20000]#2", exp_avg="uniform[20000]#3", exp_avg_sq="positive[20000]#4"
    )
    yield sample(param="normal[3, 5]#1", grad="wide[3, 5]#2", exp_avg="wide[3, 5]#3", exp_avg_sq="positive[3, 5]#4")


adam_step.samples(_samples)
adamw_step.samples(_samples)
