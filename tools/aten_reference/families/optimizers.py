# SPDX-License-Identifier: MIT
"""The fused steps of torch.optim, in the steps of its single-tensor forms; and lists of tensors."""

from __future__ import annotations

from typing import Any

from ..numbers import add, div, float32, mul, sqrt, sub
from ..registry import reference
from ..tensors import Tensor, each, rounded
from .arithmetic import addcdiv, lerp
from .choices import at_least, at_most, larger, smaller


def _step(function: Any, *operands: Any) -> Tensor:
    return each(function, *operands)


def _decayed(param: Tensor, grad: Tensor, weight_decay: float, maximize: bool) -> Tensor:
    if maximize:
        grad = _step(lambda g: -g, grad)
    if weight_decay != 0:
        grad = _step(lambda g, p: add(g, mul(p, float32(weight_decay))), grad, param)
    return grad


_SETTINGS = (
    "lr=0.001, weight_decay=0.0, maximize=False",
    "lr=0.03, weight_decay=0.1, maximize=True",
)
_PARAMS = "self=[normal[303]#1, special[3, 7]#2], grads=[normal[303]#3, normal[3, 7]#4]"


def _root(x: Tensor, over: float, more: float) -> Tensor:
    """sqrt(x) / over + more."""
    return _step(lambda v: add(div(sqrt(v), over), more), x)


_BY_TENSOR = "lr=unit[]#5, weight_decay=0.1, maximize=True"
"""With a learning rate that is a tensor."""


def _of_adam(setting: str) -> list[str]:
    return [
        f"{_PARAMS}, exp_avgs=[normal[303]#5, normal[3, 7]#6], exp_avg_sqs=[positive[303]#7, positive[3, 7]#8], "
        f"max_exp_avg_sqs={peaks}, state_steps=[unit[]#1, positive[]#2], {setting}, beta1=0.9, beta2=0.999, "
        f"eps=1e-08, amsgrad={amsgrad}"
        for amsgrad, peaks in ((False, "[]"), (True, "[positive[303]#9, positive[3, 7]#10]"))
    ]


def _adam(name: str, decoupled: bool) -> None:
    @reference(name, cases=[case for setting in _SETTINGS for case in _of_adam(setting)])
    def run(
        self: list[Tensor],
        grads: list[Tensor],
        exp_avgs: list[Tensor],
        exp_avg_sqs: list[Tensor],
        max_exp_avg_sqs: list[Tensor],
        state_steps: list[Tensor],
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
    ) -> list[list[Tensor]]:
        results: list[list[Tensor]] = [[], [], [], [], []]
        for i, param in enumerate(self):
            grad = _decayed(param, grads[i], 0 if decoupled else weight_decay, maximize)
            if decoupled and weight_decay != 0:
                param = _step(lambda p: mul(p, float32(1 - lr * weight_decay)), param)
            count = state_steps[i].item()
            mean = _step(lambda m, g: lerp(m, g, float32(1 - beta1)), exp_avgs[i], grad)
            square = _step(
                lambda v, g: add(mul(v, float32(beta2)), mul(mul(g, float32(1 - beta2)), g)), exp_avg_sqs[i], grad
            )
            peak = square
            if amsgrad:
                peak = _step(larger, max_exp_avg_sqs[i], square)
                results[4].append(peak)
            denominator = _root(peak, float32((1 - beta2**count) ** 0.5), float32(eps))
            param = addcdiv(param, mean, denominator, -(lr / (1 - beta1**count)))
            for held, value in zip(results, (param, grads[i], mean, square), strict=False):
                held.append(value)
        return results

    @reference(f"{name}.tensor_lr", cases=_of_adam(_BY_TENSOR))
    def by_tensor(lr: Tensor, **arguments: Any) -> list[list[Tensor]]:
        return run(lr=lr.item(), **arguments)


_adam("_fused_adam_", decoupled=False)
_adam("_fused_adamw_", decoupled=True)


@reference(
    "_fused_adagrad_",
    cases=[
        f"{_PARAMS}, state_sums=[positive[303]#7, {sums}[3, 7]#8], state_steps=[unit[]#1, positive[]#2], {setting}, "
        f"lr_decay={decay}, eps=1e-10"
        for setting in _SETTINGS
        for decay in (0.0, 0.01)
        for sums in ("positive", "zeros", "special")
    ],
)
def fused_adagrad(
    self: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    lr: float,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> list[list[Tensor]]:
    params, sums = [], []
    for i, param in enumerate(self):
        grad = _decayed(param, grads[i], weight_decay, maximize)
        sums.append(_step(lambda s, g: add(s, mul(g, g)), state_sums[i], grad))
        rate = lr / (1 + (state_steps[i].item() - 1) * lr_decay)
        params.append(addcdiv(param, grad, _root(sums[-1], 1.0, float32(eps)), -rate))
    return [params, grads, sums, state_steps]


@reference(
    "_fused_adagrad_.tensor_lr",
    cases=[
        f"{_PARAMS}, state_sums=[positive[303]#7, positive[3, 7]#8], state_steps=[unit[]#1, positive[]#2], "
        "lr=unit[]#5, lr_decay=0.01, weight_decay=0.1, eps=1e-10, maximize=False"
    ],
)
def fused_adagrad_by_tensor(lr: Tensor, **arguments: Any) -> list[list[Tensor]]:
    return fused_adagrad(lr=lr.item(), **arguments)[:3]


def _of_sgd(setting: str) -> list[str]:
    return [
        f"{_PARAMS}, momentum_buffer_list={buffers}, {setting}, momentum={momentum}, dampening={dampening}, "
        f"nesterov={nesterov}, is_first_step={first}"
        for buffers, momentum, dampening, nesterov, first in (
            ("[]", 0.0, 0.0, False, False),
            ("[normal[303]#5, normal[3, 7]#6]", 0.9, 0.1, False, False),
            ("[normal[303]#5, normal[3, 7]#6]", 0.9, 0.0, True, True),
        )
    ]


@reference("_fused_sgd_", cases=[case for setting in _SETTINGS for case in _of_sgd(setting)])
def fused_sgd(
    self: list[Tensor],
    grads: list[Tensor],
    momentum_buffer_list: list[Tensor],
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> list[list[Tensor]]:
    results: list[list[Tensor]] = [[], [], []]
    for i, param in enumerate(self):
        grad = _decayed(param, grads[i], weight_decay, maximize)
        if momentum != 0:
            buffer = grad
            if not is_first_step:
                buffer = _step(
                    lambda b, g: add(mul(b, float32(momentum)), mul(g, float32(1 - dampening))),
                    momentum_buffer_list[i],
                    grad,
                )
            results[2].append(buffer)
            grad = _step(lambda g, b: add(g, mul(b, float32(momentum))), grad, buffer) if nesterov else buffer
        results[0].append(_step(lambda p, g: add(p, mul(g, float32(-lr))), param, grad))
        results[1].append(grads[i])
    return results


@reference("_fused_sgd_.tensor_lr", cases=_of_sgd(_BY_TENSOR))
def fused_sgd_by_tensor(lr: Tensor, **arguments: Any) -> list[list[Tensor]]:
    return fused_sgd(lr=lr.item(), **arguments)


# Lists of tensors: each as by itself.


def _lists(more: str = "", second: str = "other") -> list[str]:
    return [
        f"self=[{g}{t}[203]#1, special{t}[3, 7]#2, normal{t}[0]#3], "
        f"{second}=[{g}{t}[203]#4, special{t}[3, 7]#5, normal{t}[0]#6]{more}"
        for t in ("", ".bfloat16", ".float16")
        for g in ("normal", "zeros")
    ]


def _foreach(name: str, function: Any, more: str = "") -> None:
    @reference(f"_foreach_{name}.List", cases=_lists(more))
    def run(self: list[Tensor], other: list[Tensor], alpha: Any = 1) -> list[Tensor]:
        if more:
            return [
                each(lambda x, y: function(x, mul(y, float32(alpha))), a, b) for a, b in zip(self, other, strict=True)
            ]
        return [each(function, a, b) for a, b in zip(self, other, strict=True)]


_foreach("add", add, ", alpha=0.3")
_foreach("sub", sub, ", alpha=0.3")
_foreach("mul", mul)
_foreach("div", div)
_foreach("maximum", larger)
_foreach("minimum", smaller)
_foreach("clamp_min", at_least)
_foreach("clamp_max", at_most)

_ONE = [f"self=[special{t}[203]#1, bits{t}[3, 7]#2, normal{t}[0]#3]" for t in ("", ".bfloat16", ".float16")]


def _foreach_one(name: str, function: Any) -> None:
    @reference(f"_foreach_{name}", cases=_ONE)
    def run(self: list[Tensor]) -> list[Tensor]:
        return [each(function, x) for x in self]


_foreach_one("sqrt", sqrt)
_foreach_one("neg", lambda x: -x)
_foreach_one("reciprocal", lambda x: div(1.0, x))


@reference("_foreach_lerp.Scalar", cases=[c + ", weight=0.1" for c in _lists(second="tensors1")])
def foreach_lerp(self: list[Tensor], tensors1: list[Tensor], weight: float) -> list[Tensor]:
    return [each(lambda x, y: lerp(x, y, float32(weight)), a, b) for a, b in zip(self, tensors1, strict=True)]


@reference(
    "_foreach_addcdiv.Scalar",
    cases=[
        "self=[normal[203]#1, special[3, 7]#2], tensor1=[normal[203]#3, special[3, 7]#4], "
        "tensor2=[normal[203]#5, special[3, 7]#6], value=-0.03"
    ],
)
def foreach_addcdiv(self: list[Tensor], tensor1: list[Tensor], tensor2: list[Tensor], value: float) -> list[Tensor]:
    lists = zip(self, tensor1, tensor2, strict=True)
    return [each(lambda x, y, z: add(x, div(mul(y, float32(value)), z)), a, b, c) for a, b, c in lists]


@reference(
    "_amp_foreach_non_finite_check_and_unscale_",
    cases=[
        f"self=[normal[203]#1, {hard}[7]#2, normal.float16[3]#3], found_inf=zeros[1]#11, inv_scale=positive[1]#2"
        for hard in ("special", "normal")
    ],
)
def amp_unscale(self: list[Tensor], found_inf: Tensor, inv_scale: Tensor) -> list[Any]:
    scale = inv_scale.item()
    found = found_inf.item()
    if any(x - x != 0 for t in self for x in t.data):
        found = 1.0
    return [
        *(Tensor(t.dtype, t.shape, [rounded(mul(x, scale), t.dtype) for x in t.data]) for t in self),
        Tensor("float32", (1,), [found]),
    ]
