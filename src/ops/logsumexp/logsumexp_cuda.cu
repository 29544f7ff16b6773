// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/row_functions_cuda.h"
#include "ops/logsumexp/logsumexp_kernel.h"

namespace repdl::scalar {

#include "ops/logsumexp/logsumexp.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
struct LogSumExpRows {
  const T* input;
  scalar::DeviceLoops kept, reduced;
  T* output;
};

struct LogSumExpOfRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const LogSumExpRows<T>& rows) const {
    const scalar::ScatteredNumbers<T> x{rows.input + rows.kept.Offset(r), &rows.reduced};
    const T result = scalar::LogSumExpOfRow(row, x);
    if (row.IsFirst()) rows.output[r] = result;
  }
};

template <class T>
static void Run(const Place& place, const LogSumExpArgs<T>& args) {
  const LogSumExpRows<T> rows{args.input, scalar::DeviceLoops(args.kept), scalar::DeviceLoops(args.reduced),
                              args.output};
  ForRows<T, LogSumExpOfRow>(place, RowsArgs<LogSumExpRows<T>>{args.num_rows, args.n, args.order, rows},
                             AreSideBySide(args.kept, args.reduced.InnerStride()));
}

REPDL_CUDA_KERNEL(LogSumExpKernel, LogSumExpArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(LogSumExpKernel, LogSumExpArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
