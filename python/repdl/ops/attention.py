# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from repdl._aliases import aliases
from repdl._op import Sample, Tensor, op, sample
from repdl.ops.elementwise.arithmetic import div
from repdl.ops.mm import mm
from repdl.ops.philox import philox_bernoulli
from repdl.ops.softmax import softmax


@op()
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    seed: int = 0,
    call: int = 0,
    offset: int = 0,
    order: str | None = None,
) -> Tensor:
    """Scaled dot-product attention, in memory linear in the number of queries and keys.

    The same bits as `mm(softmax(mm(query * scale, key, transB=True) + attn_mask), value)`. A query has them whether it
    comes alone or with others, and with `is_causal` whatever keys there are behind its own.

    Args:
        query: float32 or float64, (B, H, L, E).
        key: float32 or float64, (B, G, S, E). G divides H, and head h of query reads key head h // (H // G).
        value: float32 or float64, (B, G, S, V).
        attn_mask: float32 or float64, added to the scores and broadcast to (B, H, L, S), or None. -inf takes a key
            away; a query without any key gives zeros. A mask of truth values is turned into 0 and -inf by the caller.
        dropout_mask: float32 or float64, broadcast likewise, that the probabilities are multiplied by, or None. For
            dropout: 0 or 1 / (1 - p), drawn by the caller.
        is_causal: query i has the keys 0 to i alone.
        scale: of the scores; 1 / sqrt(E) if None.
        dropout_p: in [0, 1]. Above 0, and then without a dropout_mask, each probability is dropped with this one, and
            the mask, which is never in memory, is that of `philox_bernoulli` for a tensor (B, H, L, S).
        seed, call, offset: of that mask, as in `philox_bits`; else of no meaning.
        order: "blocked", "sequential", or None for the current one.

    Returns:
        float32 or float64, (B, H, L, V).
    """


@op(outputs=("grad_query", "grad_key", "grad_value"))
def attention_grad(
    grad_output: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    seed: int = 0,
    call: int = 0,
    offset: int = 0,
    order: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of attention by query, key and value; the probabilities are computed again."""


attention.shapes(lambda call: [(*call["query"].shape[:-1], call["value"].shape[-1])])
attention_grad.shapes(lambda call: [call[name].shape for name in ("query", "key", "value")])


@attention.backward(saves=("query", "key", "value", "attn_mask", "dropout_mask"))
def _(saved: Any, grad: Any) -> dict[str, Any]:
    import torch

    operands = (saved.query, saved.key, saved.value)
    if torch.is_grad_enabled() and any(t.requires_grad for t in operands):  # somebody differentiates the gradient
        return _differentiable_gradients(saved, grad)
    grads = attention_grad(
        grad, saved.query, saved.key, saved.value, saved.attn_mask, saved.dropout_mask, saved.is_causal, saved.scale,
        saved.dropout_p, saved.seed, saved.call, saved.offset, saved.order,
    )  # fmt: skip
    return dict(zip(("query", "key", "value"), grads, strict=True))


def _differentiable_gradients(saved: Any, grad: Any) -> dict[str, Any]:
    """Those of attention in single ops, with all probabilities in memory."""
    import torch

    operands = {"query": saved.query, "key": saved.key, "value": saved.value}
    wanted = aliases(operands)
    (query, key, value), order = (operands | wanted).values(), saved.order
    scale = 1.0 / math.sqrt(query.shape[-1]) if saved.scale is None else saved.scale
    shared = query.shape[1] // max(key.shape[1], 1)
    keys, values = (t if shared == 1 else t.repeat_interleave(shared, 1) for t in (key, value))
    scores = mm(query * scale, keys, False, True, order)
    if saved.attn_mask is not None:
        scores = scores + saved.attn_mask
    if saved.is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    without_keys = (scores == float("-inf")).all(-1, keepdim=True)
    weights = softmax(scores.masked_fill(without_keys, 0.0), -1, order).masked_fill(without_keys, 0.0)
    dropout_mask = _drawn_mask(saved, weights) if saved.dropout_p > 0 else saved.dropout_mask
    if dropout_mask is not None:
        weights = weights * dropout_mask
    output = mm(weights, values, False, False, order)
    return dict(zip(wanted, torch.autograd.grad(output, list(wanted.values()), grad, create_graph=True), strict=True))


def _drawn_mask(saved: Any, weights: Any) -> Any:
    import torch

    mask = torch.empty(weights.shape, dtype=torch.float32)
    kept = 1.0 - saved.dropout_p
    philox_bernoulli.kernel(mask, saved.seed, saved.call, kept, saved.offset)
    mask = mask.to(weights.dtype)
    return div(mask, torch.tensor(kept, dtype=weights.dtype)) if kept > 0 else mask


def _rows(arguments: Mapping[str, Any], rows: slice) -> Mapping[str, Any]:
    """Those of the batch; their masks keep their numbers in the stream."""

    def some(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.ndim < 4 or (name.endswith("mask") and len(value) == 1):
            return value
        return value[rows]

    query, key = arguments["query"], arguments["key"]
    start, _, _ = rows.indices(query.shape[0])
    scores = query.shape[1] * query.shape[2] * key.shape[2]
    return {
        **{name: some(name, value) for name, value in arguments.items()},
        "offset": arguments["offset"] + start * scores,
    }


attention.rows(_rows)
attention_grad.rows(_rows)


def _calls() -> Iterator[dict[str, Any]]:
    """Sizes (B, H, G, L, S, E, V), masks and options."""
    yield {"sizes": (1, 1, 1, 5, 9, 3, 2)}
    yield {"sizes": (2, 6, 3, 7, 10, 8, 5), "is_causal": True}
    yield {"sizes": (3, 2, 2, 21, 37, 16, 33), "attn_mask": "normal[21, 37]#5", "scale": 0.3}
    # Chunks of products and of sums: over keys, over queries, over the width, and where queries end in several.
    yield {"sizes": (1, 1, 1, 3, 530, 300, 4)}
    yield {"sizes": (1, 2, 1, 280, 290, 4, 34), "is_causal": True}
    yield {"sizes": (1, 1, 1, 790, 560, 2, 3), "is_causal": True, "dropout_mask": "unit[790, 1]#6"}
    yield {"sizes": (1, 1, 1, 2, 4200, 2, 3)}
    # Drawn masks, from every place in a block of words, longer than a buffer, and of a far counter.
    drawn = {"dropout_p": 0.25, "seed": 5, "call": -3}
    yield {"sizes": (2, 6, 3, 7, 11, 8, 5), **drawn}
    yield {"sizes": (2, 2, 1, 21, 37, 16, 33), "is_causal": True, "attn_mask": "normal[21, 37]#5", **drawn}
    yield {"sizes": (1, 1, 1, 3, 700, 5, 4), **drawn, "offset": 2**34 - 701}
    yield {"sizes": (1, 2, 2, 5, 9, 3, 4), **drawn, "dropout_p": 1.0, "offset": 1}
    yield {"sizes": (1, 2, 2, 5, 9, 3, 4), **drawn, "dropout_p": 1e-17, "offset": 2}
    yield {"sizes": (1, 2, 2, 5, 9, 3, 4), **drawn, "dropout_p": 0.9999999, "seed": 2**63 - 1, "offset": 3}
    # More queries than keys, a single query, and nothing.
    masks = {"attn_mask": "normal[2, 1, 1, 33]#5", "dropout_mask": "unit[1, 70, 33]#6"}
    yield {"sizes": (2, 1, 1, 70, 33, 5, 64), "is_causal": True, **masks}
    yield {"sizes": (2, 4, 2, 1, 40, 64, 64)}
    yield {"sizes": (1, 2, 2, 3, 0, 4, 5)}
    yield {"sizes": (1, 2, 2, 3, 4, 0, 5), "is_causal": True}
    yield {"sizes": (1, 2, 2, 0, 4, 3, 5)}
    yield {"sizes": (1, 2, 1, 6, 4, 3, 0)}
    small = {"sizes": (1, 1, 1, 12, 20, 4, 6)}
    for is_causal in (False, True):
        # Rows of nothing but -inf, infinities that a query has and has not, and sums below the normal numbers.
        yield {**small, "attn_mask": "special[12, 1]#5", "is_causal": is_causal}
        yield {**small, "attn_mask": "infinite[12, 20]#6", "is_causal": is_causal}
        yield {**small, "value": "infinite", "is_causal": is_causal}
        yield {**small, "value": "tiny", "dropout_mask": "special[12, 1]#38", "is_causal": is_causal}
        yield {**small, "key": "special", "value": "bits", "is_causal": is_causal}
        yield {**small, "query": "infinite", "grad_output": "infinite", "is_causal": is_causal}
        yield {**small, "query": "bits", "key": "wide", "dropout_mask": "special[12, 1]#7", "is_causal": is_causal}


def _samples(*tensors: str) -> Iterator[Sample]:
    for call in _calls():
        batch, heads, key_heads, queries, keys, width, value_width = call.pop("sizes")
        shapes = {
            "query": [batch, heads, queries, width],
            "key": [batch, key_heads, keys, width],
            "value": [batch, key_heads, keys, value_width],
            "grad_output": [batch, heads, queries, value_width],
        }
        seeds = {name: seed for seed, name in enumerate(shapes, 1)}
        made = {name: f"{call.get(name, 'normal')}{shapes[name]}#{seeds[name]}" for name in tensors}
        yield sample(**made, **{k: value for k, value in call.items() if k not in shapes})


attention.samples(lambda: _samples("query", "key", "value"))
attention_grad.samples(lambda: _samples("grad_output", "query", "key", "value"))


@attention.oracle
def _(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_mask: Any = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    seed: int = 0,
    call: int = 0,
    offset: int = 0,
) -> Any:
    group = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, group, axis=1), np.repeat(value, group, axis=1)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    s = scale * (query @ np.swapaxes(key, -1, -2)) + (0 if attn_mask is None else attn_mask)
    if is_causal:
        s = np.where(np.tri(*s.shape[-2:]) == 1, s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    if dropout_p > 0:
        dropout_mask = np.zeros(p.shape, np.float32)
        philox_bernoulli(dropout_mask, seed, call, 1 - dropout_p, offset)
        dropout_mask = dropout_mask.astype(np.float64) / (1 - dropout_p or 1)
    return (p if dropout_mask is None else p * dropout_mask) @ value
