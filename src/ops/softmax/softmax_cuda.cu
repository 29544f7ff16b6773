// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "drivers/row_functions_cuda.h"
#include "ops/softmax/softmax_kernel.h"

namespace repdl::scalar {

#include "ops/softmax/softmax.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

template <class T>
scalar::StridedRows<T> OnDevice(const Rows<std::remove_const_t<T>>& rows) {
  return {rows.data, scalar::DeviceLoops(rows.starts), rows.stride};
}

template <class T>
struct SoftmaxRows {
  scalar::StridedRows<const T> input, output;
  scalar::StridedRows<T> result;
};

struct SoftmaxOfRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const SoftmaxRows<T>& rows) const {
    scalar::SoftmaxRow(row, rows.input(r), rows.result(r));
  }
};

struct LogSoftmaxOfRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const SoftmaxRows<T>& rows) const {
    scalar::LogSoftmaxRow(row, rows.input(r), rows.result(r));
  }
};

struct SoftmaxGradOfRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const SoftmaxRows<T>& rows) const {
    scalar::SoftmaxGradRow(row, rows.input(r), rows.output(r), rows.result(r));
  }
};

struct LogSoftmaxGradOfRow {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const SoftmaxRows<T>& rows) const {
    scalar::LogSoftmaxGradRow(row, rows.input(r), rows.output(r), rows.result(r));
  }
};

template <class Body, class T>
static void Run(const Place& place, const SoftmaxArgs<T>& args) {
  const SoftmaxRows<T> rows{OnDevice<const T>(args.input), OnDevice<const T>(args.output), OnDevice<T>(args.result)};
  ForRows<T, Body>(place, RowsArgs<SoftmaxRows<T>>{args.num_rows, args.n, args.order, rows},
                   AreSideBySide(args.input.starts, args.input.stride));
}

REPDL_CUDA_KERNEL(SoftmaxKernel, SoftmaxArgs<float>) { Run<SoftmaxOfRow>(place, args); }
REPDL_CUDA_KERNEL(SoftmaxKernel, SoftmaxArgs<double>) { Run<SoftmaxOfRow>(place, args); }
REPDL_CUDA_KERNEL(LogSoftmaxKernel, SoftmaxArgs<float>) { Run<LogSoftmaxOfRow>(place, args); }
REPDL_CUDA_KERNEL(LogSoftmaxKernel, SoftmaxArgs<double>) { Run<LogSoftmaxOfRow>(place, args); }
REPDL_CUDA_KERNEL(SoftmaxGradKernel, SoftmaxArgs<float>) { Run<SoftmaxGradOfRow>(place, args); }
REPDL_CUDA_KERNEL(SoftmaxGradKernel, SoftmaxArgs<double>) { Run<SoftmaxGradOfRow>(place, args); }
REPDL_CUDA_KERNEL(LogSoftmaxGradKernel, SoftmaxArgs<float>) { Run<LogSoftmaxGradOfRow>(place, args); }
REPDL_CUDA_KERNEL(LogSoftmaxGradKernel, SoftmaxArgs<double>) { Run<LogSoftmaxGradOfRow>(place, args); }

}  // namespace repdl::cuda
