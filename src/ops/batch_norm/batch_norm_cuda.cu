// SPDX-License-Identifier: MIT
#include "drivers/row_cuda.h"
#include "ops/batch_norm/batch_norm_kernel.h"

namespace repdl::scalar {

#include "ops/batch_norm/batch_norm.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// The numbers of a channel, sample by sample.
template <class T>
struct ChannelNumbers {
  T* data;
  int64_t places, stride;  // between samples

  REPDL_ROW int64_t Offset(scalar::RowPlace at) const {
    int64_t sample = at.index;
    const int64_t place = scalar::TakeRemainder(sample, places);
    return sample * stride + place;
  }
  REPDL_ROW std::remove_const_t<T> operator()(scalar::RowPlace at) const { return data[Offset(at)]; }
  REPDL_ROW void Put(scalar::RowPlace at, T value) const { data[Offset(at)] = value; }
};

template <class T>
struct BatchNormChannels {
  BatchNormArgs<T> args;
  T reciprocal;  // 1 / N: the quotient in double, rounded once

  template <class U>
  REPDL_ROW ChannelNumbers<U> Numbers(U* data, int64_t c) const {
    return {data + c * args.places, args.places, args.channels * args.places};
  }
};

struct NormalizeChannel {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t c, const BatchNormChannels<T>& channels) const {
    const BatchNormArgs<T>& args = channels.args;
    const auto x = channels.Numbers(args.input, c);
    T mean, var;
    if (args.training) {
      mean = scalar::Mul(row.Sum(x), channels.reciprocal);
      const auto squared = [&](scalar::RowPlace at) { return scalar::SquaredFromMean(x(at), mean); };
      var = scalar::Mul(row.Sum(squared), channels.reciprocal);
      if (row.IsFirst()) {
        args.mean[c] = mean;
        args.var[c] = var;
      }
    } else {
      mean = args.mean[c];
      var = args.var[c];
    }
    if (args.output == nullptr) return;
    const T std = scalar::Sqrt(scalar::Add(var, args.eps));
    const bool has_weight = args.weight != nullptr, has_bias = args.bias != nullptr;
    const T weight = has_weight ? args.weight[c] : T{1}, bias = has_bias ? args.bias[c] : T{0};
    const auto y = channels.Numbers(args.output, c);
    row.Each([&](scalar::RowPlace at) {
      y.Put(at, scalar::Affine(scalar::Standardized(x(at), mean, std), has_weight, weight, has_bias, bias));
    });
  }
};

struct FillGradsOfChannel {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t c, const BatchNormChannels<T>& channels) const {
    const BatchNormArgs<T>& args = channels.args;
    const auto x = channels.Numbers(args.input, c), g = channels.Numbers(args.grad_output, c);
    const auto grad = channels.Numbers(args.grad_input, c);
    const T mean = args.mean[c], std = scalar::Sqrt(scalar::Add(args.var[c], args.eps));
    const auto h = [&](scalar::RowPlace at) { return scalar::Standardized(x(at), mean, std); };
    const T of_bias = row.Sum(g);
    const T of_weight = row.Sum([&](scalar::RowPlace at) { return scalar::Mul(g(at), h(at)); });
    const T scale = scalar::Div(args.weight == nullptr ? T{1} : args.weight[c], std);
    const T bias_share = scalar::Mul(of_bias, channels.reciprocal);
    const T weight_share = scalar::Mul(of_weight, channels.reciprocal);
    row.Each([&](scalar::RowPlace at) {
      grad.Put(at, args.training ? scalar::GradOfNumber(g(at), h(at), scale, bias_share, weight_share)
                                 : scalar::Mul(scale, g(at)));
    });
    if (!row.IsFirst()) return;
    args.grad_weight[c] = of_weight;
    args.grad_bias[c] = of_bias;
  }
};

template <class Body, class T>
static void Run(const Place& place, const BatchNormArgs<T>& args) {
  const int64_t n = args.samples * args.places;
  const BatchNormChannels<T> channels{args, static_cast<T>(1.0 / static_cast<double>(n))};
  Loops starts;
  starts.Append(args.channels, args.places);
  ForRows<T, Body>(place, RowsArgs<BatchNormChannels<T>>{args.channels, n, args.order, channels},
                   AreSideBySide(starts, args.places == 1 ? args.channels : 1));
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
static void Run(const Place& place, const BatchNormUpdateArgs<T>& args) {
  Launch(place, args.channels, &UpdateKernel<T>, args);
}

REPDL_CUDA_KERNEL(BatchNormKernel, BatchNormArgs<float>) { Run<NormalizeChannel>(place, args); }
REPDL_CUDA_KERNEL(BatchNormKernel, BatchNormArgs<double>) { Run<NormalizeChannel>(place, args); }
REPDL_CUDA_KERNEL(BatchNormGradKernel, BatchNormArgs<float>) { Run<FillGradsOfChannel>(place, args); }
REPDL_CUDA_KERNEL(BatchNormGradKernel, BatchNormArgs<double>) { Run<FillGradsOfChannel>(place, args); }
REPDL_CUDA_KERNEL(BatchNormUpdateKernel, BatchNormUpdateArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(BatchNormUpdateKernel, BatchNormUpdateArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
