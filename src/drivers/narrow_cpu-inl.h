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

  /// The first `count` lanes, rounded.
  static HWY_INLINE void StoreN(Vec lanes, uint16_t* numbers, int64_t count) {
    const auto halves = Narrow(lanes);
    if (HWY_LIKELY(count >= kLanes)) return StoreU(halves, HalfTag(), numbers);
    uint16_t buffer[kLanes];
    StoreU(halves, HalfTag(), buffer);
    std::memcpy(numbers, buffer, sizeof(uint16_t) * static_cast<size_t>(count));
  }

  static constexpr int64_t kParts = 2;
  template <class F>
  static HWY_INLINE void ForParts(Vec lanes, const F& f) {
    const auto bits = BitCast(hn::RebindToSigned<FloatTag>(), lanes);
    f(0, Widen(bits));
    f(1, Widen(ShiftRight<16>(bits)));
  }

 private:
  /// Whether the CPU has instructions for it, which make other NaN of NaN.
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

  static HWY_INLINE hn::Vec<HalfTag> Narrow(Vec lanes) {
    if constexpr (kConverts) {
      return BitCast(HalfTag(), hn::DemoteTo(hn::Rebind<hwy::float16_t, FloatTag>(), lanes));
    } else {
      const hn::RebindToUnsigned<FloatTag> d;
      const auto rounded = kDType == DType::kBFloat16 ? NarrowBFloat16(lanes) : NarrowFloat16(lanes);
      return hn::TruncateTo(HalfTag(), BitCast(d, rounded));
    }
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

template <class Halves>
HWY_INLINE void WidenRun(const uint16_t* x, float* y, int64_t n) {
  ForVectors<float>(n, [&](int64_t i, int64_t count) HWY_ATTR { StoreN(Halves::LoadN(x + i, count), y + i, count); });
}

template <class Halves>
HWY_INLINE void NarrowRun(const float* x, uint16_t* y, int64_t n) {
  ForVectors<float>(n, [&](int64_t i, int64_t count) HWY_ATTR { Halves::StoreN(LoadN(x + i, count), y + i, count); });
}

/// n floats of bfloat16 or float16.
inline HWY_MAYBE_UNUSED void WidenTo(DType dtype, const uint16_t* x, float* y, int64_t n) {
  WithHalves(dtype, [&]<class Halves>() HWY_ATTR { WidenRun<Halves>(x, y, n); });
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
  WithHalves(dtype, [&]<class Halves>() HWY_ATTR { NarrowRun<Halves>(x, y, n); });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
