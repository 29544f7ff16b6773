// SPDX-License-Identifier: MIT
#include "drivers/convert.h"
#include "drivers/long_sum_cpu-inl.h"
#include "drivers/reduce_pairs_cpu-inl.h"
#include "ops/sum/sum_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/sum/sum.row.h"

void SumKernel(const ReduceArgs& args) {
  if (IsLow(args.dtype)) {
    return WithHalves(args.dtype, [&]<class Halves>() { Reduce(args, HalvesRow<Halves>{args.X<uint16_t>()}); });
  }
  DispatchReal(args.dtype, [&]<class T>() {
    if (args.order == Order::kBlocked && ArePairs(args)) return ReducePairs<T>(args);
    Reduce(args, StoredRow{args.X<T>()});
  });
}

template <class T>
static void Norm(const NormArgs<T>& args) {
  const T* const x = args.x;
  const auto square = [x](int64_t i, int64_t count) HWY_ATTR { return SquareOf(LoadN(x + i, count)); };
  *args.output = EndSum(SumOnThreads<T>(args.n, args.order, square), {.root = true});
}

void NormKernel(const NormArgs<float>& args) { Norm(args); }
void NormKernel(const NormArgs<double>& args) { Norm(args); }

void SquaredDistanceKernel(const MapArgs& args) {
  constexpr int64_t kGrain = 8192;
  DispatchReal(args.output_dtype, [&]<class T>() {
    Map<2, T>(args, kGrain, [](VecOf<T> x, VecOf<T> c) HWY_ATTR { return SquaredDistance(x, c); });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
