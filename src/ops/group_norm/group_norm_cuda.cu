// SPDX-License-Identifier: MIT
#include "drivers/sum_cuda.h"
#include "ops/group_norm/group_norm_kernel.h"

namespace repdl::scalar {

#include "ops/layer_norm/layer_norm.row.h"

}  // namespace repdl::scalar

namespace repdl::cuda {

/// Terms of a channel, sample by sample: of the gradient of its weight, or of its bias.
template <class T, bool kOfWeight>
struct TermsOfChannel {
  GroupNormGradArgs<T> args;
  int64_t channel;

  REPDL_ROW T operator()(scalar::RowPlace at) const {
    int64_t sample = at.index;
    const int64_t place = scalar::TakeRemainder(sample, args.places);
    const int64_t i = (sample * args.channels + channel) * args.places + place;
    if constexpr (!kOfWeight) return args.grad_output[i];
    const int64_t group = sample * args.groups + channel / (args.channels / args.groups);
    return scalar::LayerNormWeightTerm(args.grad_output[i], args.input[i], args.mean[group], args.rstd[group]);
  }
};

template <class T, bool kOfWeight>
struct TermsOfChannels {
  GroupNormGradArgs<T> args;

  REPDL_ROW TermsOfChannel<T, kOfWeight> operator()(int64_t channel) const { return {args, channel}; }
};

template <class T>
static void FillGrads(const Place& place, const GroupNormGradArgs<T>& args) {
  const auto fill = [&](const auto& terms, T* out) {
    Sums(place, args.channels, args.samples * args.places, args.order, terms, {}, out);
  };
  fill(TermsOfChannels<T, true>{args}, args.grad_weight);
  fill(TermsOfChannels<T, false>{args}, args.grad_bias);
}

REPDL_CUDA_KERNEL(GroupNormGradKernel, GroupNormGradArgs<float>) { FillGrads(place, args); }
REPDL_CUDA_KERNEL(GroupNormGradKernel, GroupNormGradArgs<double>) { FillGrads(place, args); }

}  // namespace repdl::cuda
