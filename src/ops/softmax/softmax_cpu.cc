// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/column_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/softmax/softmax_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/softmax/softmax.row.h"

namespace {

/// Rows that lie across memory, a vector of them at a time; some vectors are fetched together.
template <class T, class Body>
void ForGroups(const SoftmaxArgs<T>& args, const Body& body) {
  const Columns<T> columns{args.n, args.order};
  const int64_t group = args.n * kLanesOf<T>, together = GroupsTogether<T>(args.num_rows, args.n);
  const auto run = [&](int64_t first, int64_t count) HWY_ATTR {
    Scratch scratch;
    const auto buffer = [&]() { return scratch.Get<T>(group * together); };
    const auto take = [&](const Rows<T>& rows) HWY_ATTR {
      return TakeColumns(rows.data, rows.starts, rows.stride, args.n, first, count, buffer()).data;
    };
    T* const x = take(args.input);
    T* const y = args.output.data != nullptr ? take(args.output) : x;
    T* const result = buffer();
    for (int64_t at = 0; at * kLanesOf<T> < count; ++at) {
      const auto numbers = [&](T* data) { return ColumnNumbers<T>{data + at * group}; };
      body(columns, numbers(x), numbers(y), numbers(result));
    }
    PutColumns(result, args.n, args.result.data, args.result.starts, args.result.stride, first, count);
  };
  ForColumns<T>(args.input.starts, args.num_rows, args.n, run, together);
}

/// Calls body(row, x, y, result) for each row, or group of rows; y is the output of the forward op, for a gradient.
template <class T, class Body>
void ForRows(const SoftmaxArgs<T>& args, const Body& body) {
  // The gradient that is given may be one number for all.
  const int64_t stride = args.output.data != nullptr ? args.output.stride : args.input.stride;
  if (AreColumns<T>(args.num_rows, args.n, stride)) return ForGroups(args, body);
  const Row<T> row{args.n, args.order};
  ParallelRanges(args.num_rows, 4096 / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const x_buffer = scratch.Get<T>(args.n);
    T* const y_buffer = scratch.Get<T>(args.n);
    T* const result_buffer = scratch.Get<T>(args.n);
    for (int64_t r = begin; r < end; ++r) {
      const T* x = SideBySide(args.input.data + args.input.starts.Offset(r), args.input.stride, args.n, x_buffer);
      const T* y = nullptr;
      if (args.output.data != nullptr) {
        y = SideBySide(args.output.data + args.output.starts.Offset(r), args.output.stride, args.n, y_buffer);
      }
      T* const to = args.result.data + args.result.starts.Offset(r);
      T* const result = args.result.stride == 1 ? to : result_buffer;
      body(row, RowNumbers<const T>{x}, RowNumbers<const T>{y}, RowNumbers<T>{result});
      PutRow(result, args.n, to, args.result.stride);
    }
  });
}

template <class T>
void Softmax(const SoftmaxArgs<T>& args) {
  ForRows(args, [](auto row, auto x, auto, auto y) HWY_ATTR { SoftmaxRow(row, x, y); });
}

template <class T>
void LogSoftmax(const SoftmaxArgs<T>& args) {
  ForRows(args, [](auto row, auto x, auto, auto y) HWY_ATTR { LogSoftmaxRow(row, x, y); });
}

template <class T>
void SoftmaxGrad(const SoftmaxArgs<T>& args) {
  ForRows(args, [](auto row, auto g, auto y, auto grad) HWY_ATTR { SoftmaxGradRow(row, g, y, grad); });
}

template <class T>
void LogSoftmaxGrad(const SoftmaxArgs<T>& args) {
  ForRows(args, [](auto row, auto g, auto y, auto grad) HWY_ATTR { LogSoftmaxGradRow(row, g, y, grad); });
}

}  // namespace

void SoftmaxKernel(const SoftmaxArgs<float>& args) { Softmax(args); }
void SoftmaxKernel(const SoftmaxArgs<double>& args) { Softmax(args); }
void LogSoftmaxKernel(const SoftmaxArgs<float>& args) { LogSoftmax(args); }
void LogSoftmaxKernel(const SoftmaxArgs<double>& args) { LogSoftmax(args); }
void SoftmaxGradKernel(const SoftmaxArgs<float>& args) { SoftmaxGrad(args); }
void SoftmaxGradKernel(const SoftmaxArgs<double>& args) { SoftmaxGrad(args); }
void LogSoftmaxGradKernel(const SoftmaxArgs<float>& args) { LogSoftmaxGrad(args); }
void LogSoftmaxGradKernel(const SoftmaxArgs<double>& args) { LogSoftmaxGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
