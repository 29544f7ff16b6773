# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from reference import REFERENCE
from repdl.testing import Reference
from repdl.testing.python_reference import digests_by


@pytest.fixture(scope="session")
def reference_digests() -> Reference:
    return digests_by(REFERENCE)
