// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/adam/adam_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/adam/adam.lane.h"

template <class T>
static void Step(const AdamArgs<T>& args) {
  using V = VecOf<T>;
  const AdamConstants<T>& c = args.constants;
  ParallelRanges(args.n, 8192, [&](int64_t begin, int64_t end) HWY_ATTR {
    const TagOf<T> d;
    ForVectors<T>(end - begin, [&](int64_t offset, int64_t count) HWY_ATTR {
      const int64_t i = begin + offset;
      V param = LoadN(args.param + i, count);
      V exp_avg = LoadN(args.exp_avg + i, count);
      V exp_avg_sq = LoadN(args.exp_avg_sq + i, count);
      const V g = LoadN(args.grad + i, count);
      if (args.max_exp_avg_sq == nullptr) {
        AdamElement(d, c, g, param, exp_avg, exp_avg_sq, static_cast<V*>(nullptr));
      } else {
        V largest = LoadN(args.max_exp_avg_sq + i, count);
        AdamElement(d, c, g, param, exp_avg, exp_avg_sq, &largest);
        StoreN(largest, args.max_exp_avg_sq + i, count);
      }
      StoreN(param, args.param + i, count);
      StoreN(exp_avg, args.exp_avg + i, count);
      StoreN(exp_avg_sq, args.exp_avg_sq + i, count);
    });
  });
}

void AdamKernel(const AdamArgs<float>& args) { Step(args); }
void AdamKernel(const AdamArgs<double>& args) { Step(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
