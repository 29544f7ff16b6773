// SPDX-License-Identifier: MIT
// The functions of src/numerics for Highway vectors.
#pragma once

#include "numerics/accurate.h"
#include "numerics/lanes/highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "numerics/functions.lane.h"

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
