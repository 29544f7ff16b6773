// SPDX-License-Identifier: MIT
#include <algorithm>
#include <type_traits>

#include "base/parallel.h"
#include "drivers/unsigned.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/mm/integer_mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "drivers/add_product.lane.h"

namespace {

/// Columns of a row that are summed side by side.
constexpr int64_t kColumns = 64;

/// Columns [j, j + count) of a row of the result. `b` is at column j.
template <class U>
HWY_INLINE void SumColumns(const IntegerMmArgs& args, const U* a, const U* b, int64_t count, U* c) {
  HWY_ALIGN U sums[kColumns] = {};
  for (int64_t k = 0; k < args.k; ++k) {
    const U factor = a[k * args.a_col_stride];
    const U* const row = b + k * args.b_row_stride;
    if (args.b_col_stride == 1) {
      for (int64_t j = 0; j < count; ++j) sums[j] = AddProduct(sums[j], factor, row[j]);
    } else {
      for (int64_t j = 0; j < count; ++j) sums[j] = AddProduct(sums[j], factor, row[j * args.b_col_stride]);
    }
  }
  std::copy_n(sums, count, c);
}

template <class U>
void Multiply(const IntegerMmArgs& args) {
  constexpr int64_t kGrain = 16384;
  const int64_t products = args.n * std::max<int64_t>(args.k, 1);
  ParallelRanges(args.batch * args.m, kGrain / products + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t matrix = line / args.m, row = line % args.m;
      // Operands without elements may lie nowhere.
      const U* const a =
          args.k == 0 ? nullptr : static_cast<const U*>(args.a) + args.a_batch.Offset(matrix) + row * args.a_row_stride;
      const U* const b = args.k == 0 ? nullptr : static_cast<const U*>(args.b) + args.b_batch.Offset(matrix);
      U* const c = static_cast<U*>(args.c) + line * args.n;
      for (int64_t j = 0; j < args.n; j += kColumns) {
        SumColumns(args, a, args.k == 0 ? nullptr : b + j * args.b_col_stride, std::min(kColumns, args.n - j), c + j);
      }
    }
  });
}

}  // namespace

void IntegerMmKernel(const IntegerMmArgs& args) {
  DispatchUnsigned(args.dtype, [&]<class U>() { Multiply<U>(args); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
