// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/batch_norm/batch_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/batch_norm/batch_norm.row.h"

namespace {

/// One channel: its values are the terms of every sum.
template <class T>
struct Channel {
  const BatchNormArgs<T>& args;
  int64_t c;
  int64_t count = args.samples * args.places;
  // The quotient in double, rounded once.
  T reciprocal = static_cast<T>(1.0 / static_cast<double>(count));

  /// Sum(f(at, n)) over the channel: a vector of terms of the numbers from `at` on.
  template <class F>
  T SumOf(const F& f) const {
    HWY_ALIGN T values[kSumChunk + kLanesOf<T>];
    return SumTerms<T>(count, args.order, [&](int64_t begin, int64_t length) HWY_ATTR {
      for (int64_t done = 0, run; done < length; done += run) {
        const int64_t sample = (begin + done) / args.places, place = (begin + done) % args.places;
        run = std::min(length - done, args.places - place);
        const int64_t at = (sample * args.channels + c) * args.places + place;
        // Whole vectors: what the last one has too much, the next run overwrites.
        ForVectors<T>(run, [&](int64_t i, int64_t n) HWY_ATTR { StoreU(f(at + i, n), TagOf<T>(), values + done + i); });
      }
      return values;
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
    for (int64_t c = begin; c < end; ++c) body(Channel<T>{args, c});
  });
}

template <class T>
void Normalize(const BatchNormArgs<T>& args) {
  const TagOf<T> d;
  ForChannels(args, [&](const Channel<T>& channel) HWY_ATTR {
    const int64_t c = channel.c;
    if (args.training) {
      const auto x = [&](int64_t at, int64_t n) HWY_ATTR { return LoadN(args.input + at, n); };
      args.mean[c] = channel.SumOf(x) * channel.reciprocal;
      const VecOf<T> mean = Set(d, args.mean[c]);
      const auto squared = [&](int64_t at, int64_t n) HWY_ATTR { return SquaredFromMean(x(at, n), mean); };
      args.var[c] = channel.SumOf(squared) * channel.reciprocal;
    }
    if (args.output == nullptr) return;
    const VecOf<T> mean = Set(d, args.mean[c]), std = Set(d, channel.Std());
    const VecOf<T> weight = Set(d, args.weight == nullptr ? T{1} : args.weight[c]);
    const VecOf<T> bias = Set(d, args.bias == nullptr ? T{0} : args.bias[c]);
    channel.ForEach(args.input, args.input, args.output, [&](VecOf<T> x, VecOf<T>) HWY_ATTR {
      return Affine(Standardized(x, mean, std), args.weight != nullptr, weight, args.bias != nullptr, bias);
    });
  });
}

template <class T>
void FillGrads(const BatchNormArgs<T>& args) {
  const TagOf<T> d;
  ForChannels(args, [&](const Channel<T>& channel) HWY_ATTR {
    const int64_t c = channel.c;
    const VecOf<T> mean = Set(d, args.mean[c]), std = Set(d, channel.Std());
    const auto g = [&](int64_t at, int64_t n) HWY_ATTR { return LoadN(args.grad_output + at, n); };
    const T grad_bias = channel.SumOf(g);
    const T grad_weight = channel.SumOf([&](int64_t at, int64_t n) HWY_ATTR {
      return Mul(g(at, n), Standardized(LoadN(args.input + at, n), mean, std));
    });
    const VecOf<T> scale = Div(Set(d, args.weight == nullptr ? T{1} : args.weight[c]), std);
    if (args.training) {
      const VecOf<T> bias_share = Set(d, grad_bias * channel.reciprocal);
      const VecOf<T> weight_share = Set(d, grad_weight * channel.reciprocal);
      channel.ForEach(args.grad_output, args.input, args.grad_input, [&](VecOf<T> g, VecOf<T> x) HWY_ATTR {
        return GradOfNumber(g, Standardized(x, mean, std), scale, bias_share, weight_share);
      });
    } else {
      channel.ForEach(args.grad_output, args.grad_output, args.grad_input,
                      [&](VecOf<T> g, VecOf<T>) HWY_ATTR { return Mul(scale, g); });
    }
    args.grad_weight[c] = grad_weight;
    args.grad_bias[c] = grad_bias;
  });
}

// Without places the channels lie side by side: a strip of them is taken at a time, a vector of channels of each sample.

/// (x - mean)² of a row of a strip.
template <class T>
struct SquaredDistances {
  const T *x, *mean;
  HWY_INLINE VecOf<T> operator()(int64_t j, int64_t count) const {
    return SquaredFromMean(LoadN(x + j, count), LoadN(mean + j, count));
  }
};

/// (x - mean) / std of a row of a strip.
template <class T>
struct Normalized {
  const T *x, *mean, *std;
  HWY_INLINE VecOf<T> operator()(int64_t j, int64_t count) const {
    return Standardized(LoadN(x + j, count), LoadN(mean + j, count), LoadN(std + j, count));
  }
};

/// g * (x - mean) / std of a row of a strip.
template <class T>
struct Products {
  const T* g;
  Normalized<T> h;
  HWY_INLINE VecOf<T> operator()(int64_t j, int64_t count) const { return Mul(LoadN(g + j, count), h(j, count)); }
};

/// Channels [c, c + width).
template <class T>
struct Strip {
  const BatchNormArgs<T>& args;
  int64_t c, width;
  T reciprocal = static_cast<T>(1.0 / static_cast<double>(args.samples));

  int64_t At(int64_t sample) const { return sample * args.channels + c; }

  /// out[j] = Sum(row_at(i)[j]) over the samples i, times `factor`.
  template <class RowAt>
  void Sum(const RowAt& row_at, T factor, T* out) const {
    if (args.order == Order::kSequential) {
      std::fill_n(out, width, T{0});
      for (int64_t i = 0; i < args.samples; ++i) {
        const auto row = row_at(i);
        ForVectors<T>(width,
                      [&](int64_t j, int64_t n) HWY_ATTR { StoreN(Add(LoadN<T>(out + j, n), row(j, n)), out + j, n); });
      }
    } else {
      SumColumnsOf<T>(args.samples, width, row_at, out);
    }
    if (factor != 1) {
      for (int64_t j = 0; j < width; ++j) out[j] = out[j] * factor;
    }
  }

  void Std(T* out) const {
    const TagOf<T> d;
    const VecOf<T> eps = Set(d, args.eps);
    const T* const var = args.var + c;
    ForVectors<T>(width, [&](int64_t j, int64_t n) HWY_ATTR { StoreN(Sqrt(Add(LoadN(var + j, n), eps)), out + j, n); });
  }
};

/// Calls body(strip) for strips of channels; one thread has a chunk of its sums in its caches.
template <class T, class Body>
void ForStrips(const BatchNormArgs<T>& args, const Body& body) {
  const int64_t share = std::min(args.channels / GetNumThreads(), 65536 / std::min(args.samples, kSumChunk));
  const int64_t width = std::clamp((share + 63) / 64 * 64, int64_t{64}, kMaxStrip);
  const int64_t strips = (args.channels + width - 1) / width;
  ParallelRanges(strips, 8192 / (args.samples * width) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t s = begin; s < end; ++s) {
      body(Strip<T>{args, s * width, std::min(width, args.channels - s * width)});
    }
  });
}

template <class T>
void NormalizeStrips(const BatchNormArgs<T>& args) {
  ForStrips(args, [&](const Strip<T>& strip) HWY_ATTR {
    T* const mean = args.mean + strip.c;
    if (args.training) {
      const auto x = [&](int64_t i) HWY_ATTR { return StoredRow<T>{args.input + strip.At(i)}; };
      strip.Sum(x, strip.reciprocal, mean);
      const auto squared = [&](int64_t i) HWY_ATTR { return SquaredDistances<T>{args.input + strip.At(i), mean}; };
      strip.Sum(squared, strip.reciprocal, args.var + strip.c);
    }
    if (args.output == nullptr) return;
    HWY_ALIGN T std[kMaxStrip];
    strip.Std(std);
    for (int64_t i = 0; i < args.samples; ++i) {
      const Normalized<T> h{args.input + strip.At(i), mean, std};
      T* const out = args.output + strip.At(i);
      ForVectors<T>(strip.width, [&](int64_t j, int64_t n) HWY_ATTR {
        VecOf<T> y = h(j, n);
        if (args.weight != nullptr) y = Mul(y, LoadN(args.weight + strip.c + j, n));
        if (args.bias != nullptr) y = Add(y, LoadN(args.bias + strip.c + j, n));
        StoreN(y, out + j, n);
      });
    }
  });
}

template <class T>
void FillGradsOfStrips(const BatchNormArgs<T>& args) {
  const TagOf<T> d;
  ForStrips(args, [&](const Strip<T>& strip) HWY_ATTR {
    const T* const mean = args.mean + strip.c;
    T *const grad_weight = args.grad_weight + strip.c, *const grad_bias = args.grad_bias + strip.c;
    HWY_ALIGN T std[kMaxStrip], scale[kMaxStrip], bias_share[kMaxStrip], weight_share[kMaxStrip];
    strip.Std(std);
    const auto h = [&](int64_t i) HWY_ATTR { return Normalized<T>{args.input + strip.At(i), mean, std}; };
    const auto g = [&](int64_t i) HWY_ATTR { return StoredRow<T>{args.grad_output + strip.At(i)}; };
    const auto products = [&](int64_t i) HWY_ATTR { return Products<T>{args.grad_output + strip.At(i), h(i)}; };
    strip.Sum(g, T{1}, grad_bias);
    strip.Sum(products, T{1}, grad_weight);
    const VecOf<T> reciprocal = Set(d, strip.reciprocal);
    ForVectors<T>(strip.width, [&](int64_t j, int64_t n) HWY_ATTR {
      const VecOf<T> weight = args.weight == nullptr ? Set(d, T{1}) : LoadN(args.weight + strip.c + j, n);
      StoreN(Div(weight, LoadN<T>(std + j, n)), scale + j, n);
      StoreN(Mul(LoadN<T>(grad_bias + j, n), reciprocal), bias_share + j, n);
      StoreN(Mul(LoadN<T>(grad_weight + j, n), reciprocal), weight_share + j, n);
    });
    for (int64_t i = 0; i < args.samples; ++i) {
      const auto grad = g(i);
      const auto normalized = h(i);
      T* const out = args.grad_input + strip.At(i);
      ForVectors<T>(strip.width, [&](int64_t j, int64_t n) HWY_ATTR {
        const VecOf<T> of_row = LoadN<T>(scale + j, n);
        StoreN(args.training ? GradOfNumber(grad(j, n), normalized(j, n), of_row, LoadN<T>(bias_share + j, n),
                                            LoadN<T>(weight_share + j, n))
                             : Mul(of_row, grad(j, n)),
               out + j, n);
      });
    }
  });
}

template <class T>
void RunNormalize(const BatchNormArgs<T>& args) {
  args.places == 1 ? NormalizeStrips(args) : Normalize(args);
}

template <class T>
void RunFillGrads(const BatchNormArgs<T>& args) {
  args.places == 1 ? FillGradsOfStrips(args) : FillGrads(args);
}

template <class T>
void Update(const BatchNormUpdateArgs<T>& args) {
  const hn::CappedTag<T, 1> d;
  for (int64_t c = 0; c < args.channels; ++c) {
    T& running = args.running[c * args.running_stride];
    running = hn::GetLane(Updated(Set(d, running), Set(d, args.value[c * args.value_stride]), Set(d, args.keep),
                                  Set(d, args.take), Set(d, args.factor)));
  }
}

}  // namespace

void BatchNormKernel(const BatchNormArgs<float>& args) { RunNormalize(args); }
void BatchNormKernel(const BatchNormArgs<double>& args) { RunNormalize(args); }
void BatchNormGradKernel(const BatchNormArgs<float>& args) { RunFillGrads(args); }
void BatchNormGradKernel(const BatchNormArgs<double>& args) { RunFillGrads(args); }
void BatchNormUpdateKernel(const BatchNormUpdateArgs<float>& args) { Update(args); }
void BatchNormUpdateKernel(const BatchNormUpdateArgs<double>& args) { Update(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
