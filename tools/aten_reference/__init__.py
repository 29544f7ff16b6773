# SPDX-License-Identifier: MIT
"""The slow reference of torch's ops, in plain Python: what each gives under `repdl.enable()`.

It shares no arithmetic with the library and with torch. A family of ops is a module of `families`.
"""

from .families import load as load
from .registry import golden_lines as golden_lines, registry as registry
