// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "functions.h"
#include "map.h"
#include "op.h"

namespace repdl::reference {
namespace {

double Nearest(std::string_view function, double x) { return Rounded<double>(*FindFunction(function), x, 0, kFloat64); }

bool IsOdd(double n) { return std::fmod(n, 2) == 1; }

/// The value of degree k + 1 from k, x and the values of degrees k and k - 1.
using Step = std::function<double(double, double, double, double)>;

double ByRecurrence(double n, double x, double first, const Step& step) {
  if (n == 0) return 1;
  if (n > 0x1p17) return std::numeric_limits<double>::quiet_NaN();
  double before = 1, now = first;
  for (double k = 1; k < n && !std::isnan(now); ++k) {
    const double next = step(k, x, now, before);
    before = now;
    now = next;
  }
  return now;
}

double Chebyshev(char kind, bool shifted, double n, double x) {
  const double last = n + 1, both = n + n + 1;
  if (x == 1) return kind == 'u' ? last : kind == 'w' ? both : 1;
  if (x == (shifted ? 0 : -1)) {
    const double value = kind == 'u' ? last : kind == 'v' ? both : 1;
    return IsOdd(n) ? -value : value;
  }
  const double y = shifted ? x + x - 1 : x;
  if (n > (shifted || kind == 't' ? 6 : 8) && std::abs(y) < 1) {
    const double a = Nearest("acos", y);
    switch (kind) {
      case 't': return Nearest("cos", n * a);
      case 'u': return Nearest("sin", (n + 1) * a) / Nearest("sin", a);
      case 'v': return Nearest("cos", (n + 0.5) * a) / Nearest("cos", a * 0.5);
      default: return Nearest("sin", (n + 0.5) * a) / Nearest("sin", a * 0.5);
    }
  }
  const double first = kind == 't' ? y : kind == 'u' ? y + y : kind == 'v' ? y + y - 1 : y + y + 1;
  return ByRecurrence(n, y, first, [](double, double place, double now, double before) {
    const double product = (place + place) * now;
    return product - before;
  });
}

double Hermite(bool probabilists, double n, double x) {
  const double factor = probabilists ? x : x + x;
  return ByRecurrence(n, x, factor, [=](double k, double, double now, double before) {
    const double left = factor * now, right = (probabilists ? k : k + k) * before;
    return left - right;
  });
}

double Laguerre(double n, double x) {
  if (x == 0) return 1;
  return ByRecurrence(n, x, 1 - x, [](double k, double place, double now, double before) {
    const double left = ((k + k) + (1 - place)) * now, right = k * before;
    return (left - right) / (k + 1);
  });
}

double Legendre(double n, double x) {
  if (x == 1) return 1;
  if (x == -1) return IsOdd(n) ? -1 : 1;
  return ByRecurrence(n, x, x, [](double k, double place, double now, double before) {
    const double left = (k + k + 1) * place * now, right = k * before;
    return (left - right) / (k + 1);
  });
}

double Polynomial(std::string_view op, double x, double n) {
  if (std::isnan(n)) return n;
  n = std::trunc(std::min(std::max(n, -1.0), 0x1p40));
  if (n < 0) return 0;
  if (op.starts_with("hermite")) return Hermite(op.ends_with("he"), n, x);
  if (op.starts_with("laguerre")) return Laguerre(n, x);
  if (op.starts_with("legendre")) return Legendre(n, x);
  return Chebyshev(op.back(), op.starts_with("shifted"), n, x);
}

template <class T>
Results RunPolynomial(const Case& test_case) {
  const std::string_view op = test_case.op().name;
  return MapTwo<T>(test_case, "x", "n", [op](const Numbers<T>& x, const Numbers<T>& n) {
    Numbers<T> result(x.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<T>(Polynomial(op, x[i], n[i]));
    return result;
  });
}

const Op kOps[] = {
    {"chebyshev_polynomial_t", REPDL_EITHER(RunPolynomial)},
    {"chebyshev_polynomial_u", REPDL_EITHER(RunPolynomial)},
    {"chebyshev_polynomial_v", REPDL_EITHER(RunPolynomial)},
    {"chebyshev_polynomial_w", REPDL_EITHER(RunPolynomial)},
    {"hermite_polynomial_h", REPDL_EITHER(RunPolynomial)},
    {"hermite_polynomial_he", REPDL_EITHER(RunPolynomial)},
    {"laguerre_polynomial_l", REPDL_EITHER(RunPolynomial)},
    {"legendre_polynomial_p", REPDL_EITHER(RunPolynomial)},
    {"shifted_chebyshev_polynomial_t", REPDL_EITHER(RunPolynomial)},
    {"shifted_chebyshev_polynomial_u", REPDL_EITHER(RunPolynomial)},
    {"shifted_chebyshev_polynomial_v", REPDL_EITHER(RunPolynomial)},
    {"shifted_chebyshev_polynomial_w", REPDL_EITHER(RunPolynomial)},
};

}  // namespace
}  // namespace repdl::reference
