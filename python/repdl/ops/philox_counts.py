# SPDX-License-Identifier: MIT
"""Random counts: Poisson's and the binomial distribution, from a counter."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.philox import rows_of_stream


@op()
def philox_poisson(rate: Tensor, seed: int, call: int, offset: int = 0) -> Tensor:
    """Random numbers of Poisson's distribution, computed in float64.

    Args:
        rate: float32, float64, bfloat16 or float16, any shape; NaN comes where it is negative or not finite.
        seed, call: as in `philox_bits`.
        offset: the number, in the stream, of the first element, below 2^58.
    """


@op()
def philox_binomial(count: Tensor, prob: Tensor, seed: int, call: int, offset: int = 0) -> Tensor:
    """How many of `count` trials of probability `prob` succeed, computed in float64.

    Args:
        count: float32, float64, bfloat16 or float16; what is behind the point does not count. NaN comes where it is
            negative or not finite.
        prob: broadcast with `count`; NaN comes where it is outside of [0, 1].
        seed, call: as in `philox_bits`.
        offset: the number, in the stream, of the first element, below 2^58.
    """


@philox_poisson.samples
def _() -> Iterator[Sample]:
    yield sample(rate="wide[203]#1", seed=1, call=2)
    yield sample(rate="wide[99]#7", seed=1, call=2, offset=2**28 - 50)
    yield sample(rate="special[99]#2", seed=3, call=4, offset=2**58 - 99)
    yield sample(rate="positive.bfloat16[37]#4", seed=1, call=2)
    yield sample(rate="wide.float16[5, 7]#5", seed=1, call=2, offset=11)
    yield sample(rate="positive[0, 3]#1", seed=1, call=2)
    yield sample(rate="positive[]#1", seed=1, call=2)
    yield sample(rate="positive[601]#6", seed=5, call=6)


@philox_binomial.samples
def _() -> Iterator[Sample]:
    yield sample(count="wide[99]#1", prob="unit[99]#2", seed=1, call=2)
    yield sample(count="wide[40]#9", prob="unit[3, 1]#2", seed=1, call=2, offset=2**28 - 50)
    yield sample(count="special[99]#2", prob="special[99]#3", seed=3, call=4, offset=2**58 - 99)
    yield sample(count="wide.bfloat16[37]#4", prob="unit.bfloat16[37]#1", seed=1, call=2)
    yield sample(count="wide.float16[5, 7]#5", prob="unit.float16[7]#1", seed=1, call=2, offset=11)
    yield sample(count="positive[0, 3]#1", prob="unit[1]#1", seed=1, call=2)
    yield sample(count="positive[]#1", prob="unit[]#1", seed=1, call=2)
    yield sample(count="positive[601]#6", prob="unit[601]#1", seed=5, call=6)


philox_poisson.rows(rows_of_stream("rate"))
philox_binomial.rows(rows_of_stream("count", "prob"))
