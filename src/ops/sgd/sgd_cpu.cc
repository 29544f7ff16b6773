// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"
#include "ops/sgd/sgd_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/sgd/sgd.lane.h"

template <class T>
static void Step(const SgdArgs<T>& args) {
  using V = VecOf<T>;
  const SgdConstants<T>& c = args.constants;
  ParallelRanges(args.n, 8192, [&](int64_t begin, int64_t end) HWY_ATTR {
    const TagOf<T> d;
    ForVectors<T>(end - begin, [&](int64_t offset, int64_t count) HWY_ATTR {
      const int64_t i = begin + offset;
      V param = LoadN(args.param + i, count);
      const V g = LoadN(args.grad + i, count);
      if (args.buffer == nullptr) {
        SgdElement(d, c, g, param, static_cast<V*>(nullptr));
      } else {
        V buffer = c.first_step ? Zero(d) : LoadN(args.buffer + i, count);
        SgdElement(d, c, g, param, &buffer);
        StoreN(buffer, args.buffer + i, count);
      }
      StoreN(param, args.param + i, count);
    });
  });
}

void SgdKernel(const SgdArgs<float>& args) { Step(args); }
void SgdKernel(const SgdArgs<double>& args) { Step(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
