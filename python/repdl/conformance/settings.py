# SPDX-License-Identifier: MIT
"""The settings of a process in which bits must not differ: what this CPU can pretend to be."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

from repdl import _core

LIBRARIES_HELD_BACK = {"MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "Prescott"}
"""Environment variables with which the libraries that torch calls take the plainest instructions."""


@dataclass(frozen=True)
class Setting:
    """Environment variables that make libraries take other instructions, in words and as they are."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)

    def of_process(self) -> dict[str, str]:
        """All variables of a process that finds the modules that this one does."""
        inherited = {name: value for name, value in os.environ.items() if name != "REPDL_RUN"}
        path = os.pathsep.join(p for p in sys.path if p)
        return inherited | {"PYTHONPATH": path, "OMP_WAIT_POLICY": "passive"} | self.environment


def settings_here() -> list[Setting]:
    """torch's instruction sets and our targets, two by two, and MKL and oneDNN held back: those that this CPU has."""
    from repdl.interception.machine import CAPABILITIES

    targets = _core.supported_targets()
    found = []
    for i in range(max(len(CAPABILITIES), len(targets))):
        capability, target = CAPABILITIES[i % len(CAPABILITIES)], targets[i % len(targets)]
        environment = {"ATEN_CPU_CAPABILITY": capability, "REPDL_TARGET": target}
        found.append(Setting(f"torch's {capability}, repdl's {target}", environment))
    return [*found, Setting("MKL and oneDNN held back", LIBRARIES_HELD_BACK)]
