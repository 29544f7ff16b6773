# SPDX-License-Identifier: MIT
"""Every op against the slow reference, where no golden file has been: other shapes, dtypes, orders and numbers."""

from __future__ import annotations

import pytest

from reference import digests_by_program
from repdl.testing.suites import (
    check,
    test_any_call as test_any_call,
    test_sizes_around_every_boundary as test_sizes_around_every_boundary,
)


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = "mm(input=normal[3, 300]#1, mat2=normal[300, 2]#2, order='blocked')"
    assert check([case], digests_by_program) == 1
    other = case.replace("blocked", "sequential")
    monkeypatch.setattr("repdl.testing.suites.library_digest", lambda text: other_digest)
    other_digest = digests_by_program([other])[0]
    with pytest.raises(AssertionError, match="mm"):
        check([case], digests_by_program)
