// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/row_cuda.h"
#include "ops/margin_loss/margin_loss_kernel.h"

namespace repdl::scalar {

#include "ops/margin_loss/margin_loss.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// How many labels a row has.
REPDL_ROW int64_t CountLabels(const int64_t* target, int64_t classes) {
  int64_t count = 0;
  while (count < classes && target[count] != -1) ++count;
  return count;
}

template <class T>
struct MarkArgs {
  int64_t rows, classes;
  const int64_t* target;
  T* is_target;
};

/// A class of a row by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) MarkLabelsKernel(const __grid_constant__ MarkArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.rows * args.classes; at += num_threads) {
    if (args.target[at] != -1) CheckedIndex(args.target[at], args.classes);
    int64_t row = at;
    const int64_t j = scalar::TakeRemainder(row, args.classes);
    const int64_t* const target = args.target + row * args.classes;
    bool is_label = false;
    for (int64_t k = 0; !is_label && k < args.classes && target[k] != -1; ++k) is_label = target[k] == j;
    args.is_target[at] = is_label ? T{1} : T{0};
  }
}

template <class T>
static void MarkLabels(const Place& place, const MarginLossArgs<T>& args) {
  const int64_t count = args.rows * args.classes;
  if (count > 0) Launch(place, count, &MarkLabelsKernel<T>, {args.rows, args.classes, args.target, args.is_target});
}

/// How far class j reaches into the margin of a label.
template <class T>
REPDL_ROW T ReachOf(const T* x, int64_t label, int64_t j) {
  return scalar::Above(scalar::Tag<T>(), scalar::Add(scalar::Sub(T{1}, x[label]), x[j]));
}

/// The row has a place for each label and class.
struct MultilabelLoss {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& all, int64_t r, const MarginLossArgs<T>& args) const {
    const int64_t classes = args.classes;
    const int64_t* const target = args.target + r * classes;
    const T *const x = args.input + r * classes, *const is_target = args.is_target + r * classes;
    Row row = all;
    row.n = CountLabels(target, classes) * classes;
    const T sum = row.Sum([&](scalar::RowPlace at) {
      int64_t k = at.index;
      const int64_t j = scalar::TakeRemainder(k, classes);
      return is_target[j] > T{0} ? T{0} : ReachOf(x, target[k], j);
    });
    if (row.IsFirst()) args.losses[r] = scalar::Div(sum, static_cast<T>(classes));
  }
};

template <class T>
static void RunLoss(const Place& place, const MarginLossArgs<T>& args) {
  MarkLabels(place, args);
  ForSharedRows<T, MultilabelLoss>(
      place, RowsArgs<MarginLossArgs<T>>{args.rows, args.classes * args.classes, args.order, args});
}

/// A class of a row by each thread.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock)
    MultilabelSlopesKernel(const __grid_constant__ MarginLossArgs<T> args) {
  const int64_t classes = args.classes, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.rows * classes; at += num_threads) {
    int64_t r = at;
    const int64_t j = scalar::TakeRemainder(r, classes);
    const int64_t* const target = args.target + r * classes;
    const T *const x = args.input + r * classes, *const is_target = args.is_target + r * classes;
    const int64_t count = CountLabels(target, classes);
    int64_t slope = 0;
    if (is_target[j] == T{0}) {
      for (int64_t k = 0; k < count; ++k) slope += ReachOf(x, target[k], j) > T{0} ? 1 : 0;
    } else {
      int64_t reached = 0, times = 0;
      for (int64_t other = 0; other < classes; ++other) {
        reached += is_target[other] == T{0} && ReachOf(x, j, other) > T{0} ? 1 : 0;
      }
      for (int64_t k = 0; k < count; ++k) times += target[k] == j ? 1 : 0;
      slope = -times * reached;
    }
    args.grad_input[at] = scalar::Mul(scalar::Div(static_cast<T>(slope), static_cast<T>(classes)),
                                      scalar::Mul(args.part, args.grad_output[r]));
  }
}

template <class T>
static void RunGradient(const Place& place, const MarginLossArgs<T>& args) {
  OpScratch scratch(place);
  MarginLossArgs<T> marked = args;
  marked.is_target = scratch.Get<T>(args.rows * args.classes);
  MarkLabels(place, marked);
  Launch(place, args.rows * args.classes, &MultilabelSlopesKernel<T>, marked);
}

REPDL_CUDA_KERNEL(MultilabelMarginKernel, MarginLossArgs<float>) { RunLoss(place, args); }
REPDL_CUDA_KERNEL(MultilabelMarginKernel, MarginLossArgs<double>) { RunLoss(place, args); }
REPDL_CUDA_KERNEL(MultilabelMarginGradKernel, MarginLossArgs<float>) { RunGradient(place, args); }
REPDL_CUDA_KERNEL(MultilabelMarginGradKernel, MarginLossArgs<double>) { RunGradient(place, args); }

}  // namespace repdl::cuda
