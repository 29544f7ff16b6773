// SPDX-License-Identifier: MIT
// Products of matrices of integers.
#include "op.h"

namespace repdl::reference {

static Results RunIntegerMm(const Case& test_case) {
  const Arguments args(test_case);
  const IntList a_shape = args.Shape("input"), b_shape = args.Shape("mat2"), out = args.OutputShape();
  const Indices a = args.IndicesOf("input"), b = args.IndicesOf("mat2");
  const int64_t m = out[out.size() - 2], n = out[out.size() - 1], k = a_shape[a_shape.size() - 1];
  // Additions and products of unsigned numbers are modulo 2^64.
  std::vector<uint64_t> sums(static_cast<size_t>(Size(out)), 0);
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t matrix = at / (m * n), row = at / n % m, column = at % n;
    const int64_t a_matrix = a_shape.size() > 2 ? matrix : 0, b_matrix = b_shape.size() > 2 ? matrix : 0;
    for (int64_t j = 0; j < k; ++j) {
      sums[i] += static_cast<uint64_t>(a[(a_matrix * m + row) * k + j]) *
                 static_cast<uint64_t>(b[(b_matrix * k + j) * n + column]);
    }
  }
  Results results;
  Append(results, Indices(sums.begin(), sums.end()), out);
  return results;
}

static const Op kOps[] = {{"integer_mm", RunIntegerMm}};

}  // namespace repdl::reference
