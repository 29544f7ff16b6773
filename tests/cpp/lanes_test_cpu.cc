// SPDX-License-Identifier: MIT
#include "cpp/lanes_probe.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

void ProbeFma(const FmaProbe& args) {
  ForVectors(args.n, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN(Fma(LoadN(args.a + i, count), LoadN(args.b + i, count), LoadN(args.c + i, count)), args.out + i, count);
  });
}

void ProbeFmaDouble(const FmaDoubleProbe& args) {
  ForVectors<double>(args.n, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN(Fma(LoadN(args.a + i, count), LoadN(args.b + i, count), LoadN(args.c + i, count)), args.out + i, count);
  });
}

void ProbeTarget(const TargetProbe& args) {
  *args.lanes = kLanes;
  *args.highway_target = HWY_TARGET;
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
