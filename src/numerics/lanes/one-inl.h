// SPDX-License-Identifier: MIT
// Lane words for one number beside those for vectors, for texts that CUDA kernels have in the words of scalar.h.
#pragma once

#include <cstring>

#include "numerics/lanes/highway-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#define REPDL_WORDS_FOR_ONE(T, fabs)                                                  \
  REPDL_LANE T Add(T a, T b) { return a + b; }                                        \
  REPDL_LANE T Sub(T a, T b) { return a - b; }                                        \
  REPDL_LANE T Mul(T a, T b) { return a * b; }                                        \
  REPDL_LANE T Div(T a, T b) { return a / b; }                                        \
  REPDL_LANE T Neg(T a) { return -a; }                                                \
  REPDL_LANE T Abs(T a) { return fabs(a); }                                           \
  REPDL_LANE T Sqrt(T a) { return hn::GetLane(Sqrt(Set(hn::CappedTag<T, 1>(), a))); } \
  REPDL_LANE T Fma(T a, T b, T c) {                                                   \
    const hn::ScalableTag<T> d; /* without hardware parts of vectors are taken */     \
    return hn::GetLane(Fma(Set(d, a), Set(d, b), Set(d, c)));                         \
  }
REPDL_WORDS_FOR_ONE(float, __builtin_fabsf)
REPDL_WORDS_FOR_ONE(double, __builtin_fabs)
#undef REPDL_WORDS_FOR_ONE

/// F()(tag, x...) of doubles.
template <class F, class... Ts>
REPDL_LANE double OfOne(Ts... x) {
  const hn::ScalableTag<double> d;
  return hn::GetLane(F()(d, Set(d, x)...));
}
/// The same of a function that gives the parts of a complex number.
template <class F, class... Ts>
REPDL_LANE void PartsOfOne(double& re, double& im, Ts... x) {
  const hn::ScalableTag<double> d;
  hn::Vec<hn::ScalableTag<double>> real, imaginary;
  F()(d, Set(d, x)..., real, imaginary);
  re = hn::GetLane(real), im = hn::GetLane(imaginary);
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
