# SPDX-License-Identifier: MIT
"""Bad input raises an error that names the op, the argument and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import repdl
from repdl import ops
from repdl.nn import functional as F
from support import run_python

X = torch.randn(2, 3)
IMAGE = torch.randn(1, 4, 6, 6)
WEIGHT = torch.randn(5, 4, 3, 3)
CLASSES = torch.tensor([0, 1])
QKV = torch.randn(2, 6, 5, 8)


def spoken(labels: Any = ((1, 2),), steps: Any = (4,), lengths: Any = (2,), blank: int = 0) -> Any:
    """The ctc_loss of four steps of five classes."""
    given = (torch.tensor(x) for x in (labels, steps, lengths))
    return ops.ctc_loss(torch.zeros(4, 1, 5), *given, blank)


def checked(samples: Any, **options: Any) -> Any:
    return repdl.conformance.check_declared("boxes::inside", samples, **options)


BAD_CALLS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ops.mm(X, X), ValueError, r"\[mm\] mat2 of shape \(2, 3\) has 2 rows .*, but input .* has 3 columns"),
    (lambda: ops.sampled_mm(X, X, CLASSES[:1], CLASSES[:1]), ValueError, r"\[sampled_mm\] mat2 has 2 rows"),
    (lambda: ops.sampled_mm(X, X.T, CLASSES[:1], CLASSES[:1] + 2), ValueError, r"\[sampled_mm\] col_indices"),
    (lambda: ops.mm(X, X.T.to("meta")), RuntimeError, r"\[mm\] takes tensors .*, got input on cpu and mat2 on"),
    (lambda: ops.mm(X.long(), X.T), TypeError, r"\[mm\] input must be float32, .* or float16, got int64; convert it"),
    (lambda: ops.mm(X, X.T.half()), TypeError, r"\[mm\] mat2 must be float32, got float16"),
    (lambda: ops.mm(X, X.T.bfloat16()), TypeError, r"\[mm\] mat2 must be float32, got bfloat16"),
    (lambda: ops.mm(X, X.to(torch.complex64).T), TypeError, r"\[mm\] mat2 must be float32, got an unsupported dtype"),
    (
        lambda: ops.integer_mm(X, X.T),
        TypeError,
        r"\[integer_mm\] input must be uint8, int8, int16, int32 or int64, got float32; .* use mm for floating-point",
    ),
    (
        lambda: ops.integer_convolution(IMAGE.to(torch.uint16), WEIGHT.to(torch.uint16)),
        TypeError,
        r"\[integer_convolution\] input must be uint8, int8, int16, int32 or int64, .*; convert it first, with",
    ),
    (lambda: ops.sort(X.to(torch.uint16)), TypeError, r"\[sort\] input must be float32, .*, int32 or int64, got"),
    (lambda: ops.mm(X[0], X.T), ValueError, r"\[mm\] input must have the shape"),
    (lambda: ops.mm(torch.randn(2, 3, 4), torch.randn(3, 4, 5)), ValueError, r"\[mm\] mat2 .* batch dimensions"),
    (lambda: ops.mm(X, X.T, order="random"), ValueError, r"order must be 'blocked' or 'sequential', got 'random'"),
    (lambda: ops.conv2d(IMAGE, WEIGHT, groups=3), ValueError, r"\[conv2d\] groups=3 does not divide the 4"),
    (lambda: ops.conv2d(IMAGE, torch.randn(5, 3, 3, 3)), ValueError, r"\[conv2d\] weight .* takes 3 input channels"),
    (lambda: ops.conv2d(IMAGE, torch.randn(5, 4, 9, 9)), ValueError, r"\[conv2d\] weight .* larger than the padded"),
    (lambda: ops.conv2d(IMAGE, WEIGHT, stride=0), ValueError, r"\[conv2d\] stride must be at least 1"),
    (lambda: ops.conv2d(IMAGE, WEIGHT, padding=-1), ValueError, r"\[conv2d\] padding must be at least 0"),
    (lambda: ops.conv2d(IMAGE, WEIGHT, bias=X[0]), ValueError, r"\[conv2d\] bias must have the shape \(5,\)"),
    (lambda: ops.sum(X, (0, 0)), ValueError, r"\[sum\] dim \(0, 0\) names dimension 0 twice"),
    (lambda: ops.sum(X, 2), ValueError, r"\[sum\] dim 2 is out of range for a tensor of 2 dimensions"),
    (lambda: ops.softmax(X, 5), ValueError, r"\[softmax\] dim 5 is out of range"),
    (lambda: ops.cross_entropy(X, torch.tensor([0, 3])), ValueError, r"\[cross_entropy\] target holds the class 3"),
    (lambda: ops.cross_entropy(X, torch.tensor([0, -1])), ValueError, r"\[cross_entropy\] target holds the class -1"),
    (lambda: ops.cross_entropy(X, torch.tensor([0])), ValueError, r"\[cross_entropy\] target must have .* \(2,\)"),
    (lambda: ops.cross_entropy(X, CLASSES.int()), TypeError, r"\[cross_entropy\] target must be int64"),
    (lambda: ops.cross_entropy(X, CLASSES, reduction="avg"), ValueError, r"reduction must be 'none', 'mean'"),
    (lambda: ops.cross_entropy(X, CLASSES, label_smoothing=2.0), ValueError, r"label_smoothing must be between"),
    (lambda: ops.max_pool2d(IMAGE, 2, padding=2), ValueError, r"\[max_pool2d\] padding .* at most half the kernel"),
    (lambda: ops.max_pool2d(IMAGE, 9), ValueError, r"\[max_pool2d\] input .* is smaller than the window"),
    (
        lambda: ops.max_pool2d_grad(torch.ones(1, 1, 1), torch.tensor([[[7]]]), (1, 2, 2)),
        ValueError,
        r"\[max_pool2d_grad\] indices holds a number that is not a place",
    ),
    (lambda: ops.cdist(X, X, p=-1.0), ValueError, r"\[cdist\] p must be 0 or more, got -1"),
    (lambda: ops.cdist(X, X.T), ValueError, r"\[cdist\] x2 has rows of 2 numbers, .* as long as those of x1, 3"),
    (lambda: ops.cdist(X, X[None]), ValueError, r"\[cdist\] x2 of shape \(1, 2, 3\) must have the batch of x1"),
    (lambda: ops.pdist(X[0]), ValueError, r"\[pdist\] input must have the shape \(n, k\)"),
    (lambda: ops.div(X, torch.randn(4)), ValueError, r"\[div\] other of shape \(4,\) does not broadcast"),
    (lambda: ops.batch_norm(X[0]), ValueError, r"\[batch_norm\] input must have the shape"),
    (lambda: ops.batch_norm(X, torch.randn(2)), ValueError, r"\[batch_norm\] weight must have the shape \(3,\)"),
    (lambda: ops.layer_norm(X, (2,)), ValueError, r"\[layer_norm\] normalized_shape must be the last dimensions of"),
    (lambda: ops.layer_norm(X, ()), ValueError, r"\[layer_norm\] normalized_shape must .* at least one; got \(\)"),
    (lambda: ops.rms_norm(X, (2, 3), X[0]), ValueError, r"\[rms_norm\] weight must have the shape \(2, 3\)"),
    (
        lambda: ops.weight_norm(torch.ones(2, 3, 4), torch.ones(1, 3, 1), 1),
        ValueError,
        r"\[weight_norm\] dim must be the first or the last dimension of v, of shape \(2, 3, 4\); got 1",
    ),
    (lambda: ops.weight_norm(X, X[:1]), ValueError, r"\[weight_norm\] g must have the shape \(2, 1\)"),
    (lambda: ops.group_norm(X, 2), ValueError, r"\[group_norm\] num_groups must be a divisor of the 3 channels"),
    (lambda: ops.sum1d(X), ValueError, r"\[sum1d\] input must have 1 dimensions"),
    (lambda: ops.exp(torch.zeros([1] * 9)), ValueError, r"more than 8 dimensions are not supported; reshape"),
    (lambda: ops.exp([1.0]), TypeError, r"\[exp\] input must be a torch tensor or NumPy array, got list"),
    (lambda: ops.exp(X.int()), TypeError, r"\[exp\] input must be float32, float64, bfloat16 or float16, got int32"),
    (lambda: ops.attention(X, X, X), ValueError, r"\[attention\] query must have the shape \(B, H, L, E\)"),
    (lambda: ops.attention(QKV, QKV[:1], QKV), ValueError, r"\[attention\] key .* must have the batch of query"),
    (lambda: ops.attention(QKV, QKV[:, :4], QKV), ValueError, r"\[attention\] key .* has 4 heads, .* divide the 6"),
    (lambda: ops.attention(QKV, QKV[..., :4], QKV), ValueError, r"\[attention\] key .* must end in the size"),
    (lambda: ops.attention(QKV, QKV, QKV[:, :, :3]), ValueError, r"\[attention\] value .* and length of key"),
    (lambda: ops.attention(QKV, QKV, QKV, X), ValueError, r"\[attention\] attn_mask .* scores, \(2, 6, 5, 5\)"),
    (lambda: ops.attention(QKV, QKV, QKV, X > 0), TypeError, r"\[attention\] attn_mask .* got bool; .* -inf where"),
    (lambda: ops.attention(QKV, QKV, QKV, None, X > 0), TypeError, r"\[attention\] dropout_mask .* 0 where a prob"),
    (lambda: ops.attention(QKV, QKV, QKV, scale="x"), TypeError, r"\[attention\] scale must be a number, got str"),
    (lambda: ops.attention_grad(X, QKV, QKV, QKV), ValueError, r"\[attention_grad\] grad_output must have the sh"),
    (lambda: spoken(labels=[[1, 6]]), ValueError, r"\[ctc_loss\] targets holds the label 6, which is not in \[0, 5\)"),
    (lambda: spoken(labels=[[-1, 2]]), ValueError, r"\[ctc_loss\] targets holds the label -1"),
    (lambda: spoken(labels=[[1, 2], [3, 4]]), ValueError, r"\[ctc_loss\] targets must have the shape \(1, 2\)"),
    (lambda: spoken(steps=[5]), ValueError, r"\[ctc_loss\] input_lengths holds 5, which is not in \[0, 4\]"),
    (lambda: spoken(steps=[-1]), ValueError, r"\[ctc_loss\] input_lengths holds -1"),
    (lambda: spoken(steps=[4, 4]), ValueError, r"\[ctc_loss\] input_lengths must have the shape \(1,\)"),
    (lambda: spoken(lengths=[3]), ValueError, r"\[ctc_loss\] target_lengths holds 3, which is not in \[0, 2\]"),
    (lambda: spoken(blank=5), ValueError, r"\[ctc_loss\] blank must be a class, in \[0, 5\), got 5"),
    (lambda: ops.linear(X, X, X), ValueError, r"\[linear\] bias must have the shape \(2,\)"),
    (lambda: ops.adam_step(X, X, X, X, step=0), ValueError, r"\[adam_step\] step must be at least 1"),
    (lambda: ops.adam_step(X, X, X, X[:1]), ValueError, r"\[adam_step\] exp_avg_sq must have the shape \(2, 3\)"),
    (lambda: ops.sgd_step(X, X, nesterov=True), ValueError, r"\[sgd_step\] nesterov needs a momentum"),
    (lambda: ops.uniform(X, 2.0, 1.0), ValueError, r"\[uniform\] low 2 must not be above high"),
    (lambda: F.conv2d(IMAGE, WEIGHT, padding="full"), ValueError, r"padding must be .* 'same' or 'valid'"),
    (lambda: F.batch_norm(torch.ones(1, 3), None, None, training=True), ValueError, r"more than one value a channel"),
    (lambda: F.batch_norm(X, None, None), ValueError, r"\[batch_norm\] running_mean and running_var are needed"),
    (lambda: repdl.set_order("fast"), ValueError, r"order must be one of"),
    (lambda: repdl.set_num_threads(0), ValueError, r"\[set_num_threads\] n must be between 1 and"),
    (lambda: repdl.set_num_threads(10**30), ValueError, r"\[set_num_threads\] n must be between 1 and"),
    (lambda: repdl.set_num_threads(True), TypeError, r"\[set_num_threads\] n must be an integer, got bool"),
    (lambda: repdl.set_num_threads(1.5), TypeError, r"\[set_num_threads\] n must be an integer, got float"),  # type: ignore[arg-type]
    (lambda: ops.exp(np.ones(3, ">f4")), TypeError, r"\[exp\] input must be .*, got numpy.ndarray of dtype >f4; conv"),
    (lambda: ops.exp(np.ones(3, object)), TypeError, r"\[exp\] input must be .*, got numpy.ndarray of dtype object;"),
    (lambda: repdl.from_torch_module(3), TypeError, r"\[from_torch_module\] m must be a torch.nn.Module, got int"),  # type: ignore[arg-type]
    (lambda: repdl.utils.get_hash("x"), TypeError, r"\[get_hash\] x must be a tensor or a module, got str"),  # type: ignore[arg-type]
    (lambda: repdl.random.uniform_(X.double()), TypeError, r"\[uniform_\] tensor must be float32"),
    (lambda: repdl.audit(None), TypeError, r"\[audit\] fn_or_model must be a function or a module, got NoneType"),  # type: ignore[arg-type]
    (lambda: repdl.reveal("mm", 4), TypeError, r"\[reveal\] fn must be a function of .*, got str"),  # type: ignore[arg-type]
    (lambda: repdl.reveal(np.sum, 2.0), TypeError, r"\[reveal\] n must be an integer, got float"),  # type: ignore[arg-type]
    (lambda: repdl.reveal(np.sum, True), TypeError, r"\[reveal\] n must be an integer, got bool"),
    (lambda: repdl.reveal(np.sum, "4"), TypeError, r"\[reveal\] n must be an integer, got str"),  # type: ignore[arg-type]
    (lambda: checked(3), TypeError, r"\[check_declared\] samples must be a list, got int; put it into one"),
    (lambda: checked("x"), TypeError, r"\[check_declared\] samples must be a list, got str"),
    (lambda: checked([(X,)], batched=0), TypeError, r"\[check_declared\] batched must be a list, got int"),
    (lambda: checked([(X,)], batched=[1]), ValueError, r"\[check_declared\] batched must hold places .* got 1"),
    (lambda: checked([(X,)], load="ops"), TypeError, r"\[check_declared\] load must be a list, got str"),
    (lambda: repdl.declare(None, "why"), TypeError, r"\[declare\] op must be a text, .*, got NoneType"),  # type: ignore[arg-type]
    (lambda: repdl.record(None), TypeError, r"\[record\] path must be a text or a path, got NoneType"),  # type: ignore[arg-type]
    (lambda: repdl.checkpoint.save(0), TypeError, r"\[checkpoint.save\] path must be a text or a path, got int"),  # type: ignore[arg-type]
    (lambda: repdl.checkpoint.load(0), TypeError, r"\[checkpoint.load\] path must be a text or a path, got int"),  # type: ignore[arg-type]
    (lambda: repdl.checkpoint.read(0), TypeError, r"\[checkpoint.read\] path must be a text or a path, got int"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS, ids=[message for _, _, message in BAD_CALLS])
def test_bad_calls_say_what_is_wrong(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_arrays_get_the_same_errors() -> None:
    x = X.numpy()
    with pytest.raises(ValueError, match=r"\[mm\] mat2"):
        ops.mm(x, x)
    with pytest.raises(TypeError, match=r"\[mm\] transA must be True or False, got int"):
        ops.mm(x, x, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\[mm\] needs the argument mat2"):
        ops.mm(x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"\[mm\] has no argument 'out'"):
        ops.mm(x, x, out=x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"\[mm\] got input twice"):
        ops.mm(x, x.T, input=x)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"\[sum\] dim must be a tuple of integers, got float"):
        ops.sum(x, 1.0)  # type: ignore[arg-type]


def test_a_read_only_array_is_not_changed() -> None:
    x = np.ones(3, np.float32)
    x.flags.writeable = False
    state = [np.zeros(3, np.float32) for _ in range(3)]
    with pytest.raises(TypeError, match=r"\[adam_step\] param must be a writable"):
        ops.adam_step(x, *state)
    assert ops.exp(x)[0] == np.float32(np.e)


def test_empty_tensors_work() -> None:
    assert ops.mm(torch.ones(0, 3), torch.ones(3, 4)).shape == (0, 4)
    assert ops.mm(torch.ones(2, 0), torch.ones(0, 4)).tolist() == [[0.0] * 4] * 2
    assert ops.linear(torch.ones(2, 0), torch.ones(3, 0), torch.ones(3)).tolist() == [[1.0] * 3] * 2
    assert ops.sum(torch.ones(0)).item() == 0.0
    assert torch.isnan(ops.mean(torch.ones(0)))
    assert ops.softmax(torch.ones(3, 0)).shape == (3, 0)
    assert ops.conv2d(torch.ones(0, 2, 5, 5), torch.ones(3, 2, 3, 3)).shape == (0, 3, 3, 3)
    assert ops.conv2d_grad_kernel(torch.ones(0, 2, 5, 5), (3, 2, 3, 3), torch.ones(0, 3, 3, 3)).abs().sum() == 0
    assert torch.isnan(ops.cross_entropy(torch.ones(0, 3), torch.ones(0, dtype=torch.int64)))
    assert ops.cross_entropy(torch.ones(0, 3), torch.ones(0, dtype=torch.int64), reduction="sum").item() == 0.0
    assert ops.max_pool2d(torch.ones(0, 2, 4, 4), 2)[0].shape == (0, 2, 2, 2)
    assert ops.exp(torch.ones(3, 0, 2)).shape == (3, 0, 2)


def test_a_forced_target_that_cannot_be_had_is_an_error_at_once() -> None:
    code = """
try:
    import repdl
except Exception as error:
    print(type(error).__name__, error)
"""
    output = run_python(code, REPDL_TARGET="quantum")
    assert "REPDL_TARGET names the CPU target 'quantum'" in output
    assert "choose one of: scalar" in output
