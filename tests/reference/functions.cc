// SPDX-License-Identifier: MIT
#include "functions.h"

#include <mpfr.h>

#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "formulas.h"

namespace repdl::reference {
namespace {

using Exact = decltype(Function::exact);
using Kind = Function::Kind;

template <auto kFunction>
int MpfrUnary(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr) {
  return kFunction(result, x, MPFR_RNDN);
}

template <auto kFunction>
int MpfrBinary(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y) {
  return kFunction(result, x, y, MPFR_RNDN);
}

int SetNan(mpfr_ptr result) {
  mpfr_set_nan(result);
  return 0;
}

template <auto kFunction>
int Unary(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr) {
  if (mpfr_nan_p(x) != 0) return SetNan(result);
  const Real value = kFunction(Real(x));
  return mpfr_set(result, value.get(), MPFR_RNDN);
}

template <auto kFunction>
int Binary(mpfr_ptr result, mpfr_srcptr x, mpfr_srcptr y) {
  if (mpfr_nan_p(x) != 0 || mpfr_nan_p(y) != 0) return SetNan(result);
  const Real value = kFunction(Real(x), Real(y));
  return mpfr_set(result, value.get(), MPFR_RNDN);
}

/// It is infinite at s = 1 for any q, even NaN, as torch has it.
template <>
int Binary<Zeta>(mpfr_ptr result, mpfr_srcptr s, mpfr_srcptr q) {
  const bool is_one = mpfr_nan_p(s) == 0 && mpfr_cmp_ui(s, 1) == 0;
  if (!is_one && (mpfr_nan_p(s) != 0 || mpfr_nan_p(q) != 0)) return SetNan(result);
  const Real value = Zeta(Real(s), is_one ? Real(1) : Real(q));
  return mpfr_set(result, value.get(), MPFR_RNDN);
}

int Lgamma(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  int sign;
  return mpfr_lgamma(result, &sign, x, rounding);
}

/// MPFR does not tell zeros apart.
int Digamma(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_zero_p(x) == 0) return mpfr_digamma(result, x, rounding);
  mpfr_set_inf(result, mpfr_signbit(x) != 0 ? 1 : -1);
  return 0;
}

/// MPFR's is +0 at both infinities, though the function is odd.
int BesselJ1(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_inf_p(x) == 0) return mpfr_j1(result, x, rounding);
  mpfr_set_zero(result, mpfr_signbit(x) != 0 ? -1 : 1);
  return 0;
}

constexpr Function kFunctions[] = {
#define MPFR_UNARY(op, function) {#op, Kind::kUnary, MpfrUnary<function>, false},
#define UNARY(op, Formula) {#op, Kind::kUnary, Unary<Formula>, true},
#define DERIVATIVE(op, Formula) {#op, Kind::kDerivative, Unary<Formula>, true},
#define MPFR_BINARY(op, function) {#op, Kind::kBinary, MpfrBinary<function>, false},
#define BINARY(op, Formula) {#op, Kind::kBinary, Binary<Formula>, true},
#include "functions.def"
#undef MPFR_UNARY
#undef UNARY
#undef DERIVATIVE
#undef MPFR_BINARY
#undef BINARY
};

/// Operands and a result that a thread keeps, because making them takes as long as some functions do.
struct Numbers {
  Numbers() { mpfr_inits2(53, x, y, result, nullptr); }
  ~Numbers() { mpfr_clears(x, y, result, nullptr); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  mpfr_t x, y, result;
};

/// Rounds once: to the precision of the format with MPFR's own wide exponents, then to the format's exponents, where
/// MPFR takes from `ternary` what the first rounding has lost.
double Nearest(Exact exact, double x, double y, const Format& format) {
  thread_local Numbers n;
  mpfr_set_d(n.x, x, MPFR_RNDN);
  mpfr_set_d(n.y, y, MPFR_RNDN);
  mpfr_set_prec(n.result, format.precision);
  int ternary = exact(n.result, n.x, n.y);
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_set_emin(format.emin);
  mpfr_set_emax(format.emax);
  ternary = mpfr_check_range(n.result, ternary, MPFR_RNDN);
  mpfr_subnormalize(n.result, ternary, MPFR_RNDN);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return mpfr_get_d(n.result, MPFR_RNDN);
}

}  // namespace

const Format& FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16: return kFloat16;
    case DType::kBFloat16: return kBFloat16;
    case DType::kFloat32: return kFloat32;
    case DType::kFloat64: return kFloat64;
    default: throw std::logic_error("no floating-point format");
  }
}

std::span<const Function> Functions() { return kFunctions; }

const Function* FindFunction(std::string_view op) {
  for (const Function& function : kFunctions) {
    if (function.name == op) return &function;
  }
  return nullptr;
}

namespace {

double RoundedToDouble(const Function& function, double x, double y) {
  // Nearly all results can be told from few bits, although sums cancel: all but those near underflow.
  constexpr mpfr_prec_t kUsual = 200, kAll = 2400;
  const auto moderate = [](double v) { return v == 0 || std::abs(v) > 0x1p-100; };
  const mpfr_prec_t before = Real::precision;
  if (moderate(x) && moderate(y)) {
    thread_local Numbers n;
    mpfr_set_d(n.x, x, MPFR_RNDN);
    mpfr_set_d(n.y, y, MPFR_RNDN);
    mpfr_set_prec(n.result, function.is_formula ? 120 : 64);
    Real::precision = kUsual;
    function.exact(n.result, n.x, n.y);
    Real::precision = before;
    const double result = mpfr_get_d(n.result, MPFR_RNDN);
    const bool normal = std::abs(result) > 0x1p-1020 && std::abs(result) < 0x1p1023;
    if (normal && mpfr_can_round(n.result, function.is_formula ? 110 : 63, MPFR_RNDN, MPFR_RNDN, 53) != 0)
      return result;
  }
  if (function.is_formula) Real::precision = kAll;
  const double result = Nearest(function.exact, x, y, kFloat64);
  Real::precision = before;
  return result;
}

}  // namespace

template <class T>
T Rounded(const Function& function, T x, T y, const Format& format) {
  if constexpr (std::is_same_v<T, double>) {
    return RoundedToDouble(function, x, y);
  } else {
    return static_cast<T>(Nearest(function.exact, x, y, format));
  }
}
template float Rounded(const Function& function, float x, float y, const Format& format);
template double Rounded(const Function& function, double x, double y, const Format& format);

template <class T>
T Exp(T x) {
  return static_cast<T>(Nearest(MpfrUnary<mpfr_exp>, x, 0, sizeof(T) == 8 ? kFloat64 : kFloat32));
}
template float Exp(float x);
template double Exp(double x);

template <class T>
T Log(T x) {
  return static_cast<T>(Nearest(MpfrUnary<mpfr_log>, x, 0, sizeof(T) == 8 ? kFloat64 : kFloat32));
}
template float Log(float x);
template double Log(double x);

double Power(double base, int64_t exponent) {
  return Nearest(MpfrBinary<mpfr_pow>, base, static_cast<double>(exponent), kFloat64);
}

}  // namespace repdl::reference
