# SPDX-License-Identifier: MIT
"""The overloads that have kernels of ours, by family. Each is made of ops of repdl and of exact calls of torch."""

import repdl.interception.float64  # noqa: F401 (its ops, which overrides look up)
from repdl.interception.aten import (
    arithmetic as arithmetic,
    attention as attention,
    complex_numbers as complex_numbers,
    convolution as convolution,
    ctc as ctc,
    distance as distance,
    embedding as embedding,
    factorization as factorization,
    fake_quantized as fake_quantized,
    functions as functions,
    gamma as gamma,
    gamma_gradients as gamma_gradients,
    grid as grid,
    indexing as indexing,
    interpolation as interpolation,
    loss as loss,
    matmul as matmul,
    normalization as normalization,
    optimizer as optimizer,
    quantized as quantized,
    random as random,
    reduction as reduction,
    softmax as softmax,
    solving as solving,
    sparse as sparse,
    sparse_products as sparse_products,
)
