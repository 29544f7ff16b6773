// SPDX-License-Identifier: MIT
// Runs of low-precision numbers: widened exactly, rounded to nearest even.
#pragma once

#include "drivers/vector_cpu-inl.h"
#include "repdl/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

using HalfTag = hn::Rebind<uint16_t, FloatTag>;
using HalfBits = hn::Vec<hn::RebindToSigned<FloatTag>>;

/// Numbers of 16 bits.
template <DType kDType>
struct InHalves {
  using Stored = uint16_t;
  static constexpr DType kType = kDType;

  static HWY_INLINE Vec Load(const uint16_t* numbers) {
    const auto halves = LoadU(HalfTag(), numbers);
    if constexpr (kConverts) return Converted(halves);
    return Widen(hn::PromoteTo(hn::RebindToSigned<FloatTag>(), halves));
  }
  /// The first `count` lanes, the others +0; nothing behind them is read.
  static HWY_INLINE Vec LoadN(const uint16_t* numbers, int64_t count) {
    if (HWY_LIKELY(count >= kLanes)) return Load(numbers);
    uint16_t buffer[kLanes] = {};
    std::memcpy(buffer, numbers, sizeof(uint16_t) * static_cast<size_t>(count));
    return Load(buffer);
  }

  static constexpr int64_t kParts = 2;
  template <class F>
  static HWY_INLINE void ForParts(Vec lanes, const F& f) {
    const auto bits = BitCast(hn::RebindToSigned<FloatTag>(), lanes);
    f(0, Widen(bits));
    f(1, Widen(ShiftRight<16>(bits)));
  }

 private:
  /// Whether the CPU has an instruction for it, which makes quiet NaN of others: that does not show in a sum.
  static constexpr bool kConverts = kDType == DType::kFloat16 && HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;

  /// The number in the low half of each lane.
  static HWY_INLINE Vec Widen(HalfBits bits) {
    if constexpr (kConverts) {
      return Converted(hn::TruncateTo(HalfTag(), BitCast(hn::RebindToUnsigned<FloatTag>(), bits)));
    } else if constexpr (kDType == DType::kBFloat16) {
      return WidenBFloat16(bits);
    } else {
      return WidenFloat16(bits);
    }
  }
  static HWY_INLINE Vec Converted(hn::Vec<HalfTag> halves) {
    return hn::PromoteTo(FloatTag(), BitCast(hn::Rebind<hwy::float16_t, FloatTag>(), halves));
  }
};

/// f of the numbers of a type of 16 bits.
template <class F>
HWY_INLINE void WithHalves(DType dtype, const F& f) {
  if (dtype == DType::kBFloat16) {
    f.template operator()<InHalves<DType::kBFloat16>>();
  } else {
    f.template operator()<InHalves<DType::kFloat16>>();
  }
}

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
