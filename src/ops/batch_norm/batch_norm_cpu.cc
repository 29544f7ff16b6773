// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "drivers/transpose_cpu-inl.h"
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

/// to[j * to_stride + i] = from[i * from_stride + j]
template <class T>
void Transpose(const T* from, int64_t from_stride, int64_t rows, int64_t cols, T* to, int64_t to_stride) {
  for (int64_t i = 0; i < rows; i += kLanesOf<T>) {
    const int64_t end = std::min(rows, i + kLanesOf<T>);
    int64_t j = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; end == i + kLanesOf<T> && j + kLanesOf<T> <= cols; j += kLanesOf<T>) {
      VecElementOf<T> t[kLanesOf<T>];
      LoadTransposed<T>([&](int64_t r) HWY_ATTR { return from + (i + r) * from_stride + j; }, t);
#pragma GCC unroll 16
      for (int64_t q = 0; q < kLanesOf<T>; ++q) StoreU(t[q], TagOf<T>(), to + (j + q) * to_stride + i);
    }
#endif
    for (int64_t r = i; r < end; ++r) {
      for (int64_t q = j; q < cols; ++q) to[q * to_stride + r] = from[r * from_stride + q];
    }
  }
}

/// Channels that are turned together.
constexpr int64_t kStrip = 64;

/// Without places, the values of a channel lie apart: a strip of channels is turned, so that they lie side by side, as the
/// places of one sample.
template <class T, class Run>
void BySamples(const BatchNormArgs<T>& args, T* BatchNormArgs<T>::* result, const Run& run) {
  const int64_t samples = args.samples;
  if (args.places != 1 || samples <= 1 || args.channels <= 1) return run(args);
  const int64_t strips = (args.channels + kStrip - 1) / kStrip;
  ParallelRanges(strips, 8192 / (samples * kStrip) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch scratch;
    T* const buffer = scratch.Get<T>(3 * kStrip * samples);
    for (int64_t c = begin * kStrip; c < std::min(args.channels, end * kStrip); c += kStrip) {
      BatchNormArgs<T> part = args;
      part.samples = 1, part.channels = std::min(kStrip, args.channels - c), part.places = samples;
      const auto turn = [&](const T*& from, T* to) HWY_ATTR {
        if (from == nullptr) return;
        Transpose(from + c, args.channels, samples, part.channels, to, samples);
        from = to;
      };
      turn(part.input, buffer);
      turn(part.grad_output, buffer + kStrip * samples);
      for (const T** given : {&part.weight, &part.bias}) {
        if (*given != nullptr) *given += c;
      }
      for (T** each : {&part.mean, &part.var, &part.grad_weight, &part.grad_bias}) {
        if (*each != nullptr) *each += c;
      }
      part.*result = buffer + 2 * kStrip * samples;
      run(part);
      Transpose<T>(part.*result, samples, part.channels, samples, args.*result + c, args.channels);
    }
  });
}

template <class T>
void RunNormalize(const BatchNormArgs<T>& args) {
  BySamples(args, &BatchNormArgs<T>::output, Normalize<T>);
}

template <class T>
void RunFillGrads(const BatchNormArgs<T>& args) {
  BySamples(args, &BatchNormArgs<T>::grad_input, FillGrads<T>);
}

}  // namespace

void BatchNormKernel(const BatchNormArgs<float>& args) { RunNormalize(args); }
void BatchNormKernel(const BatchNormArgs<double>& args) { RunNormalize(args); }
void BatchNormGradKernel(const BatchNormArgs<float>& args) { RunFillGrads(args); }
void BatchNormGradKernel(const BatchNormArgs<double>& args) { RunFillGrads(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
