// SPDX-License-Identifier: MIT
#include "drivers/softmax_cpu-inl.h"
#include "ops/cross_entropy/cross_entropy_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// The constants and buffers of one range of samples.
class Samples {
 public:
  Samples(const CrossEntropyArgs& args, Scratch& scratch)
      : args_(args),
        n_(args.num_classes),
        smooth_(args.label_smoothing != 0.0),
        a_(static_cast<float>(1.0 - args.label_smoothing)),
        b_(static_cast<float>(args.label_smoothing / static_cast<double>(args.num_classes))),
        x_(scratch.Get<float>(n_)),
        d_(scratch.Get<float>(n_)),
        e_(scratch.Get<float>(n_)),
        t_(scratch.Get<float>(n_)),
        grad_(scratch.Get<float>(n_)) {
    if (args.weight != nullptr) weight_sum_ = SumRow(args.weight, n_, args.order);
  }

  bool IsIgnored(int64_t sample) const {
    return args_.classes != nullptr && args_.classes[sample] == args_.ignore_index;
  }

  float Loss(int64_t sample) {
    Shift(sample);
    const float l = LogOf(SumTerms(n_, args_.order, [&](int64_t begin, int64_t count) HWY_ATTR {
      ExpOfRow(d_ + begin, count, terms_);
      return terms_;
    }));
    if (args_.classes == nullptr) {
      Targets(sample);
      return SumOf([&](int64_t i) { return Weighted(i, t_[i] * (l - d_[i])); });
    }
    const int64_t t = args_.classes[sample];
    const float loss = Weighted(t, l - d_[t]);
    if (!smooth_) return loss;
    return a_ * loss + b_ * SumOf([&](int64_t i) { return Weighted(i, l - d_[i]); });
  }

  void Gradient(int64_t sample) {
    const float g = args_.grad_output[sample * args_.grad_output_stride];
    float* const to = args_.grad_input + args_.grad_samples.Offset(sample);
    float* const grad = args_.grad_stride == 1 ? to : grad_;
    Shift(sample);
    ExpOfRow(d_, n_, e_);
    const float sum = SumRow(e_, n_, args_.order);
    if (args_.classes == nullptr) {
      Targets(sample);
      const float q_sum = SumOf([&](int64_t i) { return Weighted(i, t_[i]); });
      for (int64_t i = 0; i < n_; ++i) {
        grad[i] = ((e_[i] / sum * q_sum - Weighted(i, t_[i])) * args_.factor) * g;
      }
    } else if (args_.weight == nullptr && !smooth_) {
      const FloatTag d;
      const Vec divisor = Set(d, sum), factor = Set(d, args_.factor), outer = Set(d, g);
      ForVectors(n_, [&](int64_t i, int64_t count) HWY_ATTR {
        const Vec p = Div(LoadN(e_ + i, count), divisor);
        StoreN(Mul(Mul(p, factor), outer), grad + i, count);
      });
      const int64_t t = args_.classes[sample];
      grad[t] = ((e_[t] / sum - 1.0f) * args_.factor) * g;
    } else {
      const int64_t t = args_.classes[sample];
      const float w_t = args_.weight == nullptr ? 1.0f : args_.weight[t];
      const float w_sum = args_.weight == nullptr ? static_cast<float>(n_) : weight_sum_;
      for (int64_t i = 0; i < n_; ++i) {
        const float p = e_[i] / sum;
        float u = w_t * (p - (i == t ? 1.0f : 0.0f));
        if (smooth_) u = a_ * u + b_ * (p * w_sum - (args_.weight == nullptr ? 1.0f : args_.weight[i]));
        grad[i] = (u * args_.factor) * g;
      }
    }
    PutRow(grad, n_, to, args_.grad_stride);
  }

  void ZeroGradient(int64_t sample) {
    float* const to = args_.grad_input + args_.grad_samples.Offset(sample);
    for (int64_t i = 0; i < n_; ++i) to[i * args_.grad_stride] = 0.0f;
  }

 private:
  void Shift(int64_t sample) {
    const float* x = SideBySide(args_.input + args_.samples.Offset(sample), args_.class_stride, n_, x_);
    SubtractFromRow(x, MaxOfRow(x, n_), n_, d_);
  }

  /// The target probabilities of a sample, smoothed.
  void Targets(int64_t sample) {
    const float* t = args_.probabilities + args_.probability_samples.Offset(sample);
    for (int64_t i = 0; i < n_; ++i) {
      t_[i] = t[i * args_.probability_stride];
      if (smooth_) t_[i] = a_ * t_[i] + b_;
    }
  }

  float Weighted(int64_t i, float value) const { return args_.weight == nullptr ? value : args_.weight[i] * value; }

  template <class Term>
  float SumOf(const Term& term) {
    return SumTerms(n_, args_.order, [&](int64_t begin, int64_t count) {
      for (int64_t i = 0; i < count; ++i) terms_[i] = term(begin + i);
      return terms_;
    });
  }

  const CrossEntropyArgs& args_;
  const int64_t n_;
  const bool smooth_;
  const float a_, b_;
  float weight_sum_ = 0.0f;
  float *x_, *d_, *e_, *t_, *grad_;
  HWY_ALIGN float terms_[kSumChunk];
};

template <class Body>
void ForSamples(const CrossEntropyArgs& args, const Body& body) {
  ParallelRanges(args.num_samples, 4096 / std::max<int64_t>(args.num_classes, 1) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   Scratch scratch;
                   Samples samples(args, scratch);
                   for (int64_t i = begin; i < end; ++i) body(samples, i);
                 });
}

/// Of the class of a sample.
float WeightOf(const CrossEntropyArgs& args, int64_t sample) {
  const int64_t t = args.classes[sample];
  return t == args.ignore_index ? 0.0f : args.weight == nullptr ? 1.0f : args.weight[t];
}

/// Numbers of memory that are worth a fork.
constexpr int64_t kGrain = 8192;

}  // namespace

void CrossEntropyKernel(const CrossEntropyArgs& args) {
  ForSamples(args, [&](Samples& samples, int64_t i) HWY_ATTR {
    const bool ignored = samples.IsIgnored(i);
    args.losses[i] = ignored ? 0.0f : samples.Loss(i);
    if (args.sample_weights != nullptr) args.sample_weights[i] = ignored ? 0.0f : args.weight[args.classes[i]];
  });
}

void CrossEntropyGradKernel(const CrossEntropyArgs& args) {
  ForSamples(args, [&](Samples& samples, int64_t i) HWY_ATTR {
    if (samples.IsIgnored(i)) {
      samples.ZeroGradient(i);
    } else {
      samples.Gradient(i);
    }
  });
}

void NllLossKernel(const CrossEntropyArgs& args) {
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const float w = WeightOf(args, i);
      const float x = w == 0.0f ? 0.0f : args.input[args.samples.Offset(i) + args.classes[i] * args.class_stride];
      args.losses[i] = -x * w;
      args.sample_weights[i] = w;
    }
  });
}

void NllLossGradKernel(const CrossEntropyArgs& args) {
  ParallelRanges(args.num_samples * args.num_classes, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    std::fill(args.grad_input + begin, args.grad_input + end, 0.0f);
  });
  ParallelRanges(args.num_samples, kGrain, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const float w = WeightOf(args, i);
      if (w == 0.0f) continue;
      args.grad_input[args.grad_samples.Offset(i) + args.classes[i] * args.grad_stride] =
          -w * (args.grad_output[i * args.grad_output_stride] / args.factor);
    }
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
