// SPDX-License-Identifier: MIT
#include "drivers/reduce_pairs_cpu-inl.h"
#include "ops/sum/sum_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void SumKernel(const ReduceArgs& args) {
  DispatchReal(args.dtype, [&]<class T>() {
    if (args.order == Order::kBlocked && ArePairs(args)) return ReducePairs<T>(args);
    Reduce<T>(args);
  });
}

template <class T>
static void Norm(const NormArgs<T>& args) {
  const T* const x = args.x;
  const auto square = [x](int64_t i, int64_t count) HWY_ATTR {
    const VecOf<T> v = LoadN(x + i, count);
    return Mul(v, v);
  };
  T sum;
  if (const int64_t num_chunks = Chunks(args.n, kSumChunk).count; args.order == Order::kBlocked && num_chunks > 8) {
    Scratch scratch;
    T* const values = scratch.Get<T>(num_chunks);
    ParallelRanges(num_chunks, 8, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t c = begin; c < end; ++c) {
        const int64_t first = c * kSumChunk;
        values[c] = SumChunkOf<T>(std::min(kSumChunk, args.n - first),
                                  [&](int64_t i, int64_t count) HWY_ATTR { return square(first + i, count); });
      }
    });
    sum = SumChunks<T>(args.n, [&](int64_t begin, int64_t) { return values[begin / kSumChunk]; });
  } else {
    sum = SumOf<T>(args.n, args.order, square);
  }
  *args.output = EndSum(sum, {.root = true});
}

void NormKernel(const NormArgs<float>& args) { Norm(args); }
void NormKernel(const NormArgs<double>& args) { Norm(args); }

void SquaredDistanceKernel(const MapArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.output_dtype, [&]<class T>() {
    Map<2, T>(args, kGrain, [](VecOf<T> x, VecOf<T> c) HWY_ATTR {
      const VecOf<T> away = Sub(x, c);
      return Mul(away, away);
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
