// SPDX-License-Identifier: MIT
// The special functions of two numbers for Highway vectors.
#pragma once

#include "numerics/special_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/special_of_two.lane.h"

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
