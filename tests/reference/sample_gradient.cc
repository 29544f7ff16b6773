// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <vector>

#include "functions.h"
#include "incomplete_gamma.h"
#include "map.h"
#include "op.h"

namespace repdl::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double Nearest(std::string_view function, double x) { return Rounded<double>(*FindFunction(function), x, 0, kFloat64); }

/// q.
double DistanceShare(double u) {
  if (!(std::abs(u) < 0.125)) return (u - Nearest("log1p", u)) / (u * u);
  double share = 1.0 / 19;
  for (int n = 18; n >= 2; --n) share = std::fma(share, -u, 1.0 / n);
  return share;
}

double GammaNear(double a, double z) {
  static const std::vector<std::vector<double>> rows = TemmeRows();
  static const std::vector<double> star = OverGammaStarRow();
  const double i = 1 / a, u = (z - a) / a, q = DistanceShare(u);
  const double r = std::sqrt(q + q), eta = u * r, c = 1 - u * q, l = u * c;
  double s = 0, w = 0, e = 0;
  for (size_t k = rows.size(); k-- > 0;) {
    double value = rows[k].back(), slope = 0;
    for (size_t n = rows[k].size() - 1; n-- > 0;) {
      slope = std::fma(slope, eta, value);
      value = std::fma(value, eta, rows[k][n]);
    }
    w = std::fma(w, i, s);
    s = std::fma(s, i, value);
    e = std::fma(e, i, slope);
  }
  double g = star.back();
  for (size_t k = star.size() - 1; k-- > 0;) g = std::fma(g, i, star[k]);
  const double halves = s * 0.5, by_inverse = i * w, by_eta = e / r;
  const double more = (halves + by_inverse) + by_eta, beside = s * l, lost = more * i;
  return ((z / a) / g) * ((c / r + beside) - lost);
}

double GammaSeries(double a, double z) {
  const double g = Nearest("digamma", a + 1) - Nearest("log", z);
  double t = 1 / a, h = 0, n = a;
  double s = t * g;
  do {
    n = n + 1;
    const double v = 1 / n;
    t = t * (z * v);
    h = h + v;
    const double term = t * (g + h);
    s = s + term;
  } while (t * (std::abs(g) + h) > std::abs(s) * 0x1p-54);
  return z * s;
}

/// A continued fraction as a sum, and its derivative.
struct Fraction {
  double d, d_slope, s, s_slope, f, f_slope;

  void Step(double n, double n_slope, double b, double b_slope) {
    const double v = n * d;
    const double left = n_slope * d, right = n * d_slope;
    const double v_slope = left + right;
    d = 1 / (v + b);
    d_slope = -((v_slope + b_slope) * (d * d));
    const double e = v * d;
    const double e_left = v_slope * d, e_right = v * d_slope;
    const double e_slope = e_left + e_right;
    const double s_left = s_slope * e, s_right = s * e_slope;
    s_slope = -(s_left + s_right);
    s = -(s * e);
    f = f + s;
    f_slope = f_slope + s_slope;
  }
  bool Continues() const {
    return std::abs(s) > std::abs(f) * 0x1p-54 || std::abs(s_slope) > std::abs(f_slope) * 0x1p-54;
  }
};

double GammaFraction(double a, double z) {
  const double g = Nearest("log", z) - (Nearest("digamma", a + 1) - 1 / a);
  double b = z + 1 - a;
  const double first = 1 / b, slope = first * first;
  Fraction f{first, slope, first, slope, first, slope};
  for (double i = 1;; ++i) {
    b = b + 2;
    f.Step((a - i) * i, i, b, -1);
    if (!f.Continues()) break;
  }
  const double product = g * f.f;
  return z * (product + f.f_slope);
}

double StandardGammaGrad(double a, double z) {
  if (!(a > 0 && a < kInfinity && z >= 0 && z < kInfinity)) return kNan;
  if (z == 0) return 0;
  if (a >= 32 && std::abs(z - a) < a * 0.4) return GammaNear(a, z);
  return z <= a + 0.5 || z < 3 ? GammaSeries(a, z) : GammaFraction(a, z);
}

/// The fraction of (a, b, x), with its derivative by a or by b.
Fraction BetaFraction(double a, double b, double x, bool by_second) {
  const double total = a + b;
  Fraction f{1, 0, 1, 0, 1, 0};
  double n = a;
  for (double m = 0;;) {
    const double u = a + m, w = total + m;
    double o = 1 / (n * (n + 1));
    double d = -(u * w * x * o);
    double slope;
    if (by_second) {
      slope = -(u * x * o);
    } else {
      const double inverses = 1 / u + 1 / w, twice = (n + n + 1) * o;
      slope = d * (inverses - twice);
    }
    f.Step(d, slope, 1, 0);
    m = m + 1;
    n = n + 2;
    o = 1 / ((n - 1) * n);
    const double k = m * x;
    d = k * (b - m) * o;
    slope = by_second ? k * o : -(d * ((n + n - 1) * o));
    f.Step(d, slope, 1, 0);
    if (!f.Continues()) return f;
  }
}

double DirichletGrad(double x, double a, double total) {
  const double b = total - a;
  if (!(a > 0 && b > 0 && total < kInfinity && x >= 0 && x <= 1)) return kNan;
  if (x == 0) return 0;
  if (a >= 0x1p30 && b >= 0x1p30) {
    const double product = x * total;
    const double d = (product - a) / a, w = a / b, q = DistanceShare(d);
    const double other = w * DistanceShare(-(d * w));
    const double off = d * q;
    return x * ((1 - off) / std::sqrt(a * (q + other))) * std::sqrt(total / (2 * a * b));
  }
  const double psi = Nearest("digamma", a + 1), psi_of_total = Nearest("digamma", total), log = Nearest("log", x);
  if (x * (total + 2) < a + 1) {
    const Fraction f = BetaFraction(a, b, x, false);
    const double product = ((psi - psi_of_total) - log) * f.f;
    return x / a * (product - f.f_slope);
  }
  const Fraction f = BetaFraction(b, a, 1 - x, true);
  const double product = ((psi_of_total - (psi - 1 / a)) + log) * f.f;
  return x / b * (product + f.f_slope);
}

}  // namespace

template <class T>
static Results RunStandardGammaGrad(const Case& test_case) {
  return MapTwo<T>(test_case, "input", "output", [](const Numbers<T>& a, const Numbers<T>& z) {
    Numbers<T> result(a.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<T>(StandardGammaGrad(a[i], z[i]));
    return result;
  });
}

template <class T>
static Results RunDirichletGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const auto operand = [&](std::string_view name) {
    return Broadcast(args.NumbersOf<T>(name), args.Shape(name), shape);
  };
  const Numbers<T> x = operand("x"), alpha = operand("alpha"), total = operand("total");
  Numbers<T> result(x.size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<T>(DirichletGrad(x[i], alpha[i], total[i]));
  Results results;
  Append(results, result, shape, args.OutputType());
  return results;
}

static const Op kOps[] = {{"standard_gamma_grad", REPDL_EITHER(RunStandardGammaGrad)},
                          {"dirichlet_grad", REPDL_EITHER(RunDirichletGrad)}};

}  // namespace repdl::reference
