# SPDX-License-Identifier: MIT
"""The steps of torch.optim, which torch's fused optimizers call under `repdl.enable()`."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample


@op(outputs=())
def fused_adam_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor | None = None,
    step: float = 1.0,
    lr: float = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-08,
    weight_decay: float = 0.0,
    maximize: bool = False,
    decoupled: bool = False,
) -> None:
    """One step of torch.optim.Adam or AdamW on one parameter, in place, with the bits of their single-tensor forms.

    Args:
        param, exp_avg, exp_avg_sq: of one shape and dtype, in any layout; changed.
        grad: the same.
        max_exp_avg_sq: the same, changed too: the AMSGrad variant. None for plain Adam.
        step: 1 for the first step.
        lr, beta1, beta2, eps, weight_decay: as in torch.optim.Adam.
        maximize: climb instead of descend.
        decoupled: the weight decay of AdamW.
    """


@op(outputs=())
def fused_adagrad_step(
    param: Tensor,
    grad: Tensor,
    state_sum: Tensor,
    step: float = 1.0,
    lr: float = 0.01,
    lr_decay: float = 0.0,
    eps: float = 1e-10,
    weight_decay: float = 0.0,
    maximize: bool = False,
) -> None:
    """One step of torch.optim.Adagrad on one parameter, in place. Arguments as for `fused_adam_step`.

    Args:
        state_sum: the sum of the squared gradients; changed.
        lr_decay: as in torch.optim.Adagrad.
    """


@op(outputs=())
def fused_sgd_step(
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
    """One step of torch.optim.SGD on one parameter, in place. Arguments as for `fused_adam_step`.

    Args:
        momentum_buffer: changed; None without momentum.
        first_step: the buffer holds nothing yet and is filled.
        momentum, dampening, nesterov: as in torch.optim.SGD.
    """


@fused_adam_step.samples
def _() -> Iterator[Sample]:
    state = {
        "param": "normal[303]#1", "grad": "normal[303]#2", "exp_avg": "normal[303]#3", "exp_avg_sq": "positive[303]#4",
    }  # fmt: skip
    yield sample(**state, step=7.0)
    yield sample(**state, step=0.75, beta1=0.25, beta2=0.9, weight_decay=0.1, lr=0.03)
    yield sample(**state, max_exp_avg_sq="positive[303]#5", step=1200.0, weight_decay=0.05, maximize=True)
    yield sample(
        param="special[300]#1", grad="bits[300]#2", exp_avg="special[300]#3", exp_avg_sq="special[300]#4",
        max_exp_avg_sq="special[300]#5", weight_decay=0.1, decoupled=True,
    )  # fmt: skip
    yield sample(
        param="normal[20000]#1", grad="wide[20000]#2", exp_avg="uniform[20000]#3", exp_avg_sq="positive[20000]#4",
        decoupled=True,
    )  # fmt: skip
    for t in ("bfloat16", "float16"):
        yield sample(
            param=f"normal.{t}[1100]#1", grad=f"special.{t}[1100]#2", exp_avg=f"normal.{t}[1100]#3",
            exp_avg_sq=f"positive.{t}[1100]#4", step=3.0, weight_decay=0.1, decoupled=True,
        )  # fmt: skip


@fused_adagrad_step.samples
def _() -> Iterator[Sample]:
    state = {"param": "normal[303]#1", "grad": "normal[303]#2", "state_sum": "positive[303]#3"}
    yield sample(**state, step=5.0, lr_decay=0.01)
    yield sample(**state, weight_decay=0.1, maximize=True)
    yield sample(param="special[300]#1", grad="bits[300]#2", state_sum="special[300]#3")
    yield sample(param="normal[20000]#1", grad="wide[20000]#2", state_sum="zeros[20000]#3")
    for t in ("bfloat16", "float16"):
        yield sample(param=f"normal.{t}[600]#1", grad=f"normal.{t}[600]#2", state_sum=f"positive.{t}[600]#3")


@fused_sgd_step.samples
def _() -> Iterator[Sample]:
    state = {"param": "normal[303]#1", "grad": "normal[303]#2"}
    yield sample(**state, lr=0.1, weight_decay=0.01, maximize=True)
    yield sample(**state, momentum_buffer="normal[303]#3", first_step=True, momentum=0.9)
    yield sample(**state, momentum_buffer="normal[303]#3", momentum=0.9, dampening=0.2)
    yield sample(param="normal[20000]#1", grad="wide[20000]#2", momentum_buffer="normal[20000]#3", momentum=0.9)
    yield sample(
        param="special[300]#1", grad="bits[300]#2", momentum_buffer="special[300]#3", momentum=0.5, nesterov=True
    )
    for t in ("bfloat16", "float16"):
        yield sample(
            param=f"normal.{t}[600]#1", grad=f"special.{t}[600]#2", momentum_buffer=f"normal.{t}[600]#3",
            momentum=0.9, weight_decay=0.1,
        )  # fmt: skip
