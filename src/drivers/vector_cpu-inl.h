// SPDX-License-Identifier: MIT
// Runs of numbers that lie side by side in memory.
#pragma once

#include <algorithm>
#include <cstring>

#include "numerics/lanes/highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

inline constexpr int64_t kLanes = HWY_LANES(float);
/// Numbers in a cache line.
inline constexpr int64_t kLineFloats = 16;
using Vec = hn::Vec<FloatTag>;
using Mask = hn::Mask<FloatTag>;

#if HWY_TARGET == HWY_SVE_256 || HWY_TARGET == HWY_SVE2_128
#define REPDL_SVE
#endif

/// The same as elements of an array. The types of SVE have no size; those that have one convert to and from them.
#if defined(REPDL_SVE)
typedef Vec VecElement __attribute__((arm_sve_vector_bits(HWY_MAX_BYTES * 8)));
typedef Mask MaskElement __attribute__((arm_sve_vector_bits(HWY_MAX_BYTES * 8)));
#else
using VecElement = Vec;
using MaskElement = Mask;
#endif

/// The first `count` lanes from memory, the others `fill`; nothing behind them is read.
HWY_INLINE Vec LoadN(const float* p, int64_t count, float fill = 0.0f) {
  const FloatTag d;
  if (HWY_LIKELY(count >= kLanes)) return LoadU(d, p);
#if HWY_CAP_GE256  // a masked load of floats, which touches nothing else
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  return IfThenElse(mask, hn::MaskedLoad(mask, d, p), Set(d, fill));
#else
  HWY_ALIGN float buffer[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) buffer[i] = fill;
  std::memcpy(buffer, p, sizeof(float) * static_cast<size_t>(count));
  return Load(d, buffer);
#endif
}

/// The first `count` lanes to memory; nothing behind them is written.
HWY_INLINE void StoreN(Vec v, float* p, int64_t count) {
  const FloatTag d;
  if (HWY_LIKELY(count >= kLanes)) {
    StoreU(v, d, p);
    return;
  }
#if HWY_CAP_GE256
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN float buffer[kLanes];
  Store(v, d, buffer);
  std::memcpy(p, buffer, sizeof(float) * static_cast<size_t>(count));
#endif
}

/// A run of an operand side by side: itself if its elements are, else copied to the buffer.
HWY_INLINE const float* SideBySide(const float* x, int64_t stride, int64_t n, float* buffer) {
  if (stride == 1) return x;
  for (int64_t i = 0; i < n; ++i) buffer[i] = x[i * stride];
  return buffer;
}

/// Calls body(i, count) for runs of kLanes indices that cover [0, n); the last run may be shorter.
template <class Body>
HWY_INLINE void ForVectors(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
  if (i < n) body(i, n - i);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
