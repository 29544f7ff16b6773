# SPDX-License-Identifier: MIT
"""Scaled dot product attention, above autograd: every call of it comes here, whatever its masks and shapes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn.attention import SDPBackend

from repdl import ops
from repdl._torch import may_have_tangents
from repdl.interception.aten import random
from repdl.interception.dtypes import FLOATING
from repdl.interception.native import LOW_DTYPES, is_served, native_of
from repdl.interception.override import composite, op_or
from repdl.interception.strict import not_reproducible
from repdl.interception.unwatched import unwatched
from repdl.random import philox_key

_native, _choice = native_of("scaled_dot_product_attention"), native_of("_fused_sdp_choice")
_takes_steps = torch._C._get_math_sdp_enabled


@composite("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    if not _takes_steps() or (attn_mask is not None and (is_causal or attn_mask.dim() < 2)):
        _check_backends(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    is_plain = attn_mask is None and not dropout_p and unwatched(query, key, value)
    is_plain = is_plain and not (query.is_nested or key.is_nested) and query.dim() == 4 == key.dim()
    if is_plain and (enable_gqa or query.shape[1] == key.shape[1]):
        output = _at_once(query, key, value, None, None, is_causal, scale, seed=0, call=0)  # without drawing a key
        if output is not None:
            return _laid_out(output, query, key, value, 0.0)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if _is_nested(query, key, value):
        return _of_nested(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if _has_other_dtypes(query, key, value, attn_mask):
        args, kwargs = (query, key, value, attn_mask, dropout_p, is_causal), {"scale": scale, "enable_gqa": enable_gqa}
        return not_reproducible("scaled_dot_product_attention", args, kwargs, _native, why="dtype")
    if not _fits_the_op(query, key, value, attn_mask, enable_gqa):
        return _in_steps(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    dtype, rank = query.dtype, query.dim()
    if rank == 3:
        query, key, value = query[:, None], key[:, None], value[:, None]
        attn_mask = attn_mask[:, None] if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
    computed = torch.float64 if dtype == torch.float64 else torch.float32
    query, key, value = (t.to(computed) for t in (query, key, value))
    if attn_mask is not None:
        attn_mask = _added(attn_mask, computed)
    drawn: tuple[Any, ...] = ()
    dropout_mask = None
    if dropout_p > 0 and _draws_inside():
        drawn = (dropout_p, *philox_key(None, query.device))
    elif dropout_p > 0:
        dropout_mask = query.new_empty((*query.shape[:3], key.shape[2])).bernoulli_(1 - dropout_p)
        dropout_mask = dropout_mask.div_(1 - dropout_p) if dropout_p < 1 else dropout_mask
    try:
        output = ops.attention(query, key, value, attn_mask, dropout_mask, is_causal, scale, *drawn)
    except ValueError as error:  # as torch's
        raise RuntimeError(str(error)) from error
    output = output.to(dtype)
    if rank == 3:
        return output[:, 0]
    return _laid_out(output, query, key, value, dropout_p)


_at_once = op_or("attention")


def _check_backends(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> None:
    """Refuses what the one of torch's backends refuses that it chooses among those that the program left enabled."""
    if not query.is_cpu:
        return
    try:
        chosen = _choice(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    except IndexError as error:
        raise IndexError(
            "[scaled_dot_product_attention] attn_mask must have the 2 dimensions of queries and keys where torch's "
            "fused kernel takes the call: view it so"
        ) from error
    if chosen == SDPBackend.ERROR.value:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found: enable one that torch has on the CPU, "
            "SDPBackend.MATH or SDPBackend.FLASH_ATTENTION"
        )
    if chosen == SDPBackend.MATH.value and is_causal and attn_mask is not None:
        raise RuntimeError(
            "[scaled_dot_product_attention] attn_mask and is_causal exclude each other where no fused kernel of torch "
            "takes the call: have the mask ban what is_causal would"
        )


def _laid_out(
    output: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout_p: float
) -> torch.Tensor:
    """As torch lays it out: as the query, where its fused kernel takes the call."""
    batch, head, place, _ = query.stride()
    if batch >= head >= place:  # as the output lies
        return output
    is_fused = query.stride(3) == key.stride(3) == value.stride(3) == 1
    if not is_fused or dropout_p != 0 or value.shape[-1] != query.shape[-1]:
        return output
    outer = sorted(range(3), key=query.stride, reverse=True)
    return output.permute(*outer, 3).contiguous().permute(*(outer.index(dim) for dim in range(3)), 3)


def _is_nested(*tensors: torch.Tensor) -> bool:
    """Not of those whose layout is torch.jagged, for which torch calls this with what they are inside."""
    return any(t.is_nested and t.layout == torch.strided for t in tensors)


def _of_nested(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> torch.Tensor:
    """Each component as it is alone; what torch refuses of nested tensors, it refuses here."""
    given = (query, key, value)
    are_refused = not all(_is_nested(t) and t.is_contiguous() for t in given) or len({t.size(0) for t in given}) > 1
    if is_causal or attn_mask is not None or are_refused:
        return _native(*given, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    parts = zip(*(t.unbind() for t in given), strict=True)
    return torch.nested.as_nested_tensor(
        [scaled_dot_product_attention(*part, None, dropout_p, scale=scale, enable_gqa=enable_gqa) for part in parts]
    )


def _has_other_dtypes(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None
) -> bool:
    """Whether torch refuses the call, which takes a mask of truth values and of float32 beside every type."""
    if not query.dtype == key.dtype == value.dtype:
        return True
    return attn_mask is not None and attn_mask.dtype not in (torch.bool, torch.float32, query.dtype)


def _draws_inside() -> bool:
    """Whether the op may draw the mask, of the same bits; not for a vmap, which asks for randomness its own way."""
    return random.stream == "philox" and torch._C._functorch.peek_interpreter_stack() is None


def _fits_the_op(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None, enable_gqa: bool
) -> bool:
    rank, heads = query.dim(), -3
    if rank not in (3, 4) or key.dim() != rank or value.dim() != rank or not is_served(query.device):
        return False
    if not (query.dtype == key.dtype == value.dtype and query.dtype in FLOATING):
        return False
    if may_have_tangents(query, key, value, attn_mask):
        return False
    if attn_mask is not None and (attn_mask.requires_grad or attn_mask.dim() > rank or attn_mask.dim() < 2):
        return False
    groups = 1 if rank == 3 else key.shape[heads]
    shares = rank == 4 and enable_gqa and groups > 0 and query.shape[heads] % groups == 0
    return (
        query.shape[0] == key.shape[0] == value.shape[0]
        and (key.shape[:-1] == value.shape[:-1])
        and query.shape[-1] == key.shape[-1]
        and (rank == 3 or query.shape[heads] == groups or shares)
    )


def _added(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, float("-inf"))


def _are_shared(heads: int, by: int) -> bool:
    """Whether as many heads of keys or values are there for each of the query's."""
    return heads == by or (heads > 0 and by % heads == 0)


def _check(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None, enable_gqa: bool
) -> None:
    """Refuses what the steps would take, and torch does not."""
    given = (query, key, value)
    if min(t.dim() for t in given) < 2:
        shapes = ", ".join(str(tuple(t.shape)) for t in given)
        raise RuntimeError(
            f"[scaled_dot_product_attention] query, key and value must each have 2 dimensions or more, got {shapes}"
        )
    if attn_mask is not None and attn_mask.dim() > max(t.dim() for t in given):
        raise RuntimeError(
            f"[scaled_dot_product_attention] attn_mask of shape {tuple(attn_mask.shape)} must have no dimensions but "
            "those of the scores: view it so"
        )
    if enable_gqa and not all(t.dim() > 2 and _are_shared(t.shape[-3], query.shape[-3]) for t in given):
        raise (IndexError if min(t.dim() for t in given) < 3 else RuntimeError)(
            f"[scaled_dot_product_attention] key of shape {tuple(key.shape)} and value of shape {tuple(value.shape)} "
            f"must have a number of heads that divides that of query, of shape {tuple(query.shape)}"
        )


def _in_steps(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> torch.Tensor:
    """Of any shapes, with a gradient for the mask, and in forward mode.

    The same bits, but that of an absent key the product is +0.
    """
    _check(query, key, value, attn_mask, enable_gqa)
    dtype = query.dtype
    if dtype in LOW_DTYPES and dtype == key.dtype == value.dtype:  # rounded once, as by the op
        query, key, value = (t.to(torch.float32) for t in (query, key, value))
        if attn_mask is not None and attn_mask.is_floating_point():
            attn_mask = attn_mask.to(torch.float32)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1])
    if enable_gqa:
        key, value = (t.repeat_interleave(query.shape[-3] // max(t.shape[-3], 1), -3) for t in (key, value))
    scores = (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    if attn_mask is not None:
        banned = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, float("-inf")) if banned else scores + attn_mask
    weights = torch.ops.aten._safe_softmax(scores, -1)
    if dropout_p > 0:
        weights = torch.dropout(weights, dropout_p, True)
    return (weights @ value).to(dtype)
