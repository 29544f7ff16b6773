# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, op, sample
from repdl.ops.philox import rows_of_stream


@op()
def philox_gamma(alpha: Tensor, seed: int, call: int, offset: int = 0) -> Tensor:
    """Random numbers of gamma distributions of rate 1, by Marsaglia and Tsang, computed in float32.

    Args:
        alpha: float32, float64, bfloat16 or float16, any shape; NaN comes where it is not above 0.
        seed, call: as in `philox_bits`.
        offset: the number, in the stream, of the first element, below 2^58.
    """


@philox_gamma.samples
def _() -> Iterator[Sample]:
    yield sample(alpha="positive[203]#1", seed=1, call=2)
    yield sample(alpha="special[99]#2", seed=3, call=4, offset=2**58 - 99)
    yield sample(alpha="wide[7, 29]#3", seed=-1, call=-2, offset=2**28 - 50)
    yield sample(alpha="positive.bfloat16[37]#4", seed=1, call=2)
    yield sample(alpha="unit.float16[5, 7]#5", seed=1, call=2, offset=11)
    yield sample(alpha="positive[0, 3]#1", seed=1, call=2)
    yield sample(alpha="positive[]#1", seed=1, call=2)
    yield sample(alpha="positive[601]#6", seed=5, call=6)


philox_gamma.rows(rows_of_stream("alpha"))
