// SPDX-License-Identifier: MIT
#include "drivers/pairs_cpu-inl.h"
#include "numerics/complex_highway-inl.h"
#include "ops/complex/complex_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

constexpr int64_t kGrain = 2048;

#define REPDL_COMPLEX_UNARY(op, Function, Lanes) \
  void Function##Kernel(const PairsArgs& args) { MapPairs<1, Lanes, Function>(args.map, args.part_strides, kGrain); }
#define REPDL_COMPLEX_BINARY(op, Function, Lanes, first, second) \
  void Function##Kernel(const PairsArgs& args) { MapPairs<2, Lanes, Function>(args.map, args.part_strides, kGrain); }
#include "repdl/ops/complex.def"
#undef REPDL_COMPLEX_UNARY
#undef REPDL_COMPLEX_BINARY

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
