// SPDX-License-Identifier: MIT
#include "drivers/map_cpu-inl.h"
#include "numerics/functions_highway-inl.h"
#include "ops/elementwise/elementwise_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

// 3 µs of work at the memory's pace.
constexpr int64_t kGrain = 8192;

#define REPDL_UNARY(op, Function)                                     \
  void Function##Kernel(const MapArgs& args) {                        \
    Map<1>(args, kGrain, [](Vec x) HWY_ATTR { return Function(x); }); \
  }
#include "repdl/ops/unary.def"
#undef REPDL_UNARY

#define REPDL_BINARY(op, Function, first, second)                               \
  void Function##Kernel(const MapArgs& args) {                                  \
    Map<2>(args, kGrain, [](Vec x, Vec y) HWY_ATTR { return Function(x, y); }); \
  }
#include "repdl/ops/binary.def"
#undef REPDL_BINARY

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
