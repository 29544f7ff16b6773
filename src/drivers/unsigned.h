// SPDX-License-Identifier: MIT
// Integers of all sizes, which are added and multiplied as unsigned ones.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "repdl/tensor.h"

namespace repdl {

inline constexpr DTypes kIntegers = {DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64};

/// TypeError unless it has integers of the type of `like`, on its device. `for_floats` is the op of floating-point numbers.
inline void CheckInteger(const ArgName& name, const TensorView& tensor, const TensorView& like,
                         std::string_view for_floats) {
  if (!kIntegers.Has(tensor.dtype)) {
    throw TypeError(Message(name, " must be ", Name(kIntegers), ", got ", Name(tensor.dtype),
                            "; convert it first, with .to(torch.int64) or .astype('int64'), or use ", for_floats,
                            " for floating-point numbers"));
  }
  CheckDType(name, tensor, like.dtype);
  CheckSameDevice(name, tensor, like);
}

/// f.operator()<U>() for the unsigned integers that are as large as those of the dtype.
template <class F>
void DispatchUnsigned(DType dtype, const F& f) {
  switch (ItemSize(dtype)) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    default: return f.template operator()<uint64_t>();
  }
}

}  // namespace repdl
