// SPDX-License-Identifier: MIT
// The functions of complex numbers for Highway vectors.
#pragma once

#include "numerics/functions_highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

template <class D>
inline constexpr bool kIsFloats = std::is_same_v<hn::TFromD<D>, float>;

#include "numerics/complex.lane.h"

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
