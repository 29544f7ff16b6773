# SPDX-License-Identifier: MIT
"""Functions of each element: of one tensor, or of two that are broadcast as in NumPy. float32, float64, bfloat16 or
float16."""
