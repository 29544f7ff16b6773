# SPDX-License-Identifier: MIT
"""Programs that are not ours give the bits of programs.json, on every CPU target, with 1 and 3 threads, and with each
instruction set of torch's own kernels: all combinations that this CPU has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import programs
from support import CAPABILITIES

EXPECTED = json.loads(programs.EXPECTED.read_text())
GROUPS = 4
"""Each is a process, so that they run side by side."""


def test_digests_are_of_these_versions() -> None:
    assert EXPECTED["versions"] == programs.versions(), "python tests/python/programs.py --renew, and say why"
    assert EXPECTED["digests"].keys() == programs.PROGRAMS.keys()
    assert len(programs.PROGRAMS) >= 40


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("capability", CAPABILITIES)
def test_same_bits_everywhere(capability: str, group: int) -> None:
    names = list(programs.PROGRAMS)[group::GROUPS]
    done = subprocess.run(
        [sys.executable, programs.__file__, *names],
        env=os.environ | {"ATEN_CPU_CAPABILITY": capability, "OMP_WAIT_POLICY": "passive"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, dict[str, Any]] = dict(json.loads(line) for line in done.stdout.splitlines())
    different = {
        name: {setting: digest for setting, digest in of.items() if digest != EXPECTED["digests"][name]}
        for name, of in found.items()
    }
    assert found.keys() == set(names)
    assert not {name: of for name, of in different.items() if of}
