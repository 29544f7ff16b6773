// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/batch_norm/batch_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// One channel: its values are the terms of every sum.
struct Channel {
  const BatchNormArgs& args;
  int64_t c;
  int64_t count = args.samples * args.places;
  // The quotient in double, rounded once.
  float reciprocal = static_cast<float>(1.0 / static_cast<double>(count));
  Loops terms = {};

  Channel(const BatchNormArgs& args, int64_t c) : args(args), c(c) {
    terms.Append(args.samples, args.channels * args.places);
    terms.Append(args.places, 1);
  }

  /// Sum(f(first, second)) over the channel; second may be null.
  template <class F>
  float SumOf(const float* first, const float* second, const F& f) const {
    HWY_ALIGN float first_buffer[kSumChunk];
    HWY_ALIGN float second_buffer[kSumChunk];
    HWY_ALIGN float values[kSumChunk];
    return SumTerms(count, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      const float* x = GatherTerms(first + c * args.places, terms, begin, length, first_buffer);
      const float* y =
          second == nullptr ? x : GatherTerms(second + c * args.places, terms, begin, length, second_buffer);
      ForVectors(length,
                 [&](int64_t i, int64_t n) HWY_ATTR { StoreN(f(LoadN(x + i, n), LoadN(y + i, n)), values + i, n); });
      return values;
    });
  }

  float Sum(const float* x) const {
    HWY_ALIGN float buffer[kSumChunk];
    return SumTerms(count, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      return GatherTerms(x + c * args.places, terms, begin, length, buffer);
    });
  }

  float Std() const { return hn::GetLane(Sqrt(Set(FloatTag(), args.var[c] + args.eps))); }

  /// out = f(first, second), element by element.
  template <class F>
  void ForEach(const float* first, const float* second, float* out, const F& f) const {
    for (int64_t s = 0; s < args.samples; ++s) {
      const int64_t at = (s * args.channels + c) * args.places;
      ForVectors(args.places, [&](int64_t i, int64_t n) HWY_ATTR {
        StoreN(f(LoadN(first + at + i, n), LoadN(second + at + i, n)), out + at + i, n);
      });
    }
  }
};

template <class Body>
void ForChannels(const BatchNormArgs& args, const Body& body) {
  ParallelRanges(args.channels, 8192 / (args.samples * args.places) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t c = begin; c < end; ++c) body(Channel(args, c));
  });
}

}  // namespace

void BatchNormKernel(const BatchNormArgs& args) {
  const FloatTag d;
  ForChannels(args, [&](const Channel& channel) HWY_ATTR {
    const int64_t c = channel.c;
    if (args.training) {
      args.mean[c] = channel.Sum(args.input) * channel.reciprocal;
      const Vec mean = Set(d, args.mean[c]);
      args.var[c] = channel.SumOf(args.input, nullptr, [&mean](Vec x, Vec) HWY_ATTR {
        const Vec centred = Sub(x, mean);
        return Mul(centred, centred);
      }) * channel.reciprocal;
    }
    const Vec mean = Set(d, args.mean[c]), std = Set(d, channel.Std());
    const Vec weight = Set(d, args.weight == nullptr ? 1.0f : args.weight[c]);
    const Vec bias = Set(d, args.bias == nullptr ? 0.0f : args.bias[c]);
    channel.ForEach(args.input, args.input, args.output, [&](Vec x, Vec) HWY_ATTR {
      Vec y = Div(Sub(x, mean), std);
      if (args.weight != nullptr) y = Mul(y, weight);
      if (args.bias != nullptr) y = Add(y, bias);
      return y;
    });
  });
}

void BatchNormGradKernel(const BatchNormArgs& args) {
  const FloatTag d;
  ForChannels(args, [&](const Channel& channel) HWY_ATTR {
    const int64_t c = channel.c;
    const Vec mean = Set(d, args.mean[c]), std = Set(d, channel.Std());
    const float grad_bias = channel.Sum(args.grad_output);
    const float grad_weight = channel.SumOf(args.grad_output, args.input,
                                            [&](Vec g, Vec x) HWY_ATTR { return Mul(g, Div(Sub(x, mean), std)); });
    const Vec scale = Div(Set(d, args.weight == nullptr ? 1.0f : args.weight[c]), std);
    if (args.training) {
      const Vec bias_share = Set(d, grad_bias * channel.reciprocal);
      const Vec weight_share = Set(d, grad_weight * channel.reciprocal);
      channel.ForEach(args.grad_output, args.input, args.grad_input, [&](Vec g, Vec x) HWY_ATTR {
        const Vec h = Div(Sub(x, mean), std);
        return Mul(scale, Sub(Sub(g, bias_share), Mul(h, weight_share)));
      });
    } else {
      channel.ForEach(args.grad_output, args.grad_output, args.grad_input,
                      [&](Vec g, Vec) HWY_ATTR { return Mul(scale, g); });
    }
    args.grad_weight[c] = grad_weight;
    args.grad_bias[c] = grad_bias;
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
