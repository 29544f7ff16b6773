// SPDX-License-Identifier: MIT
// Runs of numbers that lie side by side in memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/dispatch.h"
#include "numerics/lanes/highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SVE_256 || HWY_TARGET == HWY_SVE2_128
#define REPDL_SVE
#endif

/// Vectors of T, which is float or double.
template <class T>
struct VectorOf {
  using Tag = hn::ScalableTag<T>;
  using V = hn::Vec<Tag>;
  using M = hn::Mask<Tag>;
};

/// The same as elements of an array. The types of SVE have no size; those that have one convert to and from them.
#if defined(REPDL_SVE)
template <class T>
struct ElementOf;
#define REPDL_ELEMENTS_OF(T)                                                          \
  template <>                                                                         \
  struct ElementOf<T> {                                                               \
    typedef VectorOf<T>::V V __attribute__((arm_sve_vector_bits(HWY_MAX_BYTES * 8))); \
    typedef VectorOf<T>::M M __attribute__((arm_sve_vector_bits(HWY_MAX_BYTES * 8))); \
  };
REPDL_ELEMENTS_OF(float)
REPDL_ELEMENTS_OF(double)
#undef REPDL_ELEMENTS_OF
#else
template <class T>
using ElementOf = VectorOf<T>;
#endif

/// Numbers in a vector.
template <class T>
inline constexpr int64_t kLanesOf = HWY_LANES(T);
/// Numbers in a cache line.
template <class T>
inline constexpr int64_t kLineOf = 64 / sizeof(T);

template <class T>
using TagOf = typename VectorOf<T>::Tag;
template <class T>
using VecOf = typename VectorOf<T>::V;
template <class T>
using MaskOf = typename VectorOf<T>::M;
template <class T>
using VecElementOf = typename ElementOf<T>::V;
template <class T>
using MaskElementOf = typename ElementOf<T>::M;

// Of floats.
inline constexpr int64_t kLanes = kLanesOf<float>;
using Vec = VecOf<float>;
using VecElement = VecElementOf<float>;

/// The first `count` lanes from memory, the others `fill`; nothing behind them is read.
template <class T>
HWY_INLINE VecOf<T> LoadN(const T* p, int64_t count, std::type_identity_t<T> fill = 0) {
  const TagOf<T> d;
  if (HWY_LIKELY(count >= kLanesOf<T>)) return LoadU(d, p);
#if HWY_CAP_GE256  // a masked load, which touches nothing else
  const auto mask = hn::FirstN(d, static_cast<size_t>(count));
  return IfThenElse(mask, hn::MaskedLoad(mask, d, p), Set(d, fill));
#else
  HWY_ALIGN T buffer[kLanesOf<T>];
  for (int64_t i = 0; i < kLanesOf<T>; ++i) buffer[i] = fill;
  std::memcpy(buffer, p, sizeof(T) * static_cast<size_t>(count));
  return Load(d, buffer);
#endif
}

/// The first `count` lanes to memory; nothing behind them is written.
template <class T>
HWY_INLINE void StoreN(std::type_identity_t<VecOf<T>> v, T* p, int64_t count) {
  const TagOf<T> d;
  if (HWY_LIKELY(count >= kLanesOf<T>)) {
    StoreU(v, d, p);
    return;
  }
#if HWY_CAP_GE256
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
#else
  HWY_ALIGN T buffer[kLanesOf<T>];
  Store(v, d, buffer);
  std::memcpy(p, buffer, sizeof(T) * static_cast<size_t>(count));
#endif
}

/// A run of an operand side by side: itself if its elements are, else copied to the buffer.
template <class T>
HWY_INLINE const T* SideBySide(const T* x, int64_t stride, int64_t n, T* buffer) {
  if (stride == 1) return x;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (stride == 2) {
    const TagOf<T> d;
    // The number behind the last one may be nobody's.
    for (VecOf<T> even, odd; i + kLanesOf<T> < n; i += kLanesOf<T>) {
      hn::LoadInterleaved2(d, x + 2 * i, even, odd);
      StoreU(even, d, buffer + i);
    }
  }
#endif
  for (; i + 4 <= n; i += 4) {
    const T* const from = x + i * stride;
    const T a = from[0], b = from[stride], c = from[2 * stride], e = from[3 * stride];
    buffer[i] = a, buffer[i + 1] = b, buffer[i + 2] = c, buffer[i + 3] = e;
  }
  for (; i < n; ++i) buffer[i] = x[i * stride];
  return buffer;
}

/// Calls body(i, count) for runs of a vector's length that cover [0, n); the last run may be shorter.
template <class T = float, class Body>
HWY_INLINE void ForVectors(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanesOf<T> <= n; i += kLanesOf<T>) body(i, kLanesOf<T>);
  if (i < n) body(i, n - i);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
