# SPDX-License-Identifier: MIT
"""The settings that a process begins with, as environment variables: what stands for other machines on this one."""

from __future__ import annotations

import platform

from repdl.conformance.settings import Setting

BASE, HELD_BACK, RECORD = "this machine", "all held back", "audit"
"""Names of settings: all that the CPU can; the least of everything; and one that asks the audit for classes."""


def settings(short: bool = False) -> list[Setting]:
    """One thing held back in each, and all of them at once; only the first and the last if short."""
    import torch

    from repdl import _core
    from repdl.interception.machine import CAPABILITIES, CAPABILITY

    targets = [name for name in _core.supported_targets() if name != _core.active_target()]
    capabilities = [name for name in CAPABILITIES if name != CAPABILITY]
    single = [Setting(f"REPDL_TARGET={name}", {"REPDL_TARGET": name}) for name in targets]
    single += [Setting(f"ATEN_CPU_CAPABILITY={name}", {"ATEN_CPU_CAPABILITY": name}) for name in capabilities]
    if torch.backends.mkl.is_available():
        single.append(Setting("MKL_CBWR=COMPATIBLE", {"MKL_CBWR": "COMPATIBLE"}))
    if torch.backends.mkldnn.is_available() and platform.machine() in ("x86_64", "AMD64"):
        single.append(Setting("ONEDNN_MAX_CPU_ISA=SSE41", {"ONEDNN_MAX_CPU_ISA": "SSE41"}))
    least: dict[str, str] = {}
    for setting in reversed(single):
        least |= {"ATEN_CPU_CAPABILITY": "default"} | setting.environment
    if capabilities:
        least["ATEN_CPU_CAPABILITY"] = capabilities[0]
    if targets:
        least["REPDL_TARGET"] = targets[0]
    return [Setting(BASE), *([] if short else single), Setting(HELD_BACK, least)]
