// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "repdl/error.h"
#include "repdl/tensor.h"

namespace repdl {

/// Calls visit(bits) for each element in row-major order, as digests read them: an unsigned integer of the element's
/// size, every NaN as the quiet one. Throws TypeError, naming `who`, for a dtype that has no digest.
template <class Visit>
void VisitElements(std::string_view who, const TensorView& tensor, const Visit& visit) {
  OpScratch scratch{Place()};
  const TensorView rows = Contiguous(tensor, scratch);
  const int64_t count = rows.numel();
  const auto visit_halves = [&](uint16_t infinity, uint16_t nan) {
    const auto* elements = rows.Data<const uint16_t>();
    for (int64_t i = 0; i < count; ++i) visit((elements[i] & 0x7fff) > infinity ? nan : elements[i]);
  };
  switch (tensor.dtype) {
    case DType::kFloat32: {
      const auto* elements = rows.Data<const float>();
      for (int64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<uint32_t>(elements[i]);
        visit((bits & 0x7fffffff) > 0x7f800000 ? uint32_t{0x7fc00000} : bits);
      }
      return;
    }
    case DType::kFloat64: {
      const auto* elements = rows.Data<const double>();
      for (int64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<uint64_t>(elements[i]);
        visit((bits & 0x7fffffffffffffff) > 0x7ff0000000000000 ? uint64_t{0x7ff8000000000000} : bits);
      }
      return;
    }
    case DType::kBFloat16: return visit_halves(0x7f80, 0x7fc0);
    case DType::kFloat16: return visit_halves(0x7c00, 0x7e00);
    case DType::kInt64: {
      const auto* elements = rows.Data<const int64_t>();
      for (int64_t i = 0; i < count; ++i) visit(static_cast<uint64_t>(elements[i]));
      return;
    }
    case DType::kBool: {
      const auto* elements = rows.Data<const uint8_t>();
      for (int64_t i = 0; i < count; ++i) visit(elements[i]);
      return;
    }
    default:
      throw TypeError(Message('[', who, "] tensor must be float32, float64, bfloat16, float16, int64 or bool, got ",
                              Name(tensor.dtype)));
  }
}

}  // namespace repdl
