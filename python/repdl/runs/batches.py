# SPDX-License-Identifier: MIT
"""The entries of a batch, by which data in another order are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from repdl import _content as content

if TYPE_CHECKING:
    from repdl.runs.columns import Call
    from repdl.runs.run import AnyRun

NAME, ENTRIES = "batch of DataLoader", "entries of the batch"

_MOST = 128
"""Entries of a batch of which hashes are kept."""


def entries(leaves: list[Any]) -> list[torch.Tensor]:
    """Those of the first tensor that has any."""
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.dim() and not leaf.is_nested:
            return list(leaf[:_MOST].unbind())
    return []


def order(a: AnyRun, call_a: Call, b: AnyRun, call_b: Call) -> str:
    """What is known of the order of the data, if it is another one in B; of two calls that are batches."""
    mine, its = hashes_of(a.call(call_a.number + 1)), hashes_of(b.call(call_b.number + 1))
    if not mine or not its or mine == its:
        return ""
    if sorted(mine) == sorted(its):
        return "The batch has the same entries in another order."
    if a.missing_entries(set(its)):
        return ""
    return "The data come in another order: in A the entries of the batch are those of others."


def is_state(call: Call) -> bool:
    """Evidence of states and settings, and not of entries."""
    return call.is_evidence and call.name != ENTRIES


def hashes_of(call: Call | None) -> list[bytes]:
    """Of the entries of a batch, of the call that has them."""
    known = call is not None and call.name == ENTRIES
    hashes = [value.hash for value in call.outputs] if call is not None and known else []
    return [] if content.UNHASHED in hashes else hashes
