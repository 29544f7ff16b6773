// SPDX-License-Identifier: MIT
// Whether zeros in the place of absent terms may show in results.
#pragma once

#include <atomic>
#include <type_traits>

#include "base/parallel.h"
#include "drivers/vector_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

/// Finds numbers that may come of a zero in the place of an absent term: NaN and zeros.
template <class T>
class Doubts {
 public:
  Doubts() : largest_(Zero(TagOf<T>())) {}
  HWY_INLINE void Look(std::type_identity_t<VecOf<T>> values) {
    const Unsigned d;
    // Without its sign, less 1: 0 becomes the largest number, and NaN stays larger than all others.
    const auto bits = hn::Sub(hn::And(hn::BitCast(d, values), hn::Set(d, kMost)), hn::Set(d, 1));
    largest_ = hn::BitCast(TagOf<T>(), hn::Max(hn::BitCast(d, VecOf<T>(largest_)), bits));
  }
  bool Found() const {
    const Unsigned d;
    return !hn::AllTrue(d, hn::Lt(hn::BitCast(d, VecOf<T>(largest_)), hn::Set(d, kInfinity)));
  }

 private:
  using Unsigned = hn::RebindToUnsigned<TagOf<T>>;
  using Bits = hn::TFromD<Unsigned>;
  static constexpr Bits kMost = static_cast<Bits>(-1) >> 1;
  static constexpr Bits kInfinity = kMost & ~(kMost >> (sizeof(T) == 4 ? 8 : 11));

  VecElementOf<T> largest_;  // of the bits, as numbers
};

/// Whether a number is NaN or a zero.
template <class T>
bool HasDoubt(const T* numbers, int64_t count) {
  std::atomic<bool> found = false;
  ParallelRanges(count, 1 << 14, [&](int64_t begin, int64_t end) HWY_ATTR {
    Doubts<T> doubts;
    ForVectors<T>(end - begin,
                  [&](int64_t i, int64_t n) HWY_ATTR { doubts.Look(LoadN(numbers + begin + i, n, T{1})); });
    if (doubts.Found()) found.store(true, std::memory_order_relaxed);
  });
  return found.load();
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
