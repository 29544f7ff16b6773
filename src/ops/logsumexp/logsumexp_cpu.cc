// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/column_cpu-inl.h"
#include "drivers/reduce_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/logsumexp/logsumexp_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/logsumexp/logsumexp.row.h"

namespace {

/// Rows that lie across memory, a vector of them at a time.
template <class T>
void OfColumns(const LogSumExpArgs<T>& args) {
  const Columns<T> columns{args.n, args.order};
  ForColumns<T>(args.kept, args.num_rows, args.n, [&](int64_t first, int64_t count) HWY_ATTR {
    Scratch scratch;
    T* const buffer = scratch.Get<T>(args.n * kLanesOf<T>);
    const auto x = TakeColumns(args.input, args.kept, args.reduced.InnerStride(), args.n, first, count, buffer);
    StoreN(LogSumExpOfRow(columns, x), args.output + first, count);
  });
}

template <class T>
void OfRows(const LogSumExpArgs<T>& args) {
  if (args.reduced.shape.size() == 1 && AreColumns<T>(args.num_rows, args.n, args.reduced.InnerStride())) {
    return OfColumns(args);
  }
  const Row<T> row{args.n, args.order};
  ParallelRanges(args.num_rows, 4096 / std::max<int64_t>(args.n, 1) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const buffer = scratch.Get<T>(args.n);
    for (int64_t r = begin; r < end; ++r) {
      const T* const x = GatherTerms(StoredRow{args.input + args.kept.Offset(r)}, args.reduced, 0, args.n, buffer);
      args.output[r] = hn::GetLane(LogSumExpOfRow(row, RowNumbers<const T>{x}));
    }
  });
}

}  // namespace

void LogSumExpKernel(const LogSumExpArgs<float>& args) { OfRows(args); }
void LogSumExpKernel(const LogSumExpArgs<double>& args) { OfRows(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
