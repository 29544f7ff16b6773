# SPDX-License-Identifier: MIT
"""Calls that are one op of the core: their lines are those of the op's golden file, in other words."""

from __future__ import annotations

from math import prod
from typing import Any

from repdl._op import registry as ops
from repdl.interception.native import overload as overload_of

from ..registry import Arguments, from_core, is_of_complex, registry, text_of
from ..tensors import Shape


def _shape(value: Any) -> Shape:
    return value.shape  # type: ignore[no-any-return]


def _renamed(op: str, overload: str, more: str = "", **names: str) -> None:
    """All lines of an op, its arguments by other names; those that are not named keep theirs."""

    @from_core(op, overload)
    def translate(arguments: Arguments) -> str:
        return ", ".join(f"{names.get(name, name)}={text_of(value)}" for name, value in arguments.items()) + more


def declare_rest() -> None:
    """The overloads that an op is as it stands (`@op(aten=…)`) and that nothing else was declared for.

    Lines of complex numbers come on top.
    """
    known = {
        overload for overload, found in registry.of_core.items() if not all(is_of_complex(name) for name, *_ in found)
    }
    for op in ops.values():
        for overload in op.aten:
            if overload not in registry.of and overload not in known:
                names = {argument.name for argument in overload_of(overload)._schema.arguments}
                _renamed(op.name, overload, **({"input": "self"} if "self" in names else {}))


for _name in ("reciprocal", "softplus", "square"):
    _renamed(_name, _name, input="self")
_renamed("square", "pow.Tensor_Scalar", ", exponent=2", input="self")
_renamed("cube", "pow.Tensor_Scalar", ", exponent=3", input="self")
_renamed("reciprocal", "pow.Tensor_Scalar", ", exponent=-1", input="self")
_renamed("sqrt", "pow.Tensor_Scalar", ", exponent=0.5", input="self")
_renamed("gelu", "gelu", input="self")
_renamed("gelu_tanh", "gelu", ", approximate='tanh'", input="self")
_renamed("gelu_grad", "gelu_backward", input="self")
_renamed("gelu_tanh_grad", "gelu_backward", ", approximate='tanh'", input="self")
_renamed("logsigmoid", "log_sigmoid_forward", input="self")


@from_core("logsigmoid_grad", "log_sigmoid_backward")
def log_sigmoid_backward(arguments: Arguments) -> str:
    grad, x = arguments["grad_output"], arguments["input"]
    return f"grad_output={text_of(grad)}, self={text_of(x)}, buffer={_other(grad, (0,))}"


_renamed("glu", "glu", input="self")
_renamed("glu_grad", "glu_backward", input="self")
_renamed("scaled_softplus", "softplus", input="self")
_renamed("scaled_softplus_grad", "softplus_backward", input="self")

for _name in ("atan2", "hypot", "logaddexp"):
    _renamed(_name, _name, input="self")
_renamed("xlogy", "xlogy.Tensor", input="self")
_renamed("pow", "pow.Tensor_Tensor", input="self")
_renamed("add", "add.Tensor", input="self")
_renamed("sub", "sub.Tensor", input="self")
_renamed("addcmul", "addcmul", input="self")
_renamed("addcdiv", "addcdiv", input="self")
_renamed("lerp", "lerp.Scalar", input="self")


# Sums.


def _reduction(op: str, overload: str, dim: str = "None", more: str = "") -> None:
    @from_core(op, overload)
    def translate(arguments: Arguments) -> str | None:
        if arguments.pop("average", False):
            return None
        arguments.setdefault("dim", None)
        names = {"input": "self"}
        return ", ".join(f"{names.get(name, name)}={text_of(value)}" for name, value in arguments.items()) + more


_reduction("sum", "sum.dim_IntList")
_reduction("mean", "mean.dim")
_reduction("norm", "linalg_vector_norm", more=", ord=2")
_reduction("var", "var.correction")
_reduction("std", "std.correction")


def _softmax(op: str, overload: str, more: str) -> None:
    @from_core(op, overload)
    def translate(arguments: Arguments) -> str:
        arguments.setdefault("dim", -1)
        names = {"input": "self"}
        return ", ".join(f"{names.get(name, name)}={text_of(value)}" for name, value in arguments.items()) + more


_softmax("softmax", "_softmax", ", half_to_float=False")
_softmax("log_softmax", "_log_softmax", ", half_to_float=False")
_softmax("softmax_grad", "_softmax_backward_data", ", input_dtype=float32")
_softmax("log_softmax_grad", "_log_softmax_backward_data", ", input_dtype=float32")


# Products.


@from_core("mm", "mm")
def mm(arguments: Arguments) -> str | None:
    a, b = arguments["input"], arguments["mat2"]
    if "transA" in arguments or "transB" in arguments or len(_shape(a)) != 2 or len(_shape(b)) != 2:
        return None
    return f"self={text_of(a)}, mat2={text_of(b)}, order={arguments['order']!r}"


@from_core("mm", "bmm")
def bmm(arguments: Arguments) -> str | None:
    a, b = arguments["input"], arguments["mat2"]
    if "transA" in arguments or "transB" in arguments or len(_shape(a)) != 3 or _shape(a)[:1] != _shape(b)[:1]:
        return None
    return f"self={text_of(a)}, mat2={text_of(b)}, order={arguments['order']!r}"


_renamed("addmm", "addmm", input="self")
_renamed("linear", "linear")


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else tuple(value)  # type: ignore[return-value]


def _convolution(arguments: Arguments) -> str:
    stride, padding, dilation = (
        _pair(arguments.get(n, d)) for n, d in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    return (
        f"stride={stride}, padding={padding}, dilation={dilation}, transposed=False, output_padding=(0, 0), "
        f"groups={arguments.get('groups', 1)}, order={arguments['order']!r}"
    )


@from_core("conv2d", "convolution")
def convolution(arguments: Arguments) -> str:
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "weight", "bias"))
    return f"{tensors}, {_convolution(arguments)}"


@from_core("conv2d", "_convolution")
def convolution_of_traces(arguments: Arguments) -> str:
    return f"{convolution(arguments)}, benchmark=False, deterministic=False, cudnn_enabled=False, allow_tf32=False"


@from_core("conv2d", "_convolution.deprecated")
def convolution_of_old_traces(arguments: Arguments) -> str:
    return f"{convolution(arguments)}, benchmark=False, deterministic=False, cudnn_enabled=False"


@from_core("conv2d", "_slow_conv2d_forward")
def slow_conv2d(arguments: Arguments) -> str | None:
    if arguments.get("groups", 1) != 1 or _pair(arguments.get("dilation", 1)) != (1, 1):
        return None
    input, weight = arguments["input"], arguments["weight"]
    return (
        f"self={text_of(input)}, weight={text_of(weight)}, kernel_size={_shape(weight)[2:]}, "
        f"bias={text_of(arguments.get('bias'))}, stride={_pair(arguments.get('stride', 1))}, "
        f"padding={_pair(arguments.get('padding', 0))}, order={arguments['order']!r}"
    )


def _other(like: Any, shape: Shape) -> str:
    """A tensor whose shape alone counts."""
    dtype = "" if like.dtype == "float32" else f".{like.dtype}"
    return f"normal{dtype}[{', '.join(map(str, shape))}]#99"


@from_core("conv2d_grad_input", "convolution_backward")
def convolution_by_input(arguments: Arguments) -> str:
    grad, weight = arguments["grad_output"], arguments["weight"]
    input = _other(grad, arguments["input_shape"])
    tensors = f"grad_output={text_of(grad)}, input={input}, weight={text_of(weight)}, bias_sizes=None"
    return f"{tensors}, {_convolution(arguments)}, output_mask=(True, False, False)"


@from_core("conv2d_grad_kernel", "convolution_backward")
def convolution_by_weight(arguments: Arguments) -> str:
    grad, input = arguments["grad_output"], arguments["input"]
    weight = _other(grad, arguments["weight_shape"])
    tensors = f"grad_output={text_of(grad)}, input={text_of(input)}, weight={weight}, bias_sizes=None"
    return f"{tensors}, {_convolution(arguments)}, output_mask=(False, True, False)"


@from_core("conv2d_grad_input", "convolution")
def transposed_convolution(arguments: Arguments) -> str | None:
    """Where the shape of the input is the smallest with this output."""
    grad, weight, shape = arguments["grad_output"], arguments["weight"], arguments["input_shape"]
    stride, padding, dilation = (
        _pair(arguments.get(n, d)) for n, d in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    if 0 in _shape(grad) or 0 in shape:
        return None
    more = tuple(
        shape[2 + i] - ((_shape(grad)[2 + i] - 1) * s - 2 * p + d * (_shape(weight)[2 + i] - 1) + 1)
        for i, (s, p, d) in enumerate(zip(stride, padding, dilation, strict=True))
    )
    if any(not 0 <= m < s for m, s in zip(more, stride, strict=True)):
        return None
    settings = _convolution(arguments).replace(
        "transposed=False, output_padding=(0, 0)", f"transposed=True, output_padding={more}"
    )
    return f"input={text_of(grad)}, weight={text_of(weight)}, bias=None, {settings}"


def _settings(arguments: Arguments, rank: int) -> str:
    """Of `convolution` and its gradients."""
    firsts = {"stride": 1, "padding": 0, "dilation": 1, "transposed": False, "output_padding": 0, "groups": 1}
    given = {name: arguments.get(name, first) for name, first in firsts.items()}
    for name in ("stride", "padding", "dilation", "output_padding"):
        given[name] = (given[name],) * rank if isinstance(given[name], int) else tuple(given[name])
    return ", ".join(f"{name}={value}" for name, value in given.items()) + f", order={arguments['order']!r}"


@from_core("convolution", "convolution")
def convolution_of_any_rank(arguments: Arguments) -> str:
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "weight", "bias"))
    return f"{tensors}, {_settings(arguments, len(_shape(arguments['input'])) - 2)}"


@from_core("convolution_grad_input", "convolution_backward")
def convolution_of_any_rank_by_input(arguments: Arguments) -> str:
    grad, weight, shape = arguments["grad_output"], arguments["weight"], arguments["input_shape"]
    tensors = f"grad_output={text_of(grad)}, input={_other(grad, shape)}, weight={text_of(weight)}, bias_sizes=None"
    return f"{tensors}, {_settings(arguments, len(shape) - 2)}, output_mask=(True, False, False)"


@from_core("convolution_grad_kernel", "convolution_backward")
def convolution_of_any_rank_by_weight(arguments: Arguments) -> str:
    grad, input, shape = arguments["grad_output"], arguments["input"], arguments["weight_shape"]
    tensors = f"grad_output={text_of(grad)}, input={text_of(input)}, weight={_other(grad, shape)}, bias_sizes=None"
    return f"{tensors}, {_settings(arguments, len(shape) - 2)}, output_mask=(False, True, False)"


# Norms.


@from_core("layer_norm", "native_layer_norm")
def layer_norm(arguments: Arguments) -> str | None:
    if _shape(arguments["input"]) and 0 in _shape(arguments["input"]):
        return None
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "normalized_shape", "weight", "bias"))
    return f"{tensors}, eps={arguments.get('eps', 1e-05)}, order={arguments['order']!r}"


@from_core("layer_norm_grad", "native_layer_norm_backward")
def layer_norm_backward(arguments: Arguments) -> str | None:
    names = ("input", "normalized_shape", "mean", "rstd", "weight")
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in names)
    grad = text_of(arguments["grad_output"])
    return f"grad_out={grad}, {tensors}, bias=None, output_mask=(True, True, True), order={arguments['order']!r}"


def _groups(arguments: Arguments, groups: int) -> str:
    n, c, *rest = _shape(arguments["input"])
    return f"N={n}, C={c}, HxW={prod(rest)}, group={groups}"


@from_core("group_norm", "native_group_norm")
def group_norm(arguments: Arguments) -> str | None:
    if 0 in _shape(arguments["input"]):
        return None
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "weight", "bias"))
    groups = _groups(arguments, arguments["num_groups"])
    return f"{tensors}, {groups}, eps={arguments.get('eps', 1e-05)}, order={arguments['order']!r}"


@from_core("group_norm_grad", "native_group_norm_backward")
def group_norm_backward(arguments: Arguments) -> str | None:
    if 0 in _shape(arguments["input"]):
        return None
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "mean", "rstd", "weight"))
    groups = _groups(arguments, _shape(arguments["mean"])[1])
    grad = text_of(arguments["grad_output"])
    return f"grad_out={grad}, {tensors}, {groups}, output_mask=(True, True, True), order={arguments['order']!r}"


@from_core("batch_norm_eval", "native_batch_norm")
def batch_norm(arguments: Arguments) -> str:
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "weight", "bias"))
    running = f"running_mean={text_of(arguments['mean'])}, running_var={text_of(arguments['var'])}"
    return f"{tensors}, {running}, training=False, momentum=0.1, eps={arguments.get('eps', 1e-05)}"


@from_core("batch_norm_eval_grad", "native_batch_norm_backward")
def batch_norm_backward(arguments: Arguments) -> str:
    running = f"running_mean={text_of(arguments['mean'])}, running_var={text_of(arguments['var'])}"
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in ("input", "weight"))
    return (
        f"grad_out={text_of(arguments['grad_output'])}, {tensors}, {running}, save_mean=None, save_invstd=None, "
        f"train=False, eps={arguments.get('eps', 1e-05)}, output_mask=(True, True, True), order={arguments['order']!r}"
    )


# Losses, pools and attention.

_REDUCTIONS = ("none", "mean", "sum")


def _classes(arguments: Arguments) -> str | None:
    """What the name of the op has more: "2d" for images; None for shapes that torch takes otherwise."""
    rank = len(_shape(arguments["input"]))
    return {1: "", 2: "", 4: "2d"}.get(rank)


def _nll_loss(suffix: str) -> None:
    @from_core("nll_loss", f"nll_loss{suffix}_forward")
    def forward(arguments: Arguments) -> str | None:
        if _classes(arguments) != suffix:
            return None
        tensors = f"self={text_of(arguments['input'])}, target={text_of(arguments['target'])}"
        reduction = _REDUCTIONS.index(arguments.get("reduction", "mean"))
        return (
            f"{tensors}, weight={text_of(arguments.get('weight'))}, reduction={reduction}, "
            f"ignore_index={arguments.get('ignore_index', -100)}, order={arguments['order']!r}"
        )

    @from_core("nll_loss_grad", f"nll_loss{suffix}_backward")
    def backward(arguments: Arguments) -> str | None:
        if _classes(arguments) != suffix:
            return None
        tensors = f"self={text_of(arguments['input'])}, target={text_of(arguments['target'])}"
        return (
            f"grad_output={text_of(arguments['grad_output'])}, {tensors}, weight={text_of(arguments.get('weight'))}, "
            f"reduction={_REDUCTIONS.index(arguments['reduction'])}, ignore_index={arguments['ignore_index']}, "
            f"total_weight={text_of(arguments['total_weight'])}"
        )


_nll_loss("")
_nll_loss("2d")


@from_core("max_pool2d", "max_pool2d_with_indices")
def max_pool2d(arguments: Arguments) -> str | None:
    settings = {name: _pair(value) for name, value in arguments.items() if name not in ("input", "ceil_mode")}
    if settings.get("stride") == (0, 0):
        del settings["stride"]
    text = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f"self={text_of(arguments['input'])}, {text}, ceil_mode={arguments.get('ceil_mode', False)}"


@from_core("attention", "scaled_dot_product_attention")
def attention(arguments: Arguments) -> str | None:
    if arguments.get("dropout_mask") is not None or "dropout_p" in arguments:
        return None
    same = _shape(arguments["query"])[1] == _shape(arguments["key"])[1]
    mask = arguments.get("attn_mask")
    if mask is not None and arguments.get("is_causal"):
        return None
    names = ("query", "key", "value", "attn_mask")
    tensors = ", ".join(f"{n}={text_of(arguments.get(n))}" for n in names)
    return (
        f"{tensors}, is_causal={arguments.get('is_causal', False)}, scale={arguments.get('scale')}, "
        f"enable_gqa={not same}, order={arguments['order']!r}"
    )
