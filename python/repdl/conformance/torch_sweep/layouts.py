# SPDX-License-Identifier: MIT
"""A call in other layouts, of one row alone, and of many: bits must not depend on memory and batch."""

from __future__ import annotations

import math

from repdl.conformance.layouts import LAYOUTS, is_dense, packed
from repdl.conformance.torch_sweep.samples import Sample

LARGE = 100_003
"""Elements above every size from which torch's kernels and ours share work among threads, in an odd number."""

LAYOUT_IS_ASKED = (
    "as_strided", "empty", "new_empty", "is_contiguous", "resize", "view_as_real", "view_as_complex", "contiguous",
    "to_sparse",
)  # fmt: skip
"""Names of ops begin so whose result is about strides or memory, or holds none."""

HOLDS_NOTHING = ("empty", "new_empty")
"""Names of ops begin so whose result is memory as it was found."""

NO_ROWS = (
    "lu_unpack", "linalg.multi_dot", "nn.GRU", "nn.LSTM", "nn.RNN", "triu", "tril", "diagonal_scatter",
    "_unsafe_masked_index_put_accumulate",
)  # fmt: skip
"""Names of ops with which torch reads or writes out of bounds, if they get a row alone; or that choose an order of
products by all sizes; or whose first dimension is part of a matrix."""


def laid_out(sample: Sample, name: str, first_only: bool = False) -> Sample | None:
    """The call with tensors in a layout; None if that leaves all strides as they were."""
    before, after, moved = sample.tensors(), [], False
    for i, x in enumerate(before):
        y = LAYOUTS[name](x) if is_dense(x) and not (first_only and i) else packed(x)
        moved |= y.stride() != packed(x).stride() or y.storage_offset() != 0 if is_dense(x) else False
        after.append(y)
    return sample.with_tensors(after) if moved else None


def rows(sample: Sample, row: int) -> Sample | None:
    """The call with one row alone of every tensor that has as many as the first; None if there is just one."""
    tensors = sample.tensors()
    if not tensors or not is_dense(tensors[0]) or tensors[0].dim() == 0 or tensors[0].shape[0] < 2:
        return None
    count, ranks = tensors[0].shape[0], (1, tensors[0].dim())
    row = row % count
    return sample.with_tensors(
        [x[row : row + 1] if is_dense(x) and x.dim() in ranks and x.shape[0] == count else x for x in tensors]
    )


def large(sample: Sample, how: str) -> Sample | None:
    """The call with repeated operands, of about LARGE elements: "flat", in one dimension, or with more "rows"."""
    tensors = sample.tensors()
    if not tensors or not all(is_dense(x) for x in tensors) or tensors[0].numel() == 0:
        return None
    first = tensors[0]
    if how == "flat":
        if first.dim() == 0 or any(x.shape != first.shape for x in tensors if x.dim()):
            return None
        grown = [x.reshape(-1).repeat(math.ceil(LARGE / x.numel()))[:LARGE] if x.dim() else x for x in tensors]
    else:
        if first.dim() < 2:
            return None
        count, times = first.shape[0], math.ceil(LARGE / first.numel())
        grown = [
            x.repeat(times, *[1] * (x.dim() - 1)) if x.dim() and x.shape[0] == count and x.dim() == first.dim() else x
            for x in tensors
        ]
    return sample.with_tensors(grown, how)


TOO_LARGE = (
    "block_diag", "broadcast_shapes", "cartesian_prod", "cdist", "combinations", "corrcoef", "cov", "diag", "einsum",
    "ger", "gradient", "kron", "linalg", "lu", "meshgrid", "nn.functional.multi_head", "nn.functional.pdist", "ormqr",
    "outer", "svd", "pca_lowrank", "tensordot", "torch.ops", "triangular", "vander", "qr", "geqrf", "cholesky",
    "pinverse", "logdet", "matrix_exp", "symeig", "inner", "unfold", "nn.TransformerDecoder",
    "nn.TransformerEncoder", "nn.Transformer", "nn.MultiheadAttention", "nn.GRU", "nn.LSTM", "nn.RNN",
    "nn.functional.scaled_dot", "to_sparse", "sparse", "jiterator", "repeat", "tile", "segment_reduce", "ctc_loss",
    "polygamma", "special.polygamma", "special.zeta", "nn.functional.multilabel_margin", "nn.MultiLabelMargin",
    "split", "unsafe_split", "unbind",
)  # fmt: skip
"""Names begin so of ops whose results or time grow with the square of the rows, or with the size of the numbers, or
that give as many results as there are rows."""
