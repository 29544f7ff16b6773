# SPDX-License-Identifier: MIT
"""The settings that a process begins with, as environment variables: what stands for other machines on this one."""

from __future__ import annotations

import platform
from itertools import zip_longest

from repdl.conformance.settings import Setting

BASE, HELD_BACK, RECORD = "this machine", "all held back", "audit"
"""Names of settings: all that the CPU can; the least of everything; and one that asks the audit for classes."""


def settings(short: bool = False) -> list[Setting]:
    """All that this CPU can; what lies between, of torch and of ours at once; the least. The first and last if short.

    Each target of ours and each instruction set of torch is in one of them at least.
    """
    import torch

    from repdl import _core
    from repdl.interception.machine import CAPABILITIES, CAPABILITY

    targets = [name for name in _core.supported_targets() if name != _core.active_target()]
    capabilities = [name for name in CAPABILITIES if name != CAPABILITY]
    found = []
    for capability, target in zip_longest(capabilities, targets):
        environment = {"ATEN_CPU_CAPABILITY": capability or (capabilities or ["default"])[-1]}
        if targets:
            environment["REPDL_TARGET"] = target or targets[-1]
        found.append(Setting(" ".join(f"{name}={value}" for name, value in environment.items()), environment))
    libraries: dict[str, str] = {}
    if torch.backends.mkl.is_available():
        libraries["MKL_CBWR"] = "COMPATIBLE"
    if torch.backends.mkldnn.is_available() and platform.machine() in ("x86_64", "AMD64"):
        libraries["ONEDNN_MAX_CPU_ISA"] = "SSE41"
    least = (found[0].environment if found else {}) | libraries
    return [Setting(BASE), *([] if short else found[1:]), Setting(HELD_BACK, least)]
