// SPDX-License-Identifier: MIT
// Runs of low-precision numbers: widened exactly, rounded to nearest even.
#pragma once

#include "drivers/vector_cpu-inl.h"
#include "repdl/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

using HalfTag = hn::Rebind<uint16_t, FloatTag>;
using HalfBits = hn::Vec<hn::RebindToSigned<FloatTag>>;

template <class Convert>
HWY_INLINE void WidenRun(const uint16_t* x, float* y, int64_t n, const Convert& convert) {
  const FloatTag d;
  const HalfTag d16;
  constexpr int64_t kStep = HWY_LANES(float);
  const auto widen = [&](const uint16_t* from, float* to) HWY_ATTR {
    StoreU(convert(hn::PromoteTo(hn::RebindToSigned<FloatTag>(), LoadU(d16, from))), d, to);
  };
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) widen(x + i, y + i);
  if (i == n) return;
  uint16_t from[kStep] = {};
  float to[kStep];
  std::copy(x + i, x + n, from);
  widen(from, to);
  std::copy(to, to + (n - i), y + i);
}

template <class Convert>
HWY_INLINE void NarrowRun(const float* x, uint16_t* y, int64_t n, const Convert& convert) {
  const FloatTag d;
  const HalfTag d16;
  const hn::RebindToUnsigned<FloatTag> d32;
  constexpr int64_t kStep = HWY_LANES(float);
  const auto narrow = [&](const float* from, uint16_t* to) HWY_ATTR {
    const auto bits = And(BitCast(d32, convert(LoadU(d, from))), Set(d32, 0xffff));
    StoreU(hn::DemoteTo(d16, BitCast(hn::RebindToSigned<FloatTag>(), bits)), d16, to);
  };
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) narrow(x + i, y + i);
  if (i == n) return;
  float from[kStep] = {};
  uint16_t to[kStep];
  std::copy(x + i, x + n, from);
  narrow(from, to);
  std::copy(to, to + (n - i), y + i);
}

/// n floats of bfloat16 or float16.
inline HWY_MAYBE_UNUSED void WidenTo(DType dtype, const uint16_t* x, float* y, int64_t n) {
  if (dtype == DType::kBFloat16) {
    WidenRun(x, y, n, [](HalfBits bits) HWY_ATTR { return WidenBFloat16(bits); });
  } else {
    WidenRun(x, y, n, [](HalfBits bits) HWY_ATTR { return WidenFloat16(bits); });
  }
}

/// n elements as floats side by side: the memory itself where it holds that, else the buffer.
inline HWY_MAYBE_UNUSED const float* NumbersSideBySide(const void* data, DType dtype, int64_t offset, int64_t stride,
                                                       int64_t n, float* buffer) {
  if (dtype == DType::kFloat32) {
    return SideBySide(static_cast<const float*>(data) + offset, stride, n, buffer);
  }
  const uint16_t* const x = static_cast<const uint16_t*>(data) + offset;
  if (stride == 1) {
    WidenTo(dtype, x, buffer, n);
    return buffer;
  }
  constexpr int64_t kPiece = 64;
  uint16_t piece[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    for (int64_t j = 0; j < count; ++j) piece[j] = x[(i + j) * stride];
    WidenTo(dtype, piece, buffer + i, count);
  }
  return buffer;
}

/// Of float64 there is only the one type.
inline HWY_MAYBE_UNUSED const double* NumbersSideBySide(const void* data, DType, int64_t offset, int64_t stride,
                                                        int64_t n, double* buffer) {
  return SideBySide(static_cast<const double*>(data) + offset, stride, n, buffer);
}

/// n floats, rounded to bfloat16 or float16.
inline HWY_MAYBE_UNUSED void NarrowTo(DType dtype, const float* x, uint16_t* y, int64_t n) {
  using V = hn::Vec<FloatTag>;
  if (dtype == DType::kBFloat16) {
    NarrowRun(x, y, n, [](V v) HWY_ATTR { return NarrowBFloat16(v); });
  } else {
    NarrowRun(x, y, n, [](V v) HWY_ATTR { return NarrowFloat16(v); });
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
