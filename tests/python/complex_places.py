# SPDX-License-Identifier: MIT
"""What has no reproducible kernel for complex numbers: products at the places of a sparse matrix."""

from __future__ import annotations

import warnings

import torch

SAMPLED = "aten::sparse_sampled_addmm"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that they are new in torch
    PLACES = torch.eye(4, dtype=torch.complex64).to_sparse_csr()
DENSE = torch.eye(4, dtype=torch.complex64)


def at_places() -> torch.Tensor:
    return torch.sparse.sampled_addmm(PLACES, DENSE, DENSE)
