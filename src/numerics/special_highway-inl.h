// SPDX-License-Identifier: MIT
// The special functions for Highway vectors.
#pragma once

#include "numerics/accurate_special.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/special.lane.h"

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
