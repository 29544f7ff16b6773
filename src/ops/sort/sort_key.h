// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

#include "numerics/order.h"
#include "repdl/tensor.h"

namespace repdl {

// A key is an unsigned integer that has the order of the elements: equal elements have one key, NaN the largest one.

template <class Bits_, class Key_, Bits_ kInfinity>
struct FloatKeys {
  using Bits = Bits_;
  using Key = Key_;
  static constexpr bool kHasNan = true;
  static constexpr Key kNan = std::numeric_limits<Bits>::max();
  REPDL_WALK static Key Of(Bits bits) {
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    const Bits size = bits & static_cast<Bits>(~kSign);
    const Bits number = size == 0 ? Bits{0} : bits;
    const Bits key = (number & kSign) != 0 ? static_cast<Bits>(~number) : static_cast<Bits>(number | kSign);
    return size > kInfinity ? kNan : Key{key};
  }
};

template <class Bits_, class Key_, Bits_ kSign>
struct IntegerKeys {
  using Bits = Bits_;
  using Key = Key_;
  static constexpr bool kHasNan = false;
  REPDL_WALK static Key Of(Bits bits) { return Key{static_cast<Bits>(bits ^ kSign)}; }
};

/// f.operator()<Keys>() for the dtype.
template <class F>
void DispatchKeys(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kFloat32: return f.template operator()<FloatKeys<uint32_t, uint32_t, 0x7f800000>>();
    case DType::kFloat64: return f.template operator()<FloatKeys<uint64_t, uint64_t, 0x7ff0000000000000>>();
    case DType::kBFloat16: return f.template operator()<FloatKeys<uint16_t, uint32_t, 0x7f80>>();
    case DType::kFloat16: return f.template operator()<FloatKeys<uint16_t, uint32_t, 0x7c00>>();
    case DType::kInt8: return f.template operator()<IntegerKeys<uint8_t, uint32_t, 0x80>>();
    case DType::kInt16: return f.template operator()<IntegerKeys<uint16_t, uint32_t, 0x8000>>();
    case DType::kInt32: return f.template operator()<IntegerKeys<uint32_t, uint32_t, 0x80000000>>();
    case DType::kInt64: return f.template operator()<IntegerKeys<uint64_t, uint64_t, uint64_t{1} << 63>>();
    case DType::kUInt8: return f.template operator()<IntegerKeys<uint8_t, uint32_t, 0>>();
    default: return;  // which no op takes
  }
}

}  // namespace repdl
