// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/group_norm/group_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/layer_norm/layer_norm.row.h"

namespace {

/// Sum(term(g, x, mean, rstd)) over the samples and places of a channel; term takes and gives vectors.
template <class T, class Term>
T SumOfChannel(const GroupNormGradArgs<T>& args, int64_t channel, const Term& term) {
  const TagOf<T> d;
  const int64_t group = channel / (args.channels / args.groups);
  HWY_ALIGN T terms[kSumChunk];
  return SumTerms<T>(args.samples * args.places, args.order, [&](int64_t begin, int64_t count) HWY_ATTR {
    for (int64_t done = 0, n; done < count; done += n) {
      const int64_t sample = (begin + done) / args.places, place = (begin + done) % args.places;
      n = std::min(count - done, args.places - place);
      const int64_t at = (sample * args.channels + channel) * args.places + place;
      const VecOf<T> mean = Set(d, args.mean[sample * args.groups + group]);
      const VecOf<T> rstd = Set(d, args.rstd[sample * args.groups + group]);
      ForVectors<T>(n, [&](int64_t i, int64_t length) HWY_ATTR {
        const VecOf<T> g = LoadN(args.grad_output + at + i, length), x = LoadN(args.input + at + i, length);
        StoreN(term(g, x, mean, rstd), terms + done + i, length);
      });
    }
    return terms;
  });
}

template <class T>
void FillGrads(const GroupNormGradArgs<T>& args) {
  ParallelRanges(args.channels, 8192 / (args.samples * args.places) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t c = begin; c < end; ++c) {
      args.grad_weight[c] = SumOfChannel(args, c, [](VecOf<T> g, VecOf<T> x, VecOf<T> mean, VecOf<T> rstd) HWY_ATTR {
        return LayerNormWeightTerm(g, x, mean, rstd);
      });
      args.grad_bias[c] = SumOfChannel(args, c, [](VecOf<T> g, VecOf<T>, VecOf<T>, VecOf<T>) HWY_ATTR { return g; });
    }
  });
}

}  // namespace

void GroupNormGradKernel(const GroupNormGradArgs<float>& args) { FillGrads(args); }
void GroupNormGradKernel(const GroupNormGradArgs<double>& args) { FillGrads(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
