# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

from repdl._op import PerAxis, Sample, Tensor, op, rows_of, sample


@op()
def integer_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    transposed: bool = False,
    output_padding: PerAxis = 0,
    groups: int = 1,
) -> Tensor:
    """`convolution` of integers, modulo 2^n, where n is the number of bits of their type.

    Args:
        input: uint8, int8, int16, int32 or int64, (n, c, …).
        weight: as input, with as many dimensions: (o, c / groups, …), or (c, o / groups, …) if transposed.
        bias: as input, (o), or None.
        stride, padding, dilation: a number, or one for each dimension of space.
        transposed: whether it is the gradient of a convolution by its input.
        output_padding: if transposed, the places more that the output has at its ends; less than stride or dilation.
        groups: divides c and o.

    Returns:
        As input, (n, o, …).
    """


integer_convolution.rows(rows_of("input"))


@integer_convolution.samples
def _() -> Iterator[Sample]:
    yield sample(input="classes99[2, 3, 9]#1", weight="classes50[4, 3, 3]#2", stride=2, padding=1, dilation=2)
    yield sample(input="classes99[2, 3, 8, 71]#1", weight="classes50[5, 3, 2, 3]#2", bias="classes9[5]#3")
    both: dict[str, object] = {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 1), "groups": 2}
    yield sample(input="classes99[2, 4, 9, 8]#1", weight="classes50[6, 2, 3, 2]#2", **both)
    yield sample(input="classes99[1, 6, 5, 5]#1", weight="classes50[6, 1, 3, 3]#2", groups=6, padding=1)
    yield sample(input="classes99[2, 3, 20, 30]#1", weight="classes50[9, 3, 3, 3]#2", padding=1)
    yield sample(input="classes99[2, 4, 5, 4, 6]#1", weight="classes50[4, 2, 2, 3, 2]#2", stride=(1, 2, 1), groups=2)
    turned: dict[str, object] = {"transposed": True, "stride": 3, "padding": 1, "output_padding": 2, "groups": 2}
    yield sample(input="classes99[2, 4, 5]#1", weight="classes50[4, 2, 3]#2", bias="classes9[4]#3", **turned)
    uneven: dict[str, object] = {"transposed": True, "stride": (2, 3), "padding": (2, 0), "dilation": (1, 2)}
    yield sample(input="classes99[2, 4, 5, 3]#1", weight="classes50[4, 3, 3, 2]#2", **uneven)
    yield sample(input="classes99[2, 2, 3, 2, 3]#1", weight="classes50[2, 3, 2, 3, 2]#2", transposed=True, stride=2)
    yield sample(
        input="classes99[2, 3, 4]#1", weight="classes50[3, 2, 1]#2", bias="classes9[2]#3", transposed=True, stride=3
    )
    yield sample(input="classes99[0, 3, 9]#1", weight="classes50[4, 3, 3]#2")
