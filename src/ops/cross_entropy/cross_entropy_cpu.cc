// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/column_cpu-inl.h"
#include "drivers/long_sum_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/cross_entropy/cross_entropy_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/cross_entropy/cross_entropy.row.h"

namespace {

/// A text for the samples, which are rows or columns, without the operands of a sample.
template <class AnyRow, class X, class W, class Target, class T>
CrossEntropyRow<AnyRow, X, W, X, Target> RowOf(const CrossEntropyArgs<T>& args) {
  return {{args.num_classes, args.order},
          {nullptr},
          {args.weight},
          {nullptr},
          args.weight != nullptr,
          args.classes == nullptr,
          args.label_smoothing != 0.0,
          static_cast<T>(1.0 - args.label_smoothing),
          static_cast<T>(args.label_smoothing / static_cast<double>(args.num_classes)),
          Target{}};
}

template <class T>
bool IsIgnored(const CrossEntropyArgs<T>& args, int64_t sample) {
  return args.classes != nullptr && args.classes[sample] == args.ignore_index;
}

/// The Sum of the weights, or the number of classes.
template <class T>
T WeightSum(const CrossEntropyArgs<T>& args) {
  if (args.weight == nullptr) return static_cast<T>(args.num_classes);
  return SumRow(args.weight, args.num_classes, args.order);
}

template <class T>
T FactorOf(const CrossEntropyArgs<T>& args) {
  return args.factor == nullptr ? T{1} : *args.factor;
}

/// The constants and buffers of one range of samples.
template <class T>
class Samples {
 public:
  Samples(const CrossEntropyArgs<T>& args, Scratch& scratch)
      : args_(args),
        row_(RowOf<Row<T>, RowNumbers<const T>, RowNumbers<const T>, int64_t>(args)),
        weight_sum_(WeightSum(args)),
        x_(scratch.Get<T>(args.num_classes)),
        t_(scratch.Get<T>(args.num_classes)),
        grad_(scratch.Get<T>(args.num_classes)) {}

  T Loss(int64_t sample) {
    Take(sample);
    return row_.Loss();
  }

  void Gradient(int64_t sample) {
    T* const to = args_.grad_input + args_.grad_samples.Offset(sample);
    T* const grad = args_.grad_stride == 1 ? to : grad_;
    Take(sample);
    row_.Gradient(weight_sum_, FactorOf(args_), args_.grad_output[sample * args_.grad_output_stride],
                  RowNumbers<T>{grad});
    PutRow(grad, args_.num_classes, to, args_.grad_stride);
  }

  void ZeroGradient(int64_t sample) {
    T* const to = args_.grad_input + args_.grad_samples.Offset(sample);
    for (int64_t i = 0; i < args_.num_classes; ++i) to[i * args_.grad_stride] = 0;
  }

 private:
  void Take(int64_t sample) {
    const int64_t n = args_.num_classes;
    row_.x.data = SideBySide(args_.input + args_.samples.Offset(sample), args_.class_stride, n, x_);
    if (args_.classes != nullptr) {
      row_.target = args_.classes[sample];
    } else {
      const T* const t = args_.probabilities + args_.probability_samples.Offset(sample);
      row_.probability.data = SideBySide(t, args_.probability_stride, n, t_);
    }
  }

  const CrossEntropyArgs<T>& args_;
  CrossEntropyRow<Row<T>, RowNumbers<const T>, RowNumbers<const T>, RowNumbers<const T>, int64_t> row_;
  T weight_sum_;
  T *x_, *t_, *grad_;
};

template <class T, class Body>
void ForSamples(const CrossEntropyArgs<T>& args, const Body& body) {
  ParallelRanges(args.num_samples, 4096 / std::max<int64_t>(args.num_classes, 1) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   Scratch scratch;
                   Samples<T> samples(args, scratch);
                   for (int64_t i = begin; i < end; ++i) body(samples, i);
                 });
}

/// A group of samples whose classes lie across memory. An ignored one counts as one of class 0 until its end.
template <class T>
class SampleColumns {
 public:
  SampleColumns(const CrossEntropyArgs<T>& args, int64_t first, int64_t count)
      : args_(args),
        first_(first),
        count_(count),
        columns_(RowOf<Columns<T>, ColumnNumbers<T>, SharedNumbers<T>, const int64_t*>(args)) {
    columns_.x = Take(args.input, args.samples, args.class_stride);
    if (columns_.has_probabilities) {
      columns_.probability = Take(args.probabilities, args.probability_samples, args.probability_stride);
    }
    for (int64_t j = 0; j < count; ++j) {
      ignored_[j] = IsIgnored(args, first + j);
      if (!columns_.has_probabilities && !ignored_[j]) targets_[j] = args.classes[first + j];
    }
    columns_.target = targets_;
  }

  void Loss() {
    HWY_ALIGN T losses[kLanesOf<T>];
    Store(columns_.Loss(), TagOf<T>(), losses);
    for (int64_t j = 0; j < count_; ++j) args_.losses[first_ + j] = ignored_[j] ? T{0} : losses[j];
  }

  void Gradient(T weight_sum) {
    const int64_t n = args_.num_classes;
    HWY_ALIGN T outer[kLanesOf<T>] = {};
    for (int64_t j = 0; j < count_; ++j) outer[j] = args_.grad_output[(first_ + j) * args_.grad_output_stride];
    const ColumnNumbers<T> grad{scratch_.Get<T>(n * kLanesOf<T>)};
    columns_.Gradient(weight_sum, FactorOf(args_), Load(TagOf<T>(), outer), grad);
    for (int64_t j = 0; j < count_; ++j) {
      for (int64_t i = 0; ignored_[j] && i < n; ++i) grad.data[i * kLanesOf<T> + j] = 0;
    }
    PutColumns(grad.data, n, args_.grad_input, args_.grad_samples, args_.grad_stride, first_, count_);
  }

 private:
  ColumnNumbers<T> Take(const T* x, const Loops& samples, int64_t stride) {
    const int64_t n = args_.num_classes;
    return TakeColumns(x, samples, stride, n, first_, count_, scratch_.Get<T>(n * kLanesOf<T>));
  }

  const CrossEntropyArgs<T>& args_;
  int64_t first_, count_;
  Scratch scratch_;
  CrossEntropyRow<Columns<T>, ColumnNumbers<T>, SharedNumbers<T>, ColumnNumbers<T>, const int64_t*> columns_;
  int64_t targets_[kLanesOf<T>] = {};
  bool ignored_[kLanesOf<T>] = {};
};

/// Calls body(first, count) for groups of samples, if they are worth groups.
template <class T, class Body>
bool ForSampleColumns(const CrossEntropyArgs<T>& args, const Body& body) {
  if (!AreColumns<T>(args.num_samples, args.num_classes, args.class_stride)) return false;
  ForColumns<T>(args.samples, args.num_samples, args.num_classes, body);
  return true;
}

/// Of the class of a sample.
template <class Args>
auto WeightOf(const Args& args, int64_t sample) {
  using T = std::remove_cvref_t<decltype(*args.weight)>;
  const int64_t t = args.classes[sample];
  return t == args.ignore_index ? T{0} : args.weight == nullptr ? T{1} : args.weight[t];
}

template <class T>
void CrossEntropy(const CrossEntropyArgs<T>& args) {
  const auto group = [&](int64_t first, int64_t count) HWY_ATTR { SampleColumns<T>(args, first, count).Loss(); };
  if (ForSampleColumns(args, group)) return;
  ForSamples(args, [&](Samples<T>& samples, int64_t i)
                       HWY_ATTR { args.losses[i] = IsIgnored(args, i) ? T{0} : samples.Loss(i); });
}

template <class T>
void CrossEntropyGrad(const CrossEntropyArgs<T>& args) {
  const T weight_sum = WeightSum(args);
  const auto group = [&](int64_t first, int64_t count)
                         HWY_ATTR { SampleColumns<T>(args, first, count).Gradient(weight_sum); };
  if (ForSampleColumns(args, group)) return;
  ForSamples(args, [&](Samples<T>& samples, int64_t i) HWY_ATTR {
    if (IsIgnored(args, i)) {
      samples.ZeroGradient(i);
    } else {
      samples.Gradient(i);
    }
  });
}

/// Numbers of memory that are worth a fork.
constexpr int64_t kGrain = 8192;

/// Calls body(i, offset) for samples [begin, end). A division for each would take most of the time.
template <class Body>
HWY_INLINE void ForOffsets(const Loops& samples, int64_t begin, int64_t end, const Body& body) {
  for (int64_t i = begin; i < end;) {
    const int64_t last = std::min(end, i + samples.InnerSize() - i % samples.InnerSize());
    for (int64_t offset = samples.Offset(i); i < last; ++i, offset += samples.InnerStride()) body(i, offset);
  }
}

template <class T>
void NllLoss(const CrossEntropyArgs<T>& args) {
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    ForOffsets(args.samples, begin, end, [&](int64_t i, int64_t offset) HWY_ATTR {
      const T w = WeightOf(args, i);
      const T x = w == 0 ? T{0} : args.input[offset + args.classes[i] * args.class_stride];
      args.losses[i] = -x * w;
    });
  });
}

template <class T>
void NllLossGrad(const CrossEntropyArgs<T>& args) {
  const T factor = FactorOf(args);
  ParallelRanges(args.num_samples * args.num_classes, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    std::fill(args.grad_input + begin, args.grad_input + end, T{0});
  });
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    ForOffsets(args.grad_samples, begin, end, [&](int64_t i, int64_t offset) HWY_ATTR {
      const T w = WeightOf(args, i);
      if (w == 0) return;
      args.grad_input[offset + args.classes[i] * args.grad_stride] =
          -w * (args.grad_output[i * args.grad_output_stride] / factor);
    });
  });
}

/// Of numbers side by side.
template <class T>
T SumOfNumbers(const T* x, int64_t n, Order order) {
  return SumOnThreads<T>(n, order, [x](int64_t i, int64_t count) HWY_ATTR { return LoadN(x + i, count); });
}

template <class T>
T SumOfWeights(const LossTotalArgs<T>& args) {
  Scratch scratch;
  T* const weights = scratch.Get<T>(args.num_samples);
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) weights[i] = WeightOf(args, i);
  });
  return SumOfNumbers(weights, args.num_samples, args.order);
}

template <class T>
void LossTotal(const LossTotalArgs<T>& args) {
  T total = args.losses == nullptr ? T{1} : SumOfNumbers(args.losses, args.num_samples, args.order);
  if (args.weight_sum != nullptr || (args.is_mean && args.is_weighted)) {
    const T sum = SumOfWeights(args);
    if (args.weight_sum != nullptr) *args.weight_sum = sum;
    if (args.is_mean) total = total / sum;
  } else if (args.is_mean) {
    int64_t count = args.num_samples;
    for (int64_t i = 0; args.classes != nullptr && i < args.num_samples; ++i) {
      count -= args.classes[i] == args.ignore_index ? 1 : 0;
    }
    total = total * static_cast<T>(1.0 / static_cast<double>(count));
  }
  *args.total = total;
}

}  // namespace

void LossTotalKernel(const LossTotalArgs<float>& args) { LossTotal(args); }
void LossTotalKernel(const LossTotalArgs<double>& args) { LossTotal(args); }
void CrossEntropyKernel(const CrossEntropyArgs<float>& args) { CrossEntropy(args); }
void CrossEntropyKernel(const CrossEntropyArgs<double>& args) { CrossEntropy(args); }
void CrossEntropyGradKernel(const CrossEntropyArgs<float>& args) { CrossEntropyGrad(args); }
void CrossEntropyGradKernel(const CrossEntropyArgs<double>& args) { CrossEntropyGrad(args); }
void NllLossKernel(const CrossEntropyArgs<float>& args) { NllLoss(args); }
void NllLossKernel(const CrossEntropyArgs<double>& args) { NllLoss(args); }
void NllLossGradKernel(const CrossEntropyArgs<float>& args) { NllLossGrad(args); }
void NllLossGradKernel(const CrossEntropyArgs<double>& args) { NllLossGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
