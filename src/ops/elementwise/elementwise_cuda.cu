// SPDX-License-Identifier: MIT
#include "drivers/map_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/elementwise/elementwise_kernel.h"

namespace repdl::cuda {

#define REPDL_UNARY(op, Function)                                              \
  struct Function##Lane {                                                      \
    REPDL_LANE float operator()(float x) const { return scalar::Function(x); } \
  };                                                                           \
  void Function##Kernel(const Place& place, const MapArgs& args) { Map<1, Function##Lane>(place, args); }
#include "repdl/ops/unary.def"
#undef REPDL_UNARY

#define REPDL_BINARY(op, Function, first, second)                                          \
  struct Function##Lane {                                                                  \
    REPDL_LANE float operator()(float x, float y) const { return scalar::Function(x, y); } \
  };                                                                                       \
  void Function##Kernel(const Place& place, const MapArgs& args) { Map<2, Function##Lane>(place, args); }
#include "repdl/ops/binary.def"
#undef REPDL_BINARY

}  // namespace repdl::cuda
