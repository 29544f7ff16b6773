// SPDX-License-Identifier: MIT
#pragma once

#include "ops/philox/philox_kernel.h"

namespace repdl {

struct PhiloxUniformDoubleConstants {
  double low, range, highest;
};

using PhiloxLogNormalConstants = PhiloxNormalConstants;

struct PhiloxCauchyConstants {
  float median, sigma;
};

struct PhiloxGeometricConstants {
  float p, highest;
};

#define REPDL_PHILOX_KERNEL(Name) \
  struct Name##Args {             \
    PhiloxArgs philox;            \
    Name##Constants constants;    \
  };                              \
  REPDL_KERNEL(Name##Kernel, Name##Args)
REPDL_PHILOX_KERNEL(PhiloxUniformDouble)
REPDL_PHILOX_KERNEL(PhiloxLogNormal)
REPDL_PHILOX_KERNEL(PhiloxCauchy)
REPDL_PHILOX_KERNEL(PhiloxGeometric)
#undef REPDL_PHILOX_KERNEL

}  // namespace repdl
