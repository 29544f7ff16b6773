// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>

#include "base/kernel.h"
#include "drivers/reduce.h"
#include "ops/fft/fft_plan.h"

namespace repdl {

enum class FftKind {
  kComplex,
  kFromReal,   // of an odd length: without imaginary parts, and the first half of the result is kept
  kFromPairs,  // real numbers of an even length as half as many complex ones
  kToReal,     // the same back
  kToPairs,
};

/// The complex numbers of a row: their parts, `step` apart. Without imaginary parts they are real.
template <class T>
struct FftRow {
  T* real;
  T* imaginary;
  int64_t step;

  FftRow Swapped() const { return {imaginary, real, step}; }
};

/// Transforms of rows along one dimension. Each row is read before it is written, so that `out` may be `in`.
template <class T>
struct FftArgs {
  FftTable<T> table;
  const T* untangling;
  FftKind kind;
  bool inverse;  // of complex numbers
  int64_t num_rows;
  FftRow<const T> in;  // of the first row
  FftRow<T> out;
  Loops in_starts, out_starts;
  T divisor;
  T reciprocal;  // 0 unless a product with it is the quotient
};

/// Fills the second half of a spectrum of real numbers: element k is the conjugate of element -k of all that are
/// transformed.
template <class T>
struct FftMirrorArgs {
  T* data;
  IntList shape, strides;  // of complex numbers; the strides count Ts
  bool is_transformed[kMaxRank];
  int last;  // the dimension that was transformed first
};

static_assert(std::is_trivially_copyable_v<FftArgs<float>> && std::is_trivially_copyable_v<FftMirrorArgs<float>>);

REPDL_REAL_KERNEL(FftKernel, FftArgs)
REPDL_REAL_KERNEL(FftMirrorKernel, FftMirrorArgs)

}  // namespace repdl
