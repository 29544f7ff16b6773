// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/tensor.h"

namespace repdl {

/// The dtype that holds numbers of type T as they are.
template <class T>
inline constexpr DType kDTypeOf = DType::kOther;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;

/// f.operator()<T>() for the type that numbers of this dtype are computed in: double for float64, else float.
template <class F>
void DispatchReal(DType dtype, const F& f) {
  if (dtype == DType::kFloat64) {
    f.template operator()<double>();
  } else {
    f.template operator()<float>();
  }
}

}  // namespace repdl
