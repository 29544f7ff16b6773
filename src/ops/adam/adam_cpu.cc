// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/adam/adam_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/adam/adam.lane.h"

void AdamKernel(const AdamArgs& args) {
  const AdamConstants& c = args.constants;
  ParallelRanges(args.n, 8192, [&](int64_t begin, int64_t end) HWY_ATTR {
    const FloatTag d;
    ForVectors(end - begin, [&](int64_t offset, int64_t count) HWY_ATTR {
      const int64_t i = begin + offset;
      Vec param = LoadN(args.param + i, count);
      Vec exp_avg = LoadN(args.exp_avg + i, count);
      Vec exp_avg_sq = LoadN(args.exp_avg_sq + i, count);
      const Vec g = LoadN(args.grad + i, count);
      if (args.max_exp_avg_sq == nullptr) {
        AdamElement(d, c, g, param, exp_avg, exp_avg_sq, static_cast<Vec*>(nullptr));
      } else {
        Vec largest = LoadN(args.max_exp_avg_sq + i, count);
        AdamElement(d, c, g, param, exp_avg, exp_avg_sq, &largest);
        StoreN(largest, args.max_exp_avg_sq + i, count);
      }
      StoreN(param, args.param + i, count);
      StoreN(exp_avg, args.exp_avg + i, count);
      StoreN(exp_avg_sq, args.exp_avg_sq + i, count);
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
