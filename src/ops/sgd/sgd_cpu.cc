// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/sgd/sgd_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/sgd/sgd.lane.h"

void SgdKernel(const SgdArgs& args) {
  const SgdConstants& c = args.constants;
  ParallelRanges(args.n, 8192, [&](int64_t begin, int64_t end) HWY_ATTR {
    const FloatTag d;
    ForVectors(end - begin, [&](int64_t offset, int64_t count) HWY_ATTR {
      const int64_t i = begin + offset;
      Vec param = LoadN(args.param + i, count);
      const Vec g = LoadN(args.grad + i, count);
      if (args.buffer == nullptr) {
        SgdElement(d, c, g, param, static_cast<Vec*>(nullptr));
      } else {
        Vec buffer = c.first_step ? Zero(d) : LoadN(args.buffer + i, count);
        SgdElement(d, c, g, param, &buffer);
        StoreN(buffer, args.buffer + i, count);
      }
      StoreN(param, args.param + i, count);
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
