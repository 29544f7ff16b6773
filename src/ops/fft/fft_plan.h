// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

namespace repdl {

/// The tables of complex transforms of n numbers. The pointers belong to an FftPlan, in memory of the CPU. A table of complex numbers is a
/// run of real parts and one of imaginary parts.
template <class T>
struct FftTable {
  static constexpr int kMaxFactors = 40;

  int64_t n;
  /// What the steps transform: n numbers, or those of a convolution.
  int64_t length;
  int num_factors;
  int64_t factors[kMaxFactors];
  /// Of each factor p, with l the product of those before: w(lp)^(qk) for 0 < q < p, and in each row for k < l; nullptr
  /// for the first factor.
  const T* roots[kMaxFactors];
  /// Of each odd factor: the cosines of jq / p turns for 0 < q < p / 2, and in each row for 0 < j < p / 2; then the
  /// sines.
  const T* inside[kMaxFactors];
  /// The factors before this one make `rows` numbers, the others `columns`, of about the same size; 0 for none.
  int split;
  int64_t rows, columns;

  // Of a convolution, else nullptr: u[k] for k < n, and the transform of 1 / u.
  const T* chirp;
  const T* kernel;
};

/// The tables of transforms of n numbers, complex or real. Real ones of an even n go by complex ones of n / 2.
template <class T>
class FftPlan {
 public:
  virtual ~FftPlan() = default;
  FftTable<T> complex;
  /// Of an even n and real numbers: -i w(n)^k for k <= n / 2.
  const T* untangling = nullptr;
};

/// Plans are kept while their tables are of some size together, the last used ones longest.
template <class T>
std::shared_ptr<const FftPlan<T>> FftPlanOf(int64_t n, bool real);

/// The largest length: with it no index of a table overflows.
inline constexpr int64_t kMaxFftLength = int64_t{1} << 40;

/// A prime factor above this makes the transform a convolution.
inline constexpr int64_t kMaxFftFactor = 31;

}  // namespace repdl
