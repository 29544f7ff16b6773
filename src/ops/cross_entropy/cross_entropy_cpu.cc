// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/cross_entropy/cross_entropy_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/cross_entropy/cross_entropy.row.h"

namespace {

/// The constants and buffers of one range of samples.
template <class T>
class Samples {
 public:
  Samples(const CrossEntropyArgs<T>& args, Scratch& scratch)
      : args_(args),
        row_{{args.num_classes, args.order},
             {nullptr},
             {args.weight},
             {nullptr},
             args.weight != nullptr,
             args.classes == nullptr,
             args.label_smoothing != 0.0,
             static_cast<T>(1.0 - args.label_smoothing),
             static_cast<T>(args.label_smoothing / static_cast<double>(args.num_classes)),
             0},
        x_(scratch.Get<T>(args.num_classes)),
        t_(scratch.Get<T>(args.num_classes)),
        grad_(scratch.Get<T>(args.num_classes)) {
    weight_sum_ = row_.is_weighted ? row_.row.Sum(row_.weight) : static_cast<T>(args.num_classes);
  }

  bool IsIgnored(int64_t sample) const {
    return args_.classes != nullptr && args_.classes[sample] == args_.ignore_index;
  }

  T Loss(int64_t sample) {
    Take(sample);
    return row_.Loss();
  }

  void Gradient(int64_t sample) {
    T* const to = args_.grad_input + args_.grad_samples.Offset(sample);
    T* const grad = args_.grad_stride == 1 ? to : grad_;
    Take(sample);
    row_.Gradient(weight_sum_, args_.factor, args_.grad_output[sample * args_.grad_output_stride], RowNumbers<T>{grad});
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
  CrossEntropyRow<Row<T>, RowNumbers<const T>, RowNumbers<const T>, RowNumbers<const T>> row_;
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

template <class T>
void CrossEntropy(const CrossEntropyArgs<T>& args) {
  ForSamples(args, [&](Samples<T>& samples, int64_t i) HWY_ATTR {
    const bool ignored = samples.IsIgnored(i);
    args.losses[i] = ignored ? T{0} : samples.Loss(i);
    if (args.sample_weights != nullptr) args.sample_weights[i] = ignored ? T{0} : args.weight[args.classes[i]];
  });
}

template <class T>
void CrossEntropyGrad(const CrossEntropyArgs<T>& args) {
  ForSamples(args, [&](Samples<T>& samples, int64_t i) HWY_ATTR {
    if (samples.IsIgnored(i)) {
      samples.ZeroGradient(i);
    } else {
      samples.Gradient(i);
    }
  });
}

/// Of the class of a sample.
template <class T>
T WeightOf(const CrossEntropyArgs<T>& args, int64_t sample) {
  const int64_t t = args.classes[sample];
  return t == args.ignore_index ? T{0} : args.weight == nullptr ? T{1} : args.weight[t];
}

/// Numbers of memory that are worth a fork.
constexpr int64_t kGrain = 8192;

template <class T>
void NllLoss(const CrossEntropyArgs<T>& args) {
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const T w = WeightOf(args, i);
      const T x = w == 0 ? T{0} : args.input[args.samples.Offset(i) + args.classes[i] * args.class_stride];
      args.losses[i] = -x * w;
      args.sample_weights[i] = w;
    }
  });
}

template <class T>
void NllLossGrad(const CrossEntropyArgs<T>& args) {
  ParallelRanges(args.num_samples * args.num_classes, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    std::fill(args.grad_input + begin, args.grad_input + end, T{0});
  });
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const T w = WeightOf(args, i);
      if (w == 0) continue;
      args.grad_input[args.grad_samples.Offset(i) + args.classes[i] * args.grad_stride] =
          -w * (args.grad_output[i * args.grad_output_stride] / args.factor);
    }
  });
}

}  // namespace

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
