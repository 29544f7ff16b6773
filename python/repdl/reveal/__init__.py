# SPDX-License-Identifier: MIT
"""The order of a sum, read from its results. The module can be called: `repdl.reveal(sums, n)` is its function."""

import sys
from types import ModuleType

from repdl.reveal.probing import NotASumError as NotASumError, reveal as reveal
from repdl.reveal.tree import Tree as Tree


class _Callable(ModuleType):
    __call__ = staticmethod(reveal)


sys.modules[__name__].__class__ = _Callable
