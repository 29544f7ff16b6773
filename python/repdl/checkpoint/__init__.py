# SPDX-License-Identifier: MIT
"""Checkpoints from which a run goes on as if it had never stopped, bit for bit.

`save` writes the states of all parts of a run, of every generator of random numbers, and the settings that bits depend
on; `load` brings them back or changes nothing; `read` only looks. The file is safetensors and JSON: nothing in it is
ever run. `ResumableBatchSampler` is the place in the data.

`parts` has the three functions, `tree` turns what a state may hold into JSON and tensors, `file` writes and checks,
`generators` knows the generators and `settings` the settings.
"""

from repdl.checkpoint.errors import CheckpointError as CheckpointError, VersionWarning as VersionWarning
from repdl.checkpoint.parts import load as load, read as read, save as save
from repdl.checkpoint.sampler import ResumableBatchSampler as ResumableBatchSampler
