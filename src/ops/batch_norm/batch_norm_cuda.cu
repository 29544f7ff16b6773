// SPDX-License-Identifier: MIT
#include "drivers/sum_cuda.h"
#include "ops/batch_norm/batch_norm_kernel.h"

namespace repdl::scalar {

#include "ops/batch_norm/batch_norm.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The numbers of a channel, sample by sample.
template <class T>
struct ChannelNumbers {
  const T* data;
  int64_t places, stride;  // between samples

  REPDL_ROW T operator()(scalar::RowPlace at) const {
    int64_t sample = at.index;
    const int64_t place = scalar::TakeRemainder(sample, places);
    return data[sample * stride + place];
  }
};

template <class T>
struct BatchNormChannels {
  BatchNormArgs<T> args;
  T reciprocal;  // 1 / N: the quotient in double, rounded once

  REPDL_ROW ChannelNumbers<T> Numbers(const T* data, int64_t c) const {
    return {data + c * args.places, args.places, args.channels * args.places};
  }
};

/// The numbers of channel c are terms of sum c.
template <class T>
struct TermsOfChannels {
  BatchNormChannels<T> channels;
  const T* data;

  REPDL_ROW ChannelNumbers<T> operator()(int64_t c) const { return channels.Numbers(data, c); }
};

template <class T>
struct SquaredOfChannel {
  ChannelNumbers<T> x;
  T mean;

  REPDL_ROW T operator()(scalar::RowPlace at) const { return scalar::SquaredFromMean(x(at), mean); }
};

template <class T>
struct SquaresOfChannels {
  BatchNormChannels<T> channels;

  REPDL_ROW SquaredOfChannel<T> operator()(int64_t c) const {
    return {channels.Numbers(channels.args.input, c), channels.args.mean[c]};
  }
};

/// What a number is standardized by.
template <class T>
struct StandardOfChannel {
  T mean, std;

  REPDL_ROW StandardOfChannel(const BatchNormArgs<T>& args, int64_t c)
      : mean(args.mean[c]), std(scalar::Sqrt(scalar::Add(args.var[c], args.eps))) {}
  REPDL_ROW T operator()(T x) const { return scalar::Standardized(x, mean, std); }
};

template <class T>
struct WeightTermOfChannel {
  ChannelNumbers<T> g, x;
  StandardOfChannel<T> standardized;

  REPDL_ROW T operator()(scalar::RowPlace at) const { return scalar::Mul(g(at), standardized(x(at))); }
};

template <class T>
struct WeightTermsOfChannels {
  BatchNormChannels<T> channels;

  REPDL_ROW WeightTermOfChannel<T> operator()(int64_t c) const {
    const BatchNormArgs<T>& args = channels.args;
    return {channels.Numbers(args.grad_output, c), channels.Numbers(args.input, c), {args, c}};
  }
};

/// Row r is the places of a channel in a sample.
struct NormalizePlane {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const BatchNormChannels<T>& channels) const {
    const BatchNormArgs<T>& args = channels.args;
    const int64_t c = r % args.channels;
    const StandardOfChannel<T> standardized(args, c);
    const bool has_weight = args.weight != nullptr, has_bias = args.bias != nullptr;
    const T weight = has_weight ? args.weight[c] : T{1}, bias = has_bias ? args.bias[c] : T{0};
    const scalar::RowNumbers<const T> x{args.input + r * args.places};
    const scalar::RowNumbers<T> y{args.output + r * args.places};
    row.Each([&](scalar::RowPlace at) {
      y.Put(at, scalar::Affine(standardized(x(at)), has_weight, weight, has_bias, bias));
    });
  }
};

struct FillGradsOfPlane {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t r, const BatchNormChannels<T>& channels) const {
    const BatchNormArgs<T>& args = channels.args;
    const int64_t c = r % args.channels;
    const StandardOfChannel<T> standardized(args, c);
    const T scale = scalar::Div(args.weight == nullptr ? T{1} : args.weight[c], standardized.std);
    const T bias_share = scalar::Mul(args.grad_bias[c], channels.reciprocal);
    const T weight_share = scalar::Mul(args.grad_weight[c], channels.reciprocal);
    const scalar::RowNumbers<const T> x{args.input + r * args.places}, g{args.grad_output + r * args.places};
    const scalar::RowNumbers<T> grad{args.grad_input + r * args.places};
    row.Each([&](scalar::RowPlace at) {
      grad.Put(at, args.training ? scalar::GradOfNumber(g(at), standardized(x(at)), scale, bias_share, weight_share)
                                 : scalar::Mul(scale, g(at)));
    });
  }
};

template <class T>
static BatchNormChannels<T> ChannelsOf(const BatchNormArgs<T>& args) {
  return {args, static_cast<T>(1.0 / static_cast<double>(args.samples * args.places))};
}

/// out[c] = the sum of channel c, times `factor`.
template <class T, class Terms>
static void SumChannels(const Place& place, const BatchNormArgs<T>& args, const Terms& terms, T factor, T* out) {
  const int64_t n = args.samples * args.places;
  SumEnd end{};
  end.factor = static_cast<double>(factor);
  Loops starts;
  starts.Append(args.channels, args.places);
  if (AreSideBySide(starts, args.places == 1 ? args.channels : 1)) {
    SumsSideBySide(place, args.channels, n, args.order, terms, end, out);
  } else {
    Sums(place, args.channels, n, args.order, terms, end, out);
  }
}

/// Body for each channel of each sample.
template <class Body, class T>
static void ForPlanes(const Place& place, const BatchNormArgs<T>& args) {
  const RowsArgs<BatchNormChannels<T>> rows{args.samples * args.channels, args.places, args.order, ChannelsOf(args)};
  if (args.places < kWarpThreads) return ForThreadRows<T, Body>(place, rows);
  ForSharedRows<T, Body>(place, rows);
}

template <class T>
static void Normalize(const Place& place, const BatchNormArgs<T>& args) {
  const BatchNormChannels<T> channels = ChannelsOf(args);
  if (args.training) {
    SumChannels(place, args, TermsOfChannels<T>{channels, args.input}, channels.reciprocal, args.mean);
    SumChannels(place, args, SquaresOfChannels<T>{channels}, channels.reciprocal, args.var);
  }
  if (args.output != nullptr) ForPlanes<NormalizePlane>(place, args);
}

template <class T>
static void FillGrads(const Place& place, const BatchNormArgs<T>& args) {
  const BatchNormChannels<T> channels = ChannelsOf(args);
  SumChannels(place, args, TermsOfChannels<T>{channels, args.grad_output}, T{1}, args.grad_bias);
  SumChannels(place, args, WeightTermsOfChannels<T>{channels}, T{1}, args.grad_weight);
  ForPlanes<FillGradsOfPlane>(place, args);
}

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) UpdateKernel(const __grid_constant__ BatchNormUpdateArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; c < args.channels; c += num_threads) {
    T& running = args.running[c * args.running_stride];
    running = scalar::Updated(running, args.value[c * args.value_stride], args.keep, args.take, args.factor);
  }
}

template <class T>
static void Update(const Place& place, const BatchNormUpdateArgs<T>& args) {
  Launch(place, args.channels, &UpdateKernel<T>, args);
}

REPDL_CUDA_KERNEL(BatchNormKernel, BatchNormArgs<float>) { Normalize(place, args); }
REPDL_CUDA_KERNEL(BatchNormKernel, BatchNormArgs<double>) { Normalize(place, args); }
REPDL_CUDA_KERNEL(BatchNormGradKernel, BatchNormArgs<float>) { FillGrads(place, args); }
REPDL_CUDA_KERNEL(BatchNormGradKernel, BatchNormArgs<double>) { FillGrads(place, args); }
REPDL_CUDA_KERNEL(BatchNormUpdateKernel, BatchNormUpdateArgs<float>) { Update(place, args); }
REPDL_CUDA_KERNEL(BatchNormUpdateKernel, BatchNormUpdateArgs<double>) { Update(place, args); }

}  // namespace repdl::cuda
