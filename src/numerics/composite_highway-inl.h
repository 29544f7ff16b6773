// SPDX-License-Identifier: MIT
// The functions of composite.lane.h for Highway vectors.
#pragma once

#include "numerics/accurate_composite.h"
#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/composite.lane.h"

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
