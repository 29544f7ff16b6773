# SPDX-License-Identifier: MIT
"""Which ops work on each entry of a batch alone, so that its results may not depend on how many others there are.

Elementwise ops are known by torch's tag. Others stand in RULES; an op that is not there is not tried, nor one whose
entries have to do with each other: a normalization over the batch in training, a sum over the first dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from repdl.experiments.call import ALIGNMENT, Call, Results, Slot

Arguments = dict[str, Any]
"""By name; in the place of a tensor its number of dimensions."""


@dataclass(frozen=True)
class Rule:
    """batched: arguments with an entry in each index of their first dimension. broadcast: those that have so if they
    are as long, and have as many dimensions as the results. results: places of the results that have entries.
    when: the calls of which this holds."""

    batched: tuple[str, ...]
    broadcast: tuple[str, ...] = ()
    results: tuple[int, ...] = (0,)
    when: Callable[[Arguments], bool] = lambda given: True


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _not_along_first(rank: str) -> Callable[[Arguments], bool]:
    """The argument `dim` names another dimension than the first of that tensor."""
    return lambda given: given[rank] > 1 and bool(given["dim"] % given[rank])


def _sums_others(given: Arguments) -> bool:
    dims = given.get("dim") or []
    return bool(dims) and given["self"] > 1 and all(dim % given["self"] != 0 for dim in dims)


def _has_batch(rank: int) -> Callable[[Arguments], bool]:
    return lambda given: bool(given["self"] == rank)


def _normalized_behind(given: Arguments) -> bool:
    return bool(given["input"] > len(given["normalized_shape"]))


_CONVOLUTION = Rule(("input",), when=lambda given: given["input"] == given["weight"] > 2)
_POOL_2D = Rule(("self",), when=_has_batch(4))
_SUM = Rule(("self",), when=_sums_others)
_SOFTMAX = Rule(("self",), when=_not_along_first("self"))
_SOFTMAX_BACKWARD = Rule(("grad_output", "output"), when=_not_along_first("output"))
_ATTENTION = Rule(("query", "key", "value"), ("attn_mask",), when=lambda given: not given.get("dropout_p"))

RULES: dict[str, Rule] = {
    # A row of a product is a row of the first matrix, times the second.
    "mm": Rule(("self",)),
    "addmm": Rule(("mat1",), ("self",)),
    "mv": Rule(("self",)),
    "addmv": Rule(("mat",), ("self",)),
    "linear": Rule(("input",), when=lambda given: given["input"] > 1),
    "bmm": Rule(("self", "mat2")),
    "baddbmm": Rule(("batch1", "batch2"), ("self",)),
    # An image, and its gradient, which is the first of the results.
    "convolution": _CONVOLUTION,
    "_convolution": _CONVOLUTION,
    "mkldnn_convolution": Rule(("self",), when=lambda given: given["self"] == given["weight"] > 2),
    "convolution_backward": Rule(
        ("grad_output", "input"),
        when=lambda given: given["input"] == given["weight"] > 2 and given["output_mask"][0],
    ),
    "avg_pool2d": _POOL_2D,
    "_adaptive_avg_pool2d": _POOL_2D,
    "max_pool2d_with_indices": Rule(("self",), results=(0, 1), when=_has_batch(4)),
    "upsample_bilinear2d": _POOL_2D,
    "upsample_nearest2d": _POOL_2D,
    # Each row is normalized by itself.
    "native_layer_norm": Rule(("input",), results=(0, 1, 2), when=_normalized_behind),
    "_fused_rms_norm": Rule(("input",), when=_normalized_behind),
    "native_layer_norm_backward": Rule(("grad_out", "input", "mean", "rstd"), when=_normalized_behind),
    "_softmax": _SOFTMAX,
    "_log_softmax": _SOFTMAX,
    "_softmax_backward_data": _SOFTMAX_BACKWARD,
    "_log_softmax_backward_data": _SOFTMAX_BACKWARD,
    # By statistics that are given, in evaluation.
    "native_batch_norm": Rule(("input",), when=lambda given: not given["training"]),
    "_native_batch_norm_legit_no_training": Rule(("input",)),
    # Sums over other dimensions than the first.
    "sum.dim_IntList": _SUM,
    "mean.dim": _SUM,
    "var.correction": _SUM,
    "std.correction": _SUM,
    "logsumexp": _SUM,
    "linalg_vector_norm": _SUM,
    "cumsum": Rule(("self",), when=_not_along_first("self")),
    # A sentence of a batch; without dropout, which draws for all.
    "_scaled_dot_product_flash_attention_for_cpu": _ATTENTION,
    "embedding": Rule(("indices",)),
}
"""By the name of an op, or of one overload of it."""


def entries(call: Call, whole: Results) -> Iterator[tuple[str, Call, Results]]:
    """The call of a part of its batch, and what the results of the whole hold for that."""
    found = _elementwise(call, whole) if torch.Tag.pointwise in call.op.tags else _by_rule(call, whole)
    if found is None or torch.Tag.nondeterministic_seeded in call.op.tags:
        return
    batched, results = found
    tensors = call.tensors()
    sizes = {len(tensors[i]) for i in batched} | {len(whole[i]) for i in results}
    if len(sizes) != 1 or (size := sizes.pop()) < 2:
        return
    for first, last in _parts(size, [tensors[i] for i in batched]):
        part = [x[first:last] if i in batched else x for i, x in enumerate(tensors)]
        name = f"{last - first} of {size} in the batch"
        yield name, call.on(part), [x[first:last] if i in results else None for i, x in enumerate(whole)]


def _parts(size: int, tensors: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
    """One entry, half of them, all but one; and the last ones that are aligned as the first is."""
    found = {(0, 1), (0, size // 2), (0, size - 1)}
    aligned = (
        first
        for first in range(size - 1, 0, -1)
        if all(first * x.stride(0) * x.element_size() % ALIGNMENT == 0 for x in tensors)
    )
    if (first := next(aligned, None)) is not None:
        found.add((first, size))
    return sorted(found)


def _elementwise(call: Call, whole: Results) -> tuple[set[int], set[int]] | None:
    shapes = {tuple(x.shape) for x in whole if isinstance(x, torch.Tensor)}
    if len(shapes) != 1 or not (shape := shapes.pop()):
        return None
    batched = {i for i, v in enumerate(call.views) if len(v.shape) == len(shape) and v.shape[0] == shape[0]}
    return (batched, set(range(len(whole)))) if batched else None


def _by_rule(call: Call, whole: Results) -> tuple[set[int], set[int]] | None:
    namespace, _, name = call.op._schema.name.partition("::")
    overload = f"{name}.{call.op._schema.overload_name}"
    rule = RULES.get(overload, RULES.get(name)) if namespace == "aten" and not call.written else None
    given = call.named()
    if rule is None or not rule.when({name: _rank(call, value) for name, value in given.items()}):
        return None
    slots = {name: value.index for name, value in given.items() if isinstance(value, Slot)}
    batched = {slots[name] for name in rule.batched if name in slots}
    first = whole[rule.results[0]]
    if not batched or not isinstance(first, torch.Tensor) or first.dim() == 0:
        return None
    for name in rule.broadcast:
        if name in slots:
            shape = call.views[slots[name]].shape
            batched |= {slots[name]} if len(shape) == first.dim() and shape[0] == len(first) > 1 else set()
    return batched, {i for i in rule.results if isinstance(whole[i], torch.Tensor)}


def _rank(call: Call, value: Any) -> Any:
    return len(call.views[value.index].shape) if isinstance(value, Slot) else value
