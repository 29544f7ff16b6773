# SPDX-License-Identifier: MIT
"""How samples of gamma and beta distributions move with their parameters, at the same probability."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import GRADIENT, Sample, Tensor, op, sample


@op(outputs=("grad",), aten=["_standard_gamma_grad"], promotion=GRADIENT)
def standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of a sample of the gamma distribution by the shape, by steps of float64; see the contract.

    Args:
        input: the shape, above 0. float32, float64, bfloat16 or float16, any shape.
        output: the sample, of a shape that broadcasts.
    """


@op(outputs=("grad",), aten=["_dirichlet_grad"], promotion=GRADIENT)
def dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of a sample of the beta distribution by its first parameter, over 1 - x, by steps of float64.

    Args:
        x: the sample, in [0, 1]. float32, float64, bfloat16 or float16, any shape.
        alpha: the first parameter, above 0, of a shape that broadcasts.
        total: the sum of both parameters, of a shape that broadcasts.
    """


@standard_gamma_grad.samples
def _() -> Iterator[Sample]:
    """In sweeps the shape rises by octaves and the sample stays at about the same share of it, as for igamma."""
    yield sample(input="positive[1000]#1", output="positive[1000]#2")
    yield sample(input="positive[300]#1", output="unit[300]#2")
    yield sample(input="special[300]#1", output="special[300]#2")
    yield sample(input="wide[200]#1", output="wide[200]#2")
    yield sample(input="bits[500]#1", output="bits[500]#2")
    for start, place, size in ((701, 468, 1100), (701, 1311, 1100), (1578, 23470, 1300), (1578, 1201, 300)):
        yield sample(input=f"sweep[{size}]#{start}", output=f"sweep[{size}]#{place}")
    for start, place in ((9385, 3607), (9385, 11969), (9385, 13566), (9385, 36), (2853, 16383), (2853, 9618)):
        yield sample(input=f"sweep.float64[140]#{start}", output=f"sweep.float64[140]#{place}")
    yield sample(input="positive[9, 1]#1", output="positive[7]#2")
    yield sample(input="positive[]#1", output="positive[3, 0]#2")
    for dtype in ("bfloat16", "float16"):
        yield sample(input=f"positive.{dtype}[99]#1", output=f"positive.{dtype}[99]#2")


@dirichlet_grad.samples
def _() -> Iterator[Sample]:
    """In sweeps alpha rises by octaves and the sum of both stays at the same multiple of it, from 1.02 to 1000."""
    for place in (44485, 22826, 44951, 30523, 44231):
        yield sample(x="unit[1100]#1", alpha="sweep[1100]#701", total=f"sweep[1100]#{place}")
    for place in (45362, 23703, 45828, 45108):
        yield sample(x="unit[700]#2", alpha="sweep[700]#1578", total=f"sweep[700]#{place}")
    for start, place in ((9385, 38042), (9385, 42223), (9385, 25732), (2853, 35691), (2853, 59180)):
        yield sample(x="unit.float64[140]#3", alpha=f"sweep.float64[140]#{start}", total=f"sweep.float64[140]#{place}")
    yield sample(x="unit[300]#1", alpha="unit[300]#2", total="positive[300]#3")
    yield sample(x="unit[200]#1", alpha="wide[200]#2", total="wide[200]#3")
    yield sample(x="special[300]#1", alpha="special[300]#2", total="special[300]#3")
    yield sample(x="unit[200]#1", alpha="special[200]#2", total="special[200]#3")
    yield sample(x="unit[9, 1]#1", alpha="unit[7]#2", total="positive[]#8")
    yield sample(x="unit[]#1", alpha="unit[3, 0]#2", total="positive[]#1")
    for dtype in ("bfloat16", "float16"):
        yield sample(x=f"unit.{dtype}[99]#1", alpha=f"unit.{dtype}[99]#2", total=f"positive.{dtype}[99]#130")
