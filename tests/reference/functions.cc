// SPDX-License-Identifier: MIT
#include "functions.h"

#include <mpfr.h>

#include <cmath>

namespace repdl::reference {
namespace {

/// An MPFR number with the precision and the exponents of an IEEE-754 type, so that a result is rounded
/// once even where it is subnormal.
class Number {
 public:
  struct Format {
    mpfr_prec_t precision;
    mpfr_exp_t emin, emax;  // of the smallest subnormal and the largest number, for a fraction in [0.5, 1)
  };
  static constexpr Format kFloat = {24, -148, 128};
  static constexpr Format kDouble = {53, -1073, 1024};

  explicit Number(const Format& format) {
    mpfr_set_emin(format.emin);
    mpfr_set_emax(format.emax);
    mpfr_init2(value_, format.precision);
  }
  ~Number() { mpfr_clear(value_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  mpfr_ptr get() { return value_; }

  /// After an operation that answered `ternary`.
  void RoundSubnormal(int ternary) { mpfr_subnormalize(value_, ternary, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

}  // namespace

float Rounded(int (*function)(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding), float x) {
  Number n(Number::kFloat);
  mpfr_set_flt(n.get(), x, MPFR_RNDN);
  n.RoundSubnormal(function(n.get(), n.get(), MPFR_RNDN));
  return mpfr_get_flt(n.get(), MPFR_RNDN);
}

float Exp(float x) { return Rounded(mpfr_exp, x); }

float Log(float x) { return Rounded(mpfr_log, x); }

double Power(double base, int64_t exponent) {
  Number n(Number::kDouble);
  mpfr_set_d(n.get(), base, MPFR_RNDN);
  n.RoundSubnormal(mpfr_pow_si(n.get(), n.get(), static_cast<long>(exponent), MPFR_RNDN));
  return mpfr_get_d(n.get(), MPFR_RNDN);
}

}  // namespace repdl::reference
