# SPDX-License-Identifier: MIT
"""Random choices, from a counter: of rows by weights, and the order of a permutation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from repdl._op import Sample, Tensor, no_rows, op, sample


@op(outputs=("indices",))
def philox_multinomial(
    weights: Tensor, num_samples: int, replacement: bool, seed: int, call: int, offset: int = 0
) -> Tensor:
    """Draws indices, each row's with probabilities in proportion to its weights.

    Args:
        weights: (n,) or (m, n) of float32, float64, bfloat16 or float16, finite and not negative; in each row at least
            one above 0, without replacement num_samples.
        num_samples: at least 1.
        replacement: whether an index may come again.
        seed, call: as in `philox_bits`.
        offset: the number, in the stream, of the first weight or, with replacement, of the first index.

    Returns:
        int64, (num_samples,) or (m, num_samples).
    """


@op(outputs=())
def philox_randperm(tensor: Tensor, seed: int, call: int) -> None:
    """Fills a tensor with the integers from 0 on in random order.

    Args:
        tensor: (n,), int64, any stride without overlaps; changed.
        seed, call: as in `philox_bits`.
    """


@philox_multinomial.rows
def _(arguments: Mapping[str, Any], rows: slice) -> dict[str, Any] | None:
    weights = arguments["weights"]
    if weights.ndim == 1:
        return None
    start, _, _ = rows.indices(weights.shape[0])
    width = arguments["num_samples"] if arguments["replacement"] else weights.shape[1]
    return {**arguments, "weights": weights[rows], "offset": arguments["offset"] + start * width}


philox_randperm.rows(no_rows)


@philox_multinomial.samples
def _() -> Iterator[Sample]:
    for again in (False, True):
        yield sample(weights="positive[5, 37]#1", num_samples=7, replacement=again, seed=1, call=2)
        yield sample(weights="unit[800]#1", num_samples=63, replacement=again, seed=-1, call=3, offset=2**34 - 9)
        yield sample(weights="positive.bfloat16[3, 70]#2", num_samples=3, replacement=again, seed=5, call=-6)
        yield sample(weights="positive.float16[33]#3", num_samples=33, replacement=again, seed=5, call=6)
        yield sample(weights="unit.bfloat16[2, 99]#4", num_samples=20, replacement=again, seed=7, call=8)
        yield sample(weights="nonnegative[1, 37]#6", num_samples=2, replacement=again, seed=11, call=-12)
        yield sample(weights="nonnegative.float64[1, 20]#8", num_samples=2, replacement=again, seed=-13, call=14)
        yield sample(weights="positive[0, 3]#1", num_samples=2, replacement=again, seed=1, call=2)
    yield sample(weights="positive[2, 8200]#5", num_samples=5, replacement=True, seed=9, call=10)


@philox_randperm.samples
def _() -> Iterator[Sample]:
    for i, n in enumerate((0, 1, 2, 33, 1000, 2101)):
        yield sample(tensor=f"classes9[{n}]#1", seed=i - 1, call=7 - i)
