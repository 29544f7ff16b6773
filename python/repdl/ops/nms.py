# SPDX-License-Identifier: MIT
"""Which of overlapping boxes are kept."""

from __future__ import annotations

from collections.abc import Iterator

from repdl._op import Sample, Tensor, no_rows, op, sample


@op(outputs=("indices", "count"))
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor]:
    """The boxes that are left if each leaves out those with a lower score that overlap with it too much.

    Args:
        boxes: float32 or float64, (n, 4): x1, y1, x2, y2.
        scores: as boxes, (n). Of equal scores that of the lower index comes first, and a NaN before all numbers.
        iou_threshold: a box is left out where the area that it has in common with another one, over that of both
            together, is more than this.

    Returns:
        indices: int64, (n): those of the boxes that are kept, in the order of their scores, then -1.
        count: int64, (): how many are kept.
    """


nms.rows(no_rows)


@nms.samples
def _() -> Iterator[Sample]:
    yield sample(boxes="unit[0, 4]#1", scores="unit[0]#2", iou_threshold=0.5)
    yield sample(boxes="unit[1, 4]#1", scores="unit[1]#2", iou_threshold=0.5)
    yield sample(boxes="unit[37, 4]#1", scores="unit[37]#2", iou_threshold=0.1)
    yield sample(boxes="unit[700, 4]#3", scores="normal[700]#4", iou_threshold=0.3)
    yield sample(boxes="unit[3000, 4]#3", scores="normal[3000]#4", iou_threshold=0.7)
    yield sample(boxes="unit[9000, 4]#5", scores="normal[9000]#6", iou_threshold=0.05)
    yield sample(boxes="uniform[500, 4]#7", scores="few[500]#8", iou_threshold=0.25)
    yield sample(boxes="few[200, 4]#9", scores="special[200]#10", iou_threshold=0.5)
    yield sample(boxes="few[300, 4]#11", scores="unit[300]#12", iou_threshold=0.0)
    yield sample(boxes="special[300, 4]#13", scores="few[300]#14", iou_threshold=0.0)
    yield sample(boxes="special[300, 4]#15", scores="zeros[300]#16", iou_threshold=-0.5)
    yield sample(boxes="wide[400, 4]#17", scores="normal[400]#18", iou_threshold=0.01)
    yield sample(boxes="bits[400, 4]#19", scores="bits[400]#20", iou_threshold=1e-30)
