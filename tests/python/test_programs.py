# SPDX-License-Identifier: MIT
"""Programs that are not ours give the bits of programs.json, on every CPU target, with 1 and 3 threads, and with each
instruction set of torch's own kernels: those take turns, so that each process runs a share of targets and threads.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import programs
from support import CAPABILITIES, run_with_capability

EXPECTED = json.loads(programs.EXPECTED.read_text())
GROUPS = 2
"""Each is a process, so that they run side by side."""


def test_digests_are_of_these_versions() -> None:
    assert EXPECTED["versions"] == programs.versions(), "python tests/python/programs.py --renew, and say why"
    assert EXPECTED["digests"].keys() == programs.PROGRAMS.keys()
    assert len(programs.PROGRAMS) >= 40


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("share", range(len(CAPABILITIES)))
def test_same_bits_everywhere(share: int, group: int) -> None:
    names = list(programs.PROGRAMS)[group::GROUPS]
    shares = str(len(CAPABILITIES))
    printed = run_with_capability(CAPABILITIES[share], programs.__file__, str(share), shares, *names, timeout=900)
    found: dict[str, dict[str, Any]] = dict(json.loads(line) for line in printed.splitlines())
    different = {
        name: {setting: digest for setting, digest in of.items() if digest != EXPECTED["digests"][name]}
        for name, of in found.items()
    }
    assert found.keys() == set(names) and all(found.values())
    assert not {name: of for name, of in different.items() if of}
