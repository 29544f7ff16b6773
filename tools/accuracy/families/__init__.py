# SPDX-License-Identifier: MIT
"""The calls that are measured. Each module enters its families."""

from accuracy.families import functions, gradients, matrices, products, recurrent, rows, scans, sums, transforms

__all__ = ["functions", "gradients", "matrices", "products", "recurrent", "rows", "scans", "sums", "transforms"]
