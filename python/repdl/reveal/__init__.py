# SPDX-License-Identifier: MIT
"""The order of a sum, read from its results. The function `reveal` is also `repdl.reveal`."""

from repdl.reveal.probing import NotASumError as NotASumError, reveal as reveal
from repdl.reveal.tree import Tree as Tree
