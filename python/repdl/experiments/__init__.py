# SPDX-License-Identifier: MIT
"""Finds out by experiment in what an op keeps its bits, torch's own or ours.

`take` copies a call of an op, `Engine.trial` makes it again in every way of `KINDS`, and `mending` tries lines that may
help. `measure` does so for all that a program calls: `repdl audit --measure`.
"""

from repdl.experiments.call import Call as Call, UntriedError as UntriedError, take as take
from repdl.experiments.compare import Difference as Difference, difference as difference
from repdl.experiments.engine import Engine as Engine, Outcome as Outcome, Trial as Trial
from repdl.experiments.measurement import Measured as Measured, Measurement as Measurement, Varies as Varies
from repdl.experiments.program import measure as measure, measuring as measuring
from repdl.experiments.remedies import mending as mending
from repdl.experiments.variations import KINDS as KINDS
