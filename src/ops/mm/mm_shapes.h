// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "base/check.h"
#include "drivers/reduce.h"
#include "repdl/op.h"

namespace repdl {

/// The sizes of a batch of products, m × k times k × n. Throws ValueError where the operands do not match.
struct MmShapes {
  int64_t m, n, k;
  IntList batch;

  MmShapes(std::string_view op, const TensorView& input, const TensorView& mat2, bool transA, bool transB) {
    const ArgName name_a{op, "input"}, name_b{op, "mat2"};
    CheckRank(name_a, input, 2, kMaxRank, "(…, m, k)");
    CheckRank(name_b, mat2, 2, kMaxRank, "(…, k, n)");
    const int a = input.rank(), b = mat2.rank();
    m = input.shape[a - (transA ? 1 : 2)], n = mat2.shape[b - (transB ? 2 : 1)];
    k = input.shape[a - (transA ? 2 : 1)];
    const int64_t rows = mat2.shape[b - (transB ? 1 : 2)];
    REPDL_CHECK(k == rows, name_b, " of shape ", Name(mat2.shape), transB ? " (transposed)" : "", " has ", rows,
                " rows to multiply, but input of shape ", Name(input.shape), transA ? " (transposed)" : "", " has ", k,
                " columns");
    const TensorView& longer = a >= b ? input : mat2;
    for (int i = 0; i < longer.rank() - 2; ++i) batch.Append(longer.shape[i]);
    if (a > 2 && b > 2) {
      REPDL_CHECK(a == b && std::equal(batch.begin(), batch.end(), mat2.shape.begin()) &&
                      std::equal(batch.begin(), batch.end(), input.shape.begin()),
                  name_b, " of shape ", Name(mat2.shape), " must have the batch dimensions of input, ",
                  Name(input.shape), ", or none; use expand()");
    }
  }

  /// The matrices of the batch.
  int64_t Count() const {
    int64_t count = 1;
    for (int64_t size : batch) count *= size;
    return count;
  }

  /// Where the matrices of an operand lie.
  Loops BatchLoops(const TensorView& tensor) const {
    Loops loops;
    // A tensor without elements may lie nowhere: nothing steps through it.
    if (tensor.rank() == 2 || tensor.numel() == 0) return loops;
    for (int dim = 0; dim < batch.size(); ++dim) loops.Append(batch[dim], tensor.strides[dim]);
    return loops;
  }

  Specs Result(DType dtype) const {
    TensorSpec result{dtype, batch};
    result.shape.Append(m);
    result.shape.Append(n);
    return {result};
  }
};

}  // namespace repdl
