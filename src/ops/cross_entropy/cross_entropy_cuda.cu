// SPDX-License-Identifier: MIT
#include "drivers/contiguous.h"
#include "drivers/row_functions_cuda.h"
#include "drivers/sum_cuda.h"
#include "ops/cross_entropy/cross_entropy_kernel.h"

namespace repdl::scalar {

#include "ops/cross_entropy/cross_entropy.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The class of a sample, or -1 if it is ignored.
REPDL_ROW int64_t ClassOf(const int64_t* classes, int64_t sample, int64_t ignore_index, int64_t num_classes) {
  const int64_t t = classes[sample];
  return t == ignore_index ? -1 : CheckedIndex(t, num_classes);
}

/// Of a sample of this class.
template <class Args>
REPDL_ROW auto WeightOf(const Args& args, int64_t t) {
  using T = std::remove_cvref_t<decltype(*args.weight)>;
  return t < 0 ? T{0} : args.weight == nullptr ? T{1} : args.weight[t];
}

template <class T>
struct Samples {
  CrossEntropyArgs<T> args;
  scalar::StridedRows<const T> input, probabilities;
  scalar::StridedRows<T> grad_input;
  T a, b;  // of label smoothing
  T num_classes;
  const T* weight_sum;  // null without weights

  REPDL_ROW int64_t Class(int64_t sample) const {
    return ClassOf(args.classes, sample, args.ignore_index, args.num_classes);
  }
};

template <class T>
static Samples<T> SamplesOf(const CrossEntropyArgs<T>& args) {
  return {args,
          {args.input, scalar::DeviceLoops(args.samples), args.class_stride},
          {args.probabilities, scalar::DeviceLoops(args.probability_samples), args.probability_stride},
          {args.grad_input, scalar::DeviceLoops(args.grad_samples), args.grad_stride},
          static_cast<T>(1.0 - args.label_smoothing),
          static_cast<T>(args.label_smoothing / static_cast<double>(args.num_classes)),
          static_cast<T>(args.num_classes),
          nullptr};
}

template <class Row, class T>
using TextOf = scalar::CrossEntropyRow<Row, scalar::RowNumbers<const T>, scalar::RowNumbers<const T>,
                                       scalar::RowNumbers<const T>, int64_t>;

/// The text for a sample whose class is `target`.
template <class Row, class T>
REPDL_ROW TextOf<Row, T> TextFor(const Row& row, int64_t sample, int64_t target, const Samples<T>& samples) {
  const CrossEntropyArgs<T>& args = samples.args;
  const bool has_probabilities = args.classes == nullptr;
  return {row,
          samples.input(sample),
          {args.weight},
          has_probabilities ? samples.probabilities(sample) : scalar::RowNumbers<const T>{nullptr},
          args.weight != nullptr,
          has_probabilities,
          args.label_smoothing != 0.0,
          samples.a,
          samples.b,
          target};
}

struct LossOfSample {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t sample, const Samples<T>& samples) const {
    const int64_t target = samples.args.classes == nullptr ? 0 : samples.Class(sample);
    const T loss = target < 0 ? T{0} : TextFor(row, sample, target, samples).Loss();
    if (row.IsFirst()) samples.args.losses[sample] = loss;
  }
};

struct GradOfSample {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t sample, const Samples<T>& samples) const {
    const CrossEntropyArgs<T>& args = samples.args;
    const int64_t target = args.classes == nullptr ? 0 : samples.Class(sample);
    const scalar::RowNumbers<T> grad = samples.grad_input(sample);
    if (target < 0) return row.Each([&](scalar::RowPlace at) { grad.Put(at, T{0}); });
    const T weight_sum = samples.weight_sum == nullptr ? samples.num_classes : *samples.weight_sum;
    const T factor = args.factor == nullptr ? T{1} : *args.factor;
    TextFor(row, sample, target, samples)
        .Gradient(weight_sum, factor, args.grad_output[sample * args.grad_output_stride], grad);
  }
};

template <class Body, class T>
static void ForSamples(const Place& place, const CrossEntropyArgs<T>& args, const Samples<T>& samples) {
  ForRows<T, Body>(place, RowsArgs<Samples<T>>{args.num_samples, args.num_classes, args.order, samples},
                   AreSideBySide(args.samples, args.class_stride));
}

template <class T>
static void CrossEntropyGrad(const Place& place, const CrossEntropyArgs<T>& args) {
  Samples<T> samples = SamplesOf(args);
  OpScratch scratch(place);
  if (args.weight != nullptr) {
    T* const sum = scratch.Get<T>(1);
    Sums(place, 1, args.num_classes, args.order, OneSum<scalar::RowNumbers<const T>>{{args.weight}}, {}, sum);
    samples.weight_sum = sum;
  }
  ForSamples<GradOfSample>(place, args, samples);
}

/// Weights of samples, as terms.
template <class T>
struct SampleWeights {
  const LossTotalArgs<T>& args;

  REPDL_ROW T operator()(scalar::RowPlace at) const {
    return WeightOf(args, ClassOf(args.classes, at.index, args.ignore_index, args.num_classes));
  }
};

/// One block, whose shared memory serves numbers of both types.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) TotalKernel(const __grid_constant__ LossTotalArgs<T> args) {
  const BlockRow<T> row{{args.num_samples, args.order}, SharedMemory<RowShared<T>>()};
  T total = args.losses == nullptr ? T{1} : row.Sum(scalar::RowNumbers<const T>{args.losses});
  if (args.weight_sum != nullptr || (args.is_mean && args.is_weighted)) {
    const T sum = row.Sum(SampleWeights<T>{args});
    if (args.weight_sum != nullptr && row.IsFirst()) *args.weight_sum = sum;
    if (args.is_mean) total = scalar::Div(total, sum);
  } else if (args.is_mean) {
    // Whole numbers, whose sum is exact in any order.
    const BlockRow<double> counting{{args.num_samples, args.order}, SharedMemory<RowShared<double>>()};
    const auto counts = [&](scalar::RowPlace at) {
      return args.classes != nullptr && args.classes[at.index] == args.ignore_index ? 0.0 : 1.0;
    };
    const double count = counting.Reduce(counts, 0.0, [](double x, double y) { return scalar::Add(x, y); });
    total = scalar::Mul(total, static_cast<T>(scalar::Div(1.0, count)));
  }
  if (row.IsFirst()) *args.total = total;
}

template <class T>
static void Total(const Place& place, const LossTotalArgs<T>& args) {
  Launch(place, Grid{1, kThreadsPerBlock, sizeof(RowShared<double>)}, &TotalKernel<T>, args);
}

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) NllKernel(const __grid_constant__ Samples<T> samples) {
  const CrossEntropyArgs<T>& args = samples.args;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.num_samples; i += num_threads) {
    const int64_t t = samples.Class(i);
    const T w = WeightOf(args, t);
    const T x = w == 0 ? T{0} : samples.input(i)(scalar::RowPlace{t});
    args.losses[i] = scalar::Mul(scalar::Neg(x), w);
  }
}

/// The gradient by the score of the class; the others are +0 already.
template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) NllGradKernel(const __grid_constant__ Samples<T> samples) {
  const CrossEntropyArgs<T>& args = samples.args;
  const T factor = args.factor == nullptr ? T{1} : *args.factor;
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.num_samples; i += num_threads) {
    const int64_t t = samples.Class(i);
    const T w = WeightOf(args, t);
    if (w == 0) continue;
    const T g = scalar::Div(args.grad_output[i * args.grad_output_stride], factor);
    samples.grad_input(i).Put(scalar::RowPlace{t}, scalar::Mul(scalar::Neg(w), g));
  }
}

template <class T>
static void NllLossGrad(const Place& place, const CrossEntropyArgs<T>& args) {
  FillWith(place, args.grad_input, args.num_samples * args.num_classes, T{0});
  Launch(place, args.num_samples, &NllGradKernel<T>, SamplesOf(args));
}

REPDL_CUDA_KERNEL(LossTotalKernel, LossTotalArgs<float>) { Total(place, args); }
REPDL_CUDA_KERNEL(LossTotalKernel, LossTotalArgs<double>) { Total(place, args); }
REPDL_CUDA_KERNEL(CrossEntropyKernel, CrossEntropyArgs<float>) {
  ForSamples<LossOfSample>(place, args, SamplesOf(args));
}
REPDL_CUDA_KERNEL(CrossEntropyKernel, CrossEntropyArgs<double>) {
  ForSamples<LossOfSample>(place, args, SamplesOf(args));
}
REPDL_CUDA_KERNEL(CrossEntropyGradKernel, CrossEntropyArgs<float>) { CrossEntropyGrad(place, args); }
REPDL_CUDA_KERNEL(CrossEntropyGradKernel, CrossEntropyArgs<double>) { CrossEntropyGrad(place, args); }
REPDL_CUDA_KERNEL(NllLossKernel, CrossEntropyArgs<float>) {
  Launch(place, args.num_samples, &NllKernel<float>, SamplesOf(args));
}
REPDL_CUDA_KERNEL(NllLossKernel, CrossEntropyArgs<double>) {
  Launch(place, args.num_samples, &NllKernel<double>, SamplesOf(args));
}
REPDL_CUDA_KERNEL(NllLossGradKernel, CrossEntropyArgs<float>) { NllLossGrad(place, args); }
REPDL_CUDA_KERNEL(NllLossGradKernel, CrossEntropyArgs<double>) { NllLossGrad(place, args); }

}  // namespace repdl::cuda
