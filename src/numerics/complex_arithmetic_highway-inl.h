// SPDX-License-Identifier: MIT
// Products and other arithmetic of complex numbers for Highway vectors, without the functions of complex_highway-inl.h.
#pragma once

#include "numerics/lanes/highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/functions/complex_arithmetic.lane.h"

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
