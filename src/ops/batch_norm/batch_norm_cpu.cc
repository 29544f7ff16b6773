// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/batch_norm/batch_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// One channel: its values are the terms of every sum.
template <class T>
struct Channel {
  const BatchNormArgs<T>& args;
  int64_t c;
  int64_t count = args.samples * args.places;
  // The quotient in double, rounded once.
  T reciprocal = static_cast<T>(1.0 / static_cast<double>(count));
  Loops terms = {};

  Channel(const BatchNormArgs<T>& args, int64_t c) : args(args), c(c) {
    terms.Append(args.samples, args.channels * args.places);
    terms.Append(args.places, 1);
  }

  /// Sum(f(first, second)) over the channel; second may be null.
  template <class F>
  T SumOf(const T* first, const T* second, const F& f) const {
    HWY_ALIGN T first_buffer[kSumChunk];
    HWY_ALIGN T second_buffer[kSumChunk];
    HWY_ALIGN T values[kSumChunk];
    return SumTerms<T>(count, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      const T* x = GatherTerms(first + c * args.places, terms, begin, length, first_buffer);
      const T* y = second == nullptr ? x : GatherTerms(second + c * args.places, terms, begin, length, second_buffer);
      ForVectors<T>(length,
                    [&](int64_t i, int64_t n) HWY_ATTR { StoreN(f(LoadN(x + i, n), LoadN(y + i, n)), values + i, n); });
      return values;
    });
  }

  T Sum(const T* x) const {
    HWY_ALIGN T buffer[kSumChunk];
    return SumTerms<T>(count, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      return GatherTerms(x + c * args.places, terms, begin, length, buffer);
    });
  }

  T Std() const { return hn::GetLane(Sqrt(Set(TagOf<T>(), args.var[c] + args.eps))); }

  /// out = f(first, second), element by element.
  template <class F>
  void ForEach(const T* first, const T* second, T* out, const F& f) const {
    for (int64_t s = 0; s < args.samples; ++s) {
      const int64_t at = (s * args.channels + c) * args.places;
      ForVectors<T>(args.places, [&](int64_t i, int64_t n) HWY_ATTR {
        StoreN(f(LoadN(first + at + i, n), LoadN(second + at + i, n)), out + at + i, n);
      });
    }
  }
};

template <class T, class Body>
void ForChannels(const BatchNormArgs<T>& args, const Body& body) {
  ParallelRanges(args.channels, 8192 / (args.samples * args.places) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t c = begin; c < end; ++c) body(Channel<T>(args, c));
  });
}

template <class T>
void Normalize(const BatchNormArgs<T>& args) {
  const TagOf<T> d;
  ForChannels(args, [&](const Channel<T>& channel) HWY_ATTR {
    const int64_t c = channel.c;
    if (args.training) {
      args.mean[c] = channel.Sum(args.input) * channel.reciprocal;
      const VecOf<T> mean = Set(d, args.mean[c]);
      args.var[c] = channel.SumOf(args.input, nullptr, [&mean](VecOf<T> x, VecOf<T>) HWY_ATTR {
        const VecOf<T> centred = Sub(x, mean);
        return Mul(centred, centred);
      }) * channel.reciprocal;
    }
    const VecOf<T> mean = Set(d, args.mean[c]), std = Set(d, channel.Std());
    const VecOf<T> weight = Set(d, args.weight == nullptr ? T{1} : args.weight[c]);
    const VecOf<T> bias = Set(d, args.bias == nullptr ? T{0} : args.bias[c]);
    channel.ForEach(args.input, args.input, args.output, [&](VecOf<T> x, VecOf<T>) HWY_ATTR {
      VecOf<T> y = Div(Sub(x, mean), std);
      if (args.weight != nullptr) y = Mul(y, weight);
      if (args.bias != nullptr) y = Add(y, bias);
      return y;
    });
  });
}

template <class T>
void FillGrads(const BatchNormArgs<T>& args) {
  const TagOf<T> d;
  ForChannels(args, [&](const Channel<T>& channel) HWY_ATTR {
    const int64_t c = channel.c;
    const VecOf<T> mean = Set(d, args.mean[c]), std = Set(d, channel.Std());
    const T grad_bias = channel.Sum(args.grad_output);
    const T grad_weight = channel.SumOf(
        args.grad_output, args.input, [&](VecOf<T> g, VecOf<T> x) HWY_ATTR { return Mul(g, Div(Sub(x, mean), std)); });
    const VecOf<T> scale = Div(Set(d, args.weight == nullptr ? T{1} : args.weight[c]), std);
    if (args.training) {
      const VecOf<T> bias_share = Set(d, grad_bias * channel.reciprocal);
      const VecOf<T> weight_share = Set(d, grad_weight * channel.reciprocal);
      channel.ForEach(args.grad_output, args.input, args.grad_input, [&](VecOf<T> g, VecOf<T> x) HWY_ATTR {
        const VecOf<T> h = Div(Sub(x, mean), std);
        return Mul(scale, Sub(Sub(g, bias_share), Mul(h, weight_share)));
      });
    } else {
      channel.ForEach(args.grad_output, args.grad_output, args.grad_input,
                      [&](VecOf<T> g, VecOf<T>) HWY_ATTR { return Mul(scale, g); });
    }
    args.grad_weight[c] = grad_weight;
    args.grad_bias[c] = grad_bias;
  });
}

}  // namespace

void BatchNormKernel(const BatchNormArgs<float>& args) { Normalize(args); }
void BatchNormKernel(const BatchNormArgs<double>& args) { Normalize(args); }
void BatchNormGradKernel(const BatchNormArgs<float>& args) { FillGrads(args); }
void BatchNormGradKernel(const BatchNormArgs<double>& args) { FillGrads(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
