# SPDX-License-Identifier: MIT
"""Makes an unchanged PyTorch program reproducible: takes over torch's kernels, below autograd.

`aten` has our kernels of torch's ops, `exact.toml`, `layouts.toml` and `libraries.toml` list the ops that need none,
and every other op raises (`strict`).
`switch` registers all this with torch's dispatcher, and `audit` lists what a program calls of it.
"""

from repdl.interception.recording import audit as audit
from repdl.interception.report import Report as Report, Row as Row
from repdl.interception.strict import (
    NotReproducibleError as NotReproducibleError,
    NotReproducibleWarning as NotReproducibleWarning,
    allow_native as allow_native,
    permissions as permissions,
)
from repdl.interception.switch import (
    disable as disable,
    enable as enable,
    is_enabled as is_enabled,
    reproducible as reproducible,
)
from repdl.interception.versions import UnmeasuredTorchWarning as UnmeasuredTorchWarning
