# SPDX-License-Identifier: MIT
"""Random numbers with the same bits on every machine, in two streams.

The stream "torch" is what torch's CPU generator draws, number by number; programs whose published results began from
`torch.manual_seed` keep them. `uniform_` and `stream("torch")` belong to it.

`repdl.random.philox` has samplers named as torch's own, whose numbers are functions of (seed, call, place in the
tensor): the same for any strides and any number of threads. The state is that of the torch generator, so that
`torch.manual_seed`, `torch.get_rng_state` and what is built on them do as ever.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from repdl.random import philox as philox
from repdl.random.philox import philox_key as philox_key
from repdl.random.torch_stream import uniform_ as uniform_

if TYPE_CHECKING:
    from repdl.interception.torch_stream import STREAMS as STREAMS, stream as stream


def __getattr__(name: str) -> Any:
    """What takes over a kernel of torch is imported when it is first used: the interception needs the samplers here."""
    if name in ("STREAMS", "stream"):
        return getattr(import_module("repdl.interception.torch_stream"), name)
    raise AttributeError(f"module 'repdl.random' has no attribute {name!r}")
