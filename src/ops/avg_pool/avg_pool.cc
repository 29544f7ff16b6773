// SPDX-License-Identifier: MIT
#include "repdl/ops/avg_pool.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/avg_pool/avg_pool_kernel.h"

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
    REPDL_CHECK(padding >= 0 && 2 * padding <= kernel, ArgName{name.op, "padding"}, " ", Name(settings.padding),
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

/// Along a dimension: which elements each window has, or which windows an element is in; and the counts of the windows.
struct Axis {
  std::vector<std::vector<int64_t>> sums{{0}};
  std::vector<int64_t> counts{1};
  int64_t size = 1;  // numbers that are added

  Axis() = default;
  Axis(const Settings& settings, int i, int64_t length, bool gradient) {
    const int64_t windows = settings.Count(length, i), padding = settings.padding[i];
    sums.assign(gradient ? length : windows, {});
    counts.clear();
    size = gradient ? windows : length;
    for (int64_t k = 0; k < windows; ++k) {
      const int64_t begin = k * settings.stride[i] - padding;
      const int64_t end = std::min(begin + settings.kernel_size[i], length + padding);
      const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, length);
      counts.push_back(settings.count_include_pad ? end - begin : last - first);
      for (int64_t at = first; at < last; ++at) gradient ? sums[at].push_back(k) : sums[k].push_back(at);
    }
  }
};

/// The sums of two dimensions as one.
template <class T>
void Append(const Axis& outer, const Axis& inner, WeightedSumList<T>& list, std::vector<T>& counts) {
  for (const auto& some : outer.sums) {
    for (const auto& others : inner.sums) {
      for (const int64_t i : some) {
        for (const int64_t j : others) list.Append(i * inner.size + j, 1.0);
      }
      list.EndSum();
    }
  }
  for (const int64_t a : outer.counts) {
    for (const int64_t b : inner.counts) counts.push_back(static_cast<T>(a * b));
  }
}

/// `sizes`: of the pooled dimensions of the input of avg_pool.
template <class T>
void Run(const Place& place, const Settings& settings, const IntList& sizes, const TensorView& from, int first,
         bool gradient, const TensorView& to) {
  CheckCpu(place);  // the lists of sums lie in its memory
  const int rank = settings.rank();
  const auto axis = [&](int i) { return i < 0 ? Axis() : Axis(settings, i, sizes[i], gradient); };
  const Axis deep = axis(rank - 3), high = axis(rank - 2), wide = axis(rank - 1);
  WeightedSumList<T> rows(deep.size * high.size), columns(wide.size);
  std::vector<T> row_counts, column_counts;
  Append(deep, high, rows, row_counts);
  Append(Axis(), wide, columns, column_counts);
  OpScratch scratch(place);
  AvgPoolArgs<T> args{};
  args.planes = args.inner = 1;
  for (int i = 0; i < first; ++i) args.planes *= from.shape[i];
  for (int i = first + rank; i < from.rank(); ++i) args.inner *= from.shape[i];
  args.rows = rows.View(T{0}), args.columns = columns.View(T{0});
  args.divisor = static_cast<T>(settings.divisor);
  args.row_counts = row_counts.data(), args.column_counts = column_counts.data();
  args.gradient = gradient;
  args.input = Contiguous(from, scratch).Data<const T>();
  args.output = to.Data<T>();
  if (gradient) args.quotients = scratch.Get<T>(from.numel());
  AvgPoolKernel(place, args);
}

IntList SizesFrom(const TensorView& tensor, int first, int rank) {
  return IntList(std::span(tensor.shape.begin() + first, tensor.shape.begin() + first + rank));
}

constexpr ArgName kInput{"avg_pool", "input"};
constexpr ArgName kGradOutput{"avg_pool_grad", "grad_output"}, kInputSize{"avg_pool_grad", "input_size"};

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
  DispatchReal(input.dtype, [&]<class T>() {
    Run<T>(place, settings, SizesFrom(input, first, settings.rank()), input, first, false, output);
  });
}

Specs InferAvgPoolGrad(const TensorView& grad_output, const IntList& input_size, const IntList& kernel_size,
                       const IntList& stride, const IntList& padding, bool ceil_mode, bool count_include_pad,
                       int64_t divisor_override, int64_t dim) {
  const Settings settings{kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override};
  const int first = Check(kGradOutput, grad_output, settings, dim), rank = settings.rank();
  REPDL_CHECK(input_size.size() == rank, kInputSize, " ", Name(input_size), " must have ", rank, " sizes");
  CheckShape(kGradOutput, grad_output, Pooled(kInputSize, grad_output.shape, input_size, first, settings));
  IntList shape = grad_output.shape;
  for (int i = 0; i < rank; ++i) shape[first + i] = input_size[i];
  return {{grad_output.dtype, shape}};
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
  DispatchReal(grad_output.dtype,
               [&]<class T>() { Run<T>(place, settings, input_size, grad_output, first, true, grad_input); });
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
              kFloat32Or64))
