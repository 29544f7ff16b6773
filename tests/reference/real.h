// SPDX-License-Identifier: MIT
#pragma once

#include <mpfr.h>

#include <utility>

namespace repdl::reference {

/// A number of MPFR, and what formulas are written with. Each operation rounds to `precision` bits. 384 are enough to hold
/// the sum of any two float32 numbers, and to see on which side of x / 2 a result x / 2 * (1 + x) lies for the smallest x.
class Real {
 public:
  static inline thread_local mpfr_prec_t precision = 384;

  Real() { mpfr_init2(value_, precision); }
  Real(double x) : Real() { mpfr_set_d(value_, x, MPFR_RNDN); }  // NOLINT: formulas name small numbers
  explicit Real(const char* decimal) : Real() { mpfr_set_str(value_, decimal, 10, MPFR_RNDN); }
  explicit Real(mpfr_srcptr x) : Real() { mpfr_set(value_, x, MPFR_RNDN); }
  Real(const Real& other) : Real(other.value_) {}
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Real() { mpfr_clear(value_); }

  mpfr_srcptr get() const { return value_; }

  template <class Function, class... Operands>
  static Real Of(Function function, Operands&&... operands) {
    Real result;
    function(result.value_, std::forward<Operands>(operands)..., MPFR_RNDN);
    return result;
  }

  friend Real operator+(const Real& a, const Real& b) { return Of(mpfr_add, a.value_, b.value_); }
  friend Real operator-(const Real& a, const Real& b) { return Of(mpfr_sub, a.value_, b.value_); }
  friend Real operator*(const Real& a, const Real& b) { return Of(mpfr_mul, a.value_, b.value_); }
  friend Real operator/(const Real& a, const Real& b) { return Of(mpfr_div, a.value_, b.value_); }
  friend Real operator-(const Real& a) { return Of(mpfr_neg, a.value_); }
  friend bool operator<(const Real& a, const Real& b) { return mpfr_less_p(a.value_, b.value_) != 0; }
  friend bool operator>(const Real& a, const Real& b) { return b < a; }
  friend bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.value_, b.value_) != 0; }

 private:
  mpfr_t value_;
};

inline Real Abs(const Real& x) { return Real::Of(mpfr_abs, x.get()); }
inline Real Erf(const Real& x) { return Real::Of(mpfr_erf, x.get()); }
inline Real Erfc(const Real& x) { return Real::Of(mpfr_erfc, x.get()); }
inline Real Exp(const Real& x) { return Real::Of(mpfr_exp, x.get()); }
inline Real Expm1(const Real& x) { return Real::Of(mpfr_expm1, x.get()); }
inline Real Log(const Real& x) { return Real::Of(mpfr_log, x.get()); }
inline Real Log1p(const Real& x) { return Real::Of(mpfr_log1p, x.get()); }
inline Real Sqrt(const Real& x) { return Real::Of(mpfr_sqrt, x.get()); }
inline Real Pi() { return Real::Of(mpfr_const_pi); }
inline bool IsInfinite(const Real& x) { return mpfr_inf_p(x.get()) != 0; }
inline bool IsNegative(const Real& x) { return mpfr_signbit(x.get()) != 0; }

}  // namespace repdl::reference
