// SPDX-License-Identifier: MIT
#include "repdl/ops/avg_pool.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/avg_pool/avg_pool_kernel.h"
#include "ops/avg_pool/windows.h"

namespace repdl {
namespace {

constexpr int kMaxPooled = 3;

struct Settings {
  const IntList& kernel_size;
  const IntList& stride;
  const IntList& padding;
  bool ceil_mode, count_include_pad;
  int64_t divisor;

  int rank() const { return kernel_size.size(); }

  /// Windows along a dimension of a size, as torch counts them; none if the kernel is larger.
  int64_t Count(int64_t size, int i) const {
    const int64_t span = size + 2 * padding[i] - kernel_size[i] + (ceil_mode ? stride[i] - 1 : 0);
    if (span < 0) return 0;
    const int64_t count = span / stride[i] + 1;
    return ceil_mode && (count - 1) * stride[i] >= size + padding[i] ? count - 1 : count;
  }

  std::vector<Window> Windows(int64_t size, int i) const {
    std::vector<Window> windows;
    for (int64_t k = 0; k < Count(size, i); ++k) {
      const int64_t begin = k * stride[i] - padding[i], end = std::min(begin + kernel_size[i], size + padding[i]);
      const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, size);
      windows.push_back({first, last, count_include_pad ? end - begin : last - first});
    }
    return windows;
  }
};

/// Checks all but the tensor; returns the first of its dimensions.
int Check(const ArgName& name, const TensorView& tensor, const Settings& settings, int64_t dim) {
  CheckFloat(name, tensor, tensor);
  const ArgName kernel_name{name.op, "kernel_size"};
  const int rank = settings.rank();
  REPDL_CHECK(rank >= 1 && rank <= kMaxPooled, kernel_name, " ", Name(settings.kernel_size),
              " must have a number for each of one to three dimensions");
  REPDL_CHECK(settings.stride.size() == rank && settings.padding.size() == rank, kernel_name, " ",
              Name(settings.kernel_size), ", stride ", Name(settings.stride), " and padding ", Name(settings.padding),
              " must have as many numbers");
  for (int i = 0; i < rank; ++i) {
    const int64_t kernel = settings.kernel_size[i], stride = settings.stride[i], padding = settings.padding[i];
    REPDL_CHECK(kernel >= 1 && kernel <= INT32_MAX, kernel_name, " ", Name(settings.kernel_size),
                " must be in [1, 2^31)");
    REPDL_CHECK(stride >= 1 && stride <= INT32_MAX, ArgName{name.op, "stride"}, " ", Name(settings.stride),
                " must be in [1, 2^31)");
    REPDL_CHECK(padding >= 0 && padding <= kernel / 2, ArgName{name.op, "padding"}, " ", Name(settings.padding),
                " must be at least 0 and at most half of the kernel size ", Name(settings.kernel_size));
  }
  const int first = CheckDim({name.op, "dim"}, dim, tensor.rank());
  REPDL_CHECK(first + rank <= tensor.rank(), name, " of shape ", Name(tensor.shape), " has fewer than ", rank,
              " dimensions from dimension ", first, " on");
  return first;
}

/// The shape with the windows of `sizes` in the pooled dimensions.
IntList Pooled(const ArgName& name, const IntList& shape, const IntList& sizes, int first, const Settings& settings) {
  IntList pooled = shape;
  for (int i = 0; i < settings.rank(); ++i) {
    REPDL_CHECK(sizes[i] >= 1 && sizes[i] <= INT32_MAX, name, " has a size of ", sizes[i],
                " in a pooled dimension, which must be in [1, 2^31)");
    pooled[first + i] = settings.Count(sizes[i], i);
    REPDL_CHECK(pooled[first + i] > 0, name, " of size ", Name(sizes), " is smaller than the window ",
                Name(settings.kernel_size));
  }
  return pooled;
}

/// Windows of each pooled dimension.
using AllWindows = std::array<std::vector<Window>, kMaxPooled>;

/// `sizes`: of the pooled dimensions of what the windows are of.
template <class T>
void Pool(const Place& place, const AllWindows& windows, const IntList& sizes, int64_t divisor, const TensorView& from,
          int first, bool gradient, const TensorView& to) {
  const int rank = sizes.size();
  const auto axis = [&](int i) { return i < 0 ? PoolAxis() : PoolAxis(windows[i], sizes[i], gradient); };
  const PoolAxis deep = axis(rank - 3), high = axis(rank - 2), wide = axis(rank - 1);
  WeightedSumList<T> rows(deep.size * high.size), columns(wide.size);
  std::vector<T> row_counts, column_counts;
  AppendAxes(deep, high, rows, row_counts);
  AppendAxes(PoolAxis(), wide, columns, column_counts);
  OpScratch scratch(place);
  AvgPoolArgs<T> args{};
  args.planes = args.inner = 1;
  for (int i = 0; i < first; ++i) args.planes *= from.shape[i];
  for (int i = first + rank; i < from.rank(); ++i) args.inner *= from.shape[i];
  args.rows = OnPlace(rows.View(T{0}), scratch), args.columns = OnPlace(columns.View(T{0}), scratch);
  args.divisor = static_cast<T>(divisor);
  args.row_counts = OnPlace(row_counts.data(), static_cast<int64_t>(row_counts.size()), scratch);
  args.column_counts = OnPlace(column_counts.data(), static_cast<int64_t>(column_counts.size()), scratch);
  args.gradient = gradient;
  args.input = Contiguous(from, scratch).Data<const T>();
  args.output = to.Data<T>();
  if (gradient) args.quotients = scratch.Get<T>(from.numel());
  AvgPoolKernel(place, args);
}

/// `sizes`: of the pooled dimensions of the input of avg_pool.
void Run(const Place& place, const Settings& settings, const IntList& sizes, const TensorView& from, int first,
         bool gradient, const TensorView& to) {
  AllWindows windows;
  for (int i = 0; i < settings.rank(); ++i) windows[i] = settings.Windows(sizes[i], i);
  DispatchReal(from.dtype,
               [&]<class T>() { Pool<T>(place, windows, sizes, settings.divisor, from, first, gradient, to); });
}

void RunAdaptive(const Place& place, const IntList& sizes, const IntList& parts, const TensorView& from, int first,
                 bool gradient, const TensorView& to) {
  AllWindows windows;
  for (int i = 0; i < sizes.size(); ++i) windows[i] = Parts(sizes[i], parts[i]);
  DispatchReal(from.dtype, [&]<class T>() { Pool<T>(place, windows, sizes, 0, from, first, gradient, to); });
}

IntList SizesFrom(const TensorView& tensor, int first, int rank) {
  return IntList(std::span(tensor.shape.begin() + first, tensor.shape.begin() + first + rank));
}

constexpr ArgName kInput{"avg_pool", "input"};
constexpr ArgName kGradOutput{"avg_pool_grad", "grad_output"}, kInputSize{"avg_pool_grad", "input_size"};
constexpr ArgName kAdaptiveInput{"adaptive_avg_pool", "input"}, kOutputSize{"adaptive_avg_pool", "output_size"};
constexpr ArgName kAdaptiveGrad{"adaptive_avg_pool_grad", "grad_output"};
constexpr ArgName kAdaptiveSize{"adaptive_avg_pool_grad", "input_size"};

/// Of either op: checks the tensor and the sizes that its dimensions from `dim` on get; returns the first of these.
int CheckAdaptive(const ArgName& name, const TensorView& tensor, const ArgName& sizes_name, const IntList& sizes,
                  int64_t dim, int64_t least) {
  CheckFloat(name, tensor, tensor);
  const int rank = sizes.size();
  REPDL_CHECK(rank >= 1 && rank <= kMaxPooled, sizes_name, " ", Name(sizes),
              " must have a size for each of one to three dimensions");
  const int first = CheckDim({name.op, "dim"}, dim, tensor.rank());
  REPDL_CHECK(first + rank <= tensor.rank(), name, " of shape ", Name(tensor.shape), " has fewer than ", rank,
              " dimensions from dimension ", first, " on");
  for (int i = 0; i < rank; ++i) {
    REPDL_CHECK(sizes[i] >= least && sizes[i] <= INT32_MAX, sizes_name, " ", Name(sizes), " must be in [", least,
                ", 2^31)");
    const int64_t own = tensor.shape[first + i];
    REPDL_CHECK(own >= 1 - least && own <= INT32_MAX, name, " of shape ", Name(tensor.shape), " has a size of ", own,
                " in a pooled dimension, which must be in [", 1 - least, ", 2^31)");
  }
  return first;
}

IntList WithSizes(const TensorView& tensor, int first, const IntList& sizes) {
  IntList shape = tensor.shape;
  for (int i = 0; i < sizes.size(); ++i) shape[first + i] = sizes[i];
  return shape;
}

}  // namespace

Specs InferAvgPool(const TensorView& input, const IntList& kernel_size, const IntList& stride, const IntList& padding,
                   bool ceil_mode, bool count_include_pad, int64_t divisor_override, int64_t dim) {
  const Settings settings{kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override};
  const int first = Check(kInput, input, settings, dim);
  return {{input.dtype, Pooled(kInput, input.shape, SizesFrom(input, first, settings.rank()), first, settings)}};
}

void AvgPool(const TensorView& input, const IntList& kernel_size, const IntList& stride, const IntList& padding,
             bool ceil_mode, bool count_include_pad, int64_t divisor_override, int64_t dim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("avg_pool",
               InferAvgPool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, dim),
               {&output}, input);
  const Place place = PlaceOf("avg_pool", input);
  if (output.numel() == 0) return;
  const Settings settings{kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override};
  const int first = CheckDim({"avg_pool", "dim"}, dim, input.rank());
  Run(place, settings, SizesFrom(input, first, settings.rank()), input, first, false, output);
}

Specs InferAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, const IntList& kernel_size,
                       const IntList& stride, const IntList& padding, bool ceil_mode, bool count_include_pad,
                       int64_t divisor_override, int64_t dim) {
  const Settings settings{kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override};
  const int first = Check(kGradOutput, grad_output, settings, dim), rank = settings.rank();
  REPDL_CHECK(input_size.size() == rank, kInputSize, " ", Name(input_size), " must have ", rank, " sizes");
  CheckShape(kGradOutput, grad_output, Pooled(kInputSize, grad_output.shape, input_size, first, settings));
  return {{grad_output.dtype, WithSizes(grad_output, first, input_size)}};
}

void AvgPoolGrad(const TensorView& grad_output, const IntList& input_size, const IntList& kernel_size,
                 const IntList& stride, const IntList& padding, bool ceil_mode, bool count_include_pad,
                 int64_t divisor_override, int64_t dim, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("avg_pool_grad",
               InferAvgPoolGrad(grad_output, input_size, kernel_size, stride, padding, ceil_mode, count_include_pad,
                                divisor_override, dim),
               {&grad_input}, grad_output);
  const Place place = PlaceOf("avg_pool_grad", grad_output);
  if (grad_input.numel() == 0) return;
  const Settings settings{kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override};
  const int first = CheckDim({"avg_pool_grad", "dim"}, dim, grad_output.rank());
  Run(place, settings, input_size, grad_output, first, true, grad_input);
}

Specs InferAdaptiveAvgPool(const TensorView& input, const IntList& output_size, int64_t dim) {
  const int first = CheckAdaptive(kAdaptiveInput, input, kOutputSize, output_size, dim, 0);
  return {{input.dtype, WithSizes(input, first, output_size)}};
}

void AdaptiveAvgPool(const TensorView& input, const IntList& output_size, int64_t dim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("adaptive_avg_pool", InferAdaptiveAvgPool(input, output_size, dim), {&output}, input);
  const Place place = PlaceOf("adaptive_avg_pool", input);
  if (output.numel() == 0) return;
  const int first = CheckDim({"adaptive_avg_pool", "dim"}, dim, input.rank());
  RunAdaptive(place, SizesFrom(input, first, output_size.size()), output_size, input, first, false, output);
}

Specs InferAdaptiveAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, int64_t dim) {
  const int first = CheckAdaptive(kAdaptiveGrad, grad_output, kAdaptiveSize, input_size, dim, 1);
  return {{grad_output.dtype, WithSizes(grad_output, first, input_size)}};
}

void AdaptiveAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, int64_t dim, Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("adaptive_avg_pool_grad", InferAdaptiveAvgPoolGrad(grad_output, input_size, dim), {&grad_input},
               grad_output);
  const Place place = PlaceOf("adaptive_avg_pool_grad", grad_output);
  if (grad_input.numel() == 0) return;
  const int first = CheckDim({"adaptive_avg_pool_grad", "dim"}, dim, grad_output.rank());
  RunAdaptive(place, input_size, SizesFrom(grad_output, first, input_size.size()), grad_output, first, true,
              grad_input);
}

}  // namespace repdl

REPDL_OPS(avg_pool,
          MakeOp<InferAvgPool, AvgPool, AvgPoolKernel>(
              "avg_pool",
              "input, kernel_size, stride, padding, ceil_mode=False, count_include_pad=True, "
              "divisor_override=0, dim=2",
              kFloat32Or64),
          MakeOp<InferAvgPoolGrad, AvgPoolGrad, AvgPoolKernel>(
              "avg_pool_grad",
              "grad_output, input_size, kernel_size, stride, padding, ceil_mode=False, "
              "count_include_pad=True, divisor_override=0, dim=2",
              kFloat32Or64),
          MakeOp<InferAdaptiveAvgPool, AdaptiveAvgPool, AvgPoolKernel>("adaptive_avg_pool", "input, output_size, dim=2",
                                                                       kFloat32Or64),
          MakeOp<InferAdaptiveAvgPoolGrad, AdaptiveAvgPoolGrad, AvgPoolKernel>("adaptive_avg_pool_grad",
                                                                               "grad_output, input_size, dim=2",
                                                                               kFloat32Or64))
