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

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # vmap calls an op of ours once for each entry
]


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
