# SPDX-License-Identifier: MIT
"""Small changes of a tensor, of which one may have a hash that is known: what another run gave in its place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from repdl import _content as content
from repdl.experiments.compare import FLOATS, INTEGERS

_MOST_BYTES = 1 << 32
"""That are hashed for one kind of changes; more take seconds."""


def edit(x: torch.Tensor, wanted: str) -> tuple[str, torch.Tensor] | None:
    """In words, and the tensor as it is then; None if no change that is tried has the hash."""
    if x.is_complex() or x.layout is not torch.strided or x.device.type != "cpu" or not x.numel():
        return None
    changed = x.detach().clone(memory_format=torch.contiguous_format)
    bits = changed.view(-1).view(INTEGERS[x.element_size()] if x.dtype is not torch.bool else torch.uint8).numpy()
    what = content.kind(changed)
    for name in _edits(bits, x.dtype):
        if content.with_kind(content.digest(bits.data), what).hex() == wanted:
            return name, changed
    return None


def _edits(bits: np.ndarray[tuple[int], np.dtype[np.signedinteger]], dtype: torch.dtype) -> Iterator[str]:
    """Changes the bits, and back before the next."""
    size = 8 * bits.itemsize
    if dtype in FLOATS:
        sign = np.array(np.iinfo(bits.dtype).min, bits.dtype)
        before, zeros = bits.copy(), bits & ~sign == 0
        for signs in (bits ^ sign, bits & ~sign, bits | sign):
            bits[zeros] = signs[zeros]
            yield "the signs of zeros"
            bits[:] = before
        if 2 * bits.size * bits.nbytes <= _MOST_BYTES:
            for i, value in enumerate(before):
                for other in (value + 1, value - 1) if value & ~sign else ():
                    bits[i] = other
                    yield "one element, which is one ulp away"
                bits[i] = value
    if size * bits.size * bits.nbytes <= _MOST_BYTES:
        for i, value in enumerate(bits.copy()):
            for bit in range(size):
                bits[i] = value ^ np.left_shift(np.array(1, bits.dtype), bit)
                is_sign = dtype in FLOATS and bit == size - 1
                yield "the sign of one element" if is_sign else f"one bit of one element, bit {bit}"
            bits[i] = value
