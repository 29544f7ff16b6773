# SPDX-License-Identifier: MIT
"""How far results of torch's calls are from the exact ones, in torch's own kernels and under `repdl.enable()`."""

from accuracy import families
from accuracy.calls import FAMILIES, Call, Draw
from accuracy.measure import Errors, measure

__all__ = ["FAMILIES", "Call", "Draw", "Errors", "families", "measure"]
