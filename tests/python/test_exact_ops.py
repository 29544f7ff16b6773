# SPDX-License-Identifier: MIT
"""The ops of exact.toml keep torch's kernels: the same bits with every instruction set, thread count and layout."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

import exact_digests
import repdl.interception.exact as exact
from repdl.interception import switch
from support import CAPABILITIES, run_with_capability


@pytest.fixture(scope="module")
def runs() -> list[dict[str, Any]]:
    """What the program prints in a process for each of torch's instruction sets that this CPU has."""
    found = {}
    for capability in CAPABILITIES:
        whole = [] if found else ["--ops"]
        run = json.loads(run_with_capability(capability, exact_digests.__file__, *whole, timeout=300))
        found[run["capability"]] = run
    return list(found.values())


def test_same_bits_everywhere(runs: list[dict[str, Any]]) -> None:
    digests: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for name, threads, layout, digest in run["digests"]:
            digests[name][digest].append((run["capability"], threads, layout))
    different = {name: list(kinds.values()) for name, kinds in digests.items() if len(kinds) > 1}
    assert not different


# Not run by the program, and why they need no run.
TRUSTED = {
    "asserts; gives no number": "_assert_async _assert_scalar _assert_tensor_metadata _functional_assert_async "
    "_functional_assert_scalar",
    "the inside of cummax and cummin": "_cummax_helper _cummin_helper",
}


def test_every_exact_op_is_run(runs: list[dict[str, Any]]) -> None:
    """Those that compute. An in-place form and a foreach form count as the op itself."""

    def plain(name: str) -> str:
        return name.removeprefix("_foreach_").rstrip("_") or name

    groups = tomllib.loads(Path(exact.__file__).with_name("exact.toml").read_text())
    declared = {
        plain(op.partition(".")[0]) for g in ("selects", "rounds", "in_order") for op in groups[g]["ops"].split()
    }
    ran = {plain(name) for run in runs for name in run["ops"]}
    trusted = {plain(name) for names in TRUSTED.values() for name in names.split()}
    assert declared - ran == trusted


# Kernels of torch's for a CPU that only call others, through the dispatcher, as was read in its sources.
CALL_OTHERS = {
    "_fake_quantize_learnable_per_channel_affine", "_fake_quantize_learnable_per_tensor_affine", "glu_backward_jvp",
    "hardtanh", "hardtanh.out", "hardtanh_", "native_dropout", "native_dropout_backward", "remainder.Scalar_Tensor",
}  # fmt: skip


def test_composites_have_no_kernel_of_their_own() -> None:
    """A name without an overload stands for all of its overloads, of which one may compute by itself."""
    overridden = switch.kernels()["CPU"]
    registered = [name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names()]
    computing = {
        name
        for name in registered
        if exact.calls_others(name)
        and name not in overridden
        and torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CPU")
    }
    assert computing == CALL_OTHERS & set(registered)
