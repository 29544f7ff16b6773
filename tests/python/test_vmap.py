# SPDX-License-Identifier: MIT
"""A row of torch.vmap is made in the steps, and so has the bits, that it has alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree

import repdl
from support import same_bits

Function = Callable[[torch.Tensor], torch.Tensor]

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


def _logits_loss(x: torch.Tensor) -> torch.Tensor:
    target = x.sigmoid()
    return F.binary_cross_entropy_with_logits(x, target, weight=target[..., :1], pos_weight=target.flip(-1))


FUNCTIONS: dict[str, Function] = {
    "addbmm": lambda x: torch.addbmm(x[0] @ x[0].mT, x, x.mT, beta=0.3, alpha=0.7),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x.flip(-2)[None], x[None], is_causal=True),
    "binary_cross_entropy_with_logits": _logits_loss,
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(0), -1),
    "addmv": lambda x: torch.addmv(x[0, :, 0], x[1], x[0, 0], beta=0.3),
    "baddbmm": lambda x: torch.baddbmm(x[..., :50], x, x.mT),
    "linear": lambda x: F.linear(x, x[0], x[1, :, 0]),
    "rms_norm": lambda x: F.rms_norm(x, (70,), x[0, 0]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_what_torch_makes_of_other_steps(function: Function, dtype: torch.dtype) -> None:
    x = torch.randn(3, 2, 50, 70, generator=torch.Generator().manual_seed(5)).to(dtype)
    with repdl.reproducible():
        assert same_bits(torch.vmap(function)(x), torch.stack([function(row) for row in x]))


def _losses(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Each loss by itself, so that a rounding more shows."""
    y = x.flip(0)
    chance, other, weight = x.sigmoid(), y.sigmoid().detach(), w[0].abs().detach()
    classes = torch.arange(12, device="cpu").reshape(2, 6) % 6
    losses = [f(x, y, reduction=r) for f in (F.mse_loss, F.smooth_l1_loss, F.huber_loss) for r in ("mean", "sum")]
    for r in ("mean", "sum"):
        losses += [F.binary_cross_entropy(chance, other, weight, reduction=r)]
        losses += [F.nll_loss(x, classes, weight[0], reduction=r)]
        losses += [F.nll_loss(x.reshape(12, 6), classes.flatten(), weight[0], reduction=r)]
    return torch.stack([*losses, F.cross_entropy(x, classes, ignore_index=2, label_smoothing=0.1)])


STEPS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, w[0, :, 0], w[1, :, 0], training=True),
    "conv1d": lambda x, w: F.conv1d(x, w, w[0, 0], padding=1),
    "conv_transpose1d": lambda x, w: F.conv_transpose1d(x, w.mT, w[0, 0]),
    "conv2d": lambda x, w: F.conv2d(x[None], w[:, :2, None], w[0, 0], padding=1),
    "group_norm": lambda x, w: F.group_norm(x, 2, w[0, :, 0], w[1, :, 0]),
    "instance_norm": lambda x, w: F.instance_norm(x, weight=w[0, :, 0], bias=w[1, :, 0]),
    "layer_norm": lambda x, w: F.layer_norm(x, (6,), w[0, 0], w[1, 0]),
    "linear of a row": lambda x, w: F.linear(x[0, 0], w[0], w[1, :, 0]),
    "linear of images": lambda x, w: F.linear(x[None], w[0], w[1, :, 0]),
    "layer_norm of float32 weights": lambda x, w: F.layer_norm(x, (6,), w[0, 0].float(), w[1, 0].float()),
    "linear": lambda x, w: F.linear(x, w[0], w[1, :, 0]),
    "losses": _losses,
    "mse_loss": lambda x, w: F.mse_loss(x, w[:2]) * w[0, 0, 0],
}


def _x_and_w(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    x, w = torch.randn(3, 2, 6, 6, generator=generator) * 1.3, torch.randn(3, 6, 6, 6, generator=generator)
    x[1, 0, 0, 0], x[2, 1, 2, 3] = torch.tensor([-0.0, torch.finfo(dtype).tiny / 4])
    return x.to(dtype), w.to(dtype)


def _loss(function: Callable[..., torch.Tensor], *operands: torch.Tensor) -> torch.Tensor:
    result = function(*operands).float()
    return (result * torch.arange(result.numel(), device="cpu").reshape(result.shape).cos()).sum()


TRANSFORMS: dict[str, Callable[[Callable[..., torch.Tensor]], Callable[..., Any]]] = {
    "call": lambda f: f,
    "grad": lambda f: torch.func.grad(lambda *operands: _loss(f, *operands), (0, 1)),
    "jacrev": lambda f: torch.func.jacrev(lambda x, w: f(x, w).flatten()[:3]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", STEPS)
def test_steps_that_would_round_more_often(name: str, transform: str, dtype: torch.dtype) -> None:
    """With both operands from the batch, or either of them."""
    function = TRANSFORMS[transform](STEPS[name])
    x, w = _x_and_w(dtype)
    with repdl.reproducible():
        for dims in ((0, 0), (0, None), (None, 0)):
            given = [t if dim == 0 else t[0] for t, dim in zip((x, w), dims, strict=True)]
            rows = [
                function(*(t if dim is None else t[i] for t, dim in zip(given, dims, strict=True))) for i in range(3)
            ]
            mapped = torch.vmap(function, dims)(*given)
            alone = pytree.tree_map(lambda *row: torch.stack(row), *rows)
            assert all(map(same_bits, pytree.tree_leaves(mapped), pytree.tree_leaves(alone))), dims


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", STEPS)
def test_derivatives_of_a_batch_are_those_of_its_entries(name: str, dtype: torch.dtype) -> None:
    """Of `torch.vmap` within a transform or autograd, which then sees the steps that torch makes of a batch."""
    x, w = _x_and_w(dtype)

    def loss(*operands: torch.Tensor) -> torch.Tensor:
        return _loss(STEPS[name], *operands)

    def total(*operands: torch.Tensor) -> torch.Tensor:
        return torch.vmap(loss)(*operands).sum()

    with repdl.reproducible():
        rows = [torch.func.grad(loss, (0, 1))(*row) for row in zip(x, w, strict=True)]
        alone = [torch.stack(of_operand) for of_operand in zip(*rows, strict=True)]
        assert all(map(same_bits, torch.func.grad(total, (0, 1))(x, w), alone))
        pairs = x[:, None].expand(3, 2, 2, 6, 6), w[:, None].expand(3, 2, 6, 6, 6)
        of_pairs = torch.func.grad(lambda x, w: torch.vmap(torch.vmap(loss))(x, w).sum(), (0, 1))(*pairs)
        assert all(same_bits(of_pair[:, 1], row) for of_pair, row in zip(of_pairs, alone, strict=True))
        watched = [t.clone().requires_grad_() for t in (x, w)]
        by_autograd = torch.autograd.grad(total(*watched), watched, create_graph=True, materialize_grads=True)
        assert all(same_bits(g.detach(), row) for g, row in zip(by_autograd, alone, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_running_statistics_of_a_batch_that_is_watched(dtype: torch.dtype) -> None:
    x, _ = _x_and_w(dtype)
    mean, var = torch.zeros(3, 6), torch.ones(3, 6)

    def total(x: torch.Tensor, means: torch.Tensor, dim: int | None) -> torch.Tensor:
        norm = torch.vmap(lambda x, mean, var: F.batch_norm(x, mean, var, training=True), (0, dim, dim))
        return norm(x, means, var if dim == 0 else var[0]).float().sin().sum()

    with repdl.reproducible():
        means = mean.clone()
        torch.func.grad(lambda x: total(x, means, 0))(x)
        alone = mean.clone()
        for row, of_row in zip(x, alone, strict=True):
            F.batch_norm(row, of_row, torch.ones(6), training=True)
        assert same_bits(means, alone)
        with pytest.raises(RuntimeError, match="were not batched"):
            torch.func.grad(lambda x: total(x, mean[0], None))(x)
    assert not mean.any()


class _Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = torch.nn.Conv1d(2, 4, 3, padding=1), torch.nn.GroupNorm(2, 4)
        self.last, self.out = torch.nn.LayerNorm(6), torch.nn.Linear(24, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(F.gelu(self.last(self.norm(self.convolution(x)).relu())).flatten(1))  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_a_model_for_each_sample(dtype: torch.dtype) -> None:
    """As privacy and curvature ask for; of many models with their own weights too, and by forward mode."""
    torch.manual_seed(0)
    x = torch.randn(3, 2, 6, generator=torch.Generator().manual_seed(5)).to(dtype)
    with repdl.reproducible():
        model = _Net().to(dtype)
        weights = {name: w.detach() for name, w in model.named_parameters()}

        def loss(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
            result = torch.func.functional_call(model, weights, (x[None],))
            return F.cross_entropy(result, torch.tensor([1]))

        one = torch.func.grad(loss)
        mapped = torch.vmap(one, (None, 0))(weights, x)
        alone = [one(weights, row) for row in x]
        assert all(same_bits(mapped[name], torch.stack([a[name] for a in alone])) for name in weights)
        many = {name: torch.stack([w, w / 3]) for name, w in weights.items()}
        mapped = torch.vmap(one, (0, None))(many, x[0])
        alone = [one({name: w[i] for name, w in many.items()}, x[0]) for i in range(2)]
        assert all(same_bits(mapped[name], torch.stack([a[name] for a in alone])) for name in weights)
        rows = [torch.func.jvp(lambda y: loss(weights, y), (x[0],), (unit,))[1] for unit in x]
        assert same_bits(
            torch.vmap(lambda unit: torch.func.jvp(lambda y: loss(weights, y), (x[0],), (unit,))[1])(x),
            torch.stack(rows),
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["layer_norm", "batch_norm", "losses"])
def test_a_batch_of_batches(name: str, dtype: torch.dtype) -> None:
    x, w = _x_and_w(dtype)
    one = torch.func.grad(lambda x, w: _loss(STEPS[name], x, w))
    with repdl.reproducible():
        mapped = torch.vmap(torch.vmap(one, (None, 0)), (0, None))(x, w)
        assert same_bits(mapped, torch.stack([torch.stack([one(a, b) for b in w]) for a in x]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_running_statistics_are_those_of_each(dtype: torch.dtype) -> None:
    x, _ = _x_and_w(dtype)

    def train(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return F.batch_norm(x, mean, var, training=True), mean, var

    with repdl.reproducible():
        mean, var = torch.zeros(3, 6, dtype=dtype), torch.ones(3, 6, dtype=dtype)
        rows = [train(*(t.clone() for t in entry)) for entry in zip(x, mean, var, strict=True)]
        mapped = torch.vmap(train)(x, mean, var)
    for result, *alone in zip(mapped, *rows, strict=True):
        assert same_bits(result, torch.stack(alone))
    assert not same_bits(mean, torch.zeros(3, 6, dtype=dtype))


_OTHERS = (
    *("bernoulli", "cauchy", "empty", "exponential", "geometric", "log_normal", "multinomial", "new_empty", "normal"),
    *("nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.feature", "nn.functional.rrelu", "rand"),
    *("as_strided", "jiterator", "sparse", "uniform"),
)
"""The beginnings of names: of what is drawn, of memory that is not written, of other strides in a batch."""


def _row_and_mapped(op: Callable[..., Any], sample: Any) -> tuple[list[Any], Any]:
    given = [sample.input, *sample.args]
    at = [i for i, a in enumerate(given) if isinstance(a, torch.Tensor) and a.is_floating_point()]

    def call(*tensors: torch.Tensor) -> Any:
        arguments = list(given)
        for i, tensor in zip(at, tensors, strict=True):
            arguments[i] = tensor
        return op(*arguments, **sample.kwargs)

    batches = [torch.stack([given[i], given[i] / 3, given[i]]) for i in at]
    return [call(*(batch[k] for batch in batches)) for k in range(3)], torch.vmap(call)(*batches)


def _differs(op: Callable[..., Any], sample: Any) -> bool:
    rows, mapped = _row_and_mapped(op, sample)
    leaves = zip(pytree.tree_leaves(mapped), *map(pytree.tree_leaves, rows), strict=True)
    return any(
        isinstance(result, torch.Tensor) and not same_bits(result, torch.stack(alone)) for result, *alone in leaves
    )


@pytest.mark.filterwarnings("ignore")
def test_samples_of_every_op() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    tried, different = 0, set()
    with repdl.reproducible():
        for op in op_db:
            if torch.float32 not in op.dtypes or op.name.startswith(_OTHERS):
                continue
            for sample in islice(op.sample_inputs_func(op, "cpu", torch.float32, False), 2):
                if not isinstance(sample.input, torch.Tensor) or not sample.input.is_floating_point():
                    continue
                # Some calls torch does not take alone, or of a batch: it has no rule for them.
                with suppress(RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                    if _differs(op.op, sample):
                        different.add(op.full_name)
                    tried += 1
    assert not different
    assert tried > 700


def test_nothing_is_said_of_calls_for_each_entry_and_errors_stay_ours() -> None:
    x = torch.randn(2, 3, 4)
    assert torch.vmap(repdl.ops.exp)(x).shape == x.shape
    assert torch.vmap(torch.func.grad(lambda row: repdl.ops.softmax(row).square().sum()))(x).shape == x.shape
    with pytest.raises(ValueError, match=r"\[softmax\] dim 7 is out of range"):
        torch.vmap(lambda row: repdl.ops.softmax(row, 7))(x)


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 2, 2)])
def test_classes_of_int32_are_taken_as_in_torch(shape: tuple[int, ...]) -> None:
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(5))
    classes = torch.arange(2 * x[0, :, 0].numel()).reshape(2, *x[0, :, 0].shape) % 5
    each = torch.func.vmap(torch.func.grad_and_value(F.cross_entropy))
    with repdl.reproducible():
        found, expected = each(x, classes.to(torch.int32)), each(x, classes)
    assert all(map(same_bits, found, expected))
    torch.testing.assert_close(found, each(x, classes.to(torch.int32)))
