// SPDX-License-Identifier: MIT
// Functions of complex numbers, which are pairs in a last dimension: real steps, each rounded.
#include <cmath>
#include <limits>
#include <utility>

#include "functions.h"
#include "op.h"
#include "tensors.h"

namespace repdl::reference {
namespace {

template <class T>
struct Pair {
  T real, imaginary;
};

/// A function of functions.def, rounded to T.
template <class T>
T Of(std::string_view name, T x, T y = 0) {
  return Rounded<T>(*FindFunction(name), x, y, sizeof(T) == 8 ? kFloat64 : kFloat32);
}

template <class T>
Pair<T> Negative(Pair<T> z) {
  return {-z.real, -z.imaginary};
}

template <class T>
Pair<T> Plus(Pair<T> x, Pair<T> y) {
  return {x.real + y.real, x.imaginary + y.imaginary};
}

template <class T>
Pair<T> Minus(Pair<T> x, Pair<T> y) {
  return {x.real - y.real, x.imaginary - y.imaginary};
}

template <class T>
T Abs(Pair<T> z) {
  return Of("hypot", z.real, z.imaginary);
}

template <class T>
T Angle(Pair<T> z) {
  return Of("atan2", z.imaginary, z.real);
}

template <class T>
Pair<T> Times(Pair<T> z, T factor) {
  return {z.real * factor, z.imaginary * factor};
}

template <class T>
Pair<T> Multiply(Pair<T> x, Pair<T> y) {
  const T ac = x.real * y.real, bd = x.imaginary * y.imaginary;
  const T ad = x.real * y.imaginary, bc = x.imaginary * y.real;
  return {ac - bd, ad + bc};
}

template <class T>
Pair<T> Divide(Pair<T> x, Pair<T> y) {
  const auto [a, b] = x;
  const auto [c, d] = y;
  if (std::fabs(c) < std::fabs(d)) {
    const T r = c / d, cr = c * r, e = d + cr;
    const T ar = a * r, br = b * r, real = b + ar, imaginary = a - br;
    return {real / e, -imaginary / e};
  }
  if (c == 0) return {a / T{0}, b / T{0}};
  const T r = d / c, dr = d * r, e = c + dr;
  const T ar = a * r, br = b * r, real = a + br, imaginary = b - ar;
  return {real / e, imaginary / e};
}

template <class T>
Pair<T> Reciprocal(Pair<T> z) {
  return Divide<T>({1, 0}, z);
}

template <class T>
Pair<T> Sgn(Pair<T> z) {
  const T size = Of("hypot", z.real, z.imaginary);
  if (size == 0) return {0, 0};
  return {z.real / size, z.imaginary / size};
}

template <class T>
Pair<T> Exp(Pair<T> z) {
  const auto [a, b] = z;
  const T size = Of("exp", a);
  return {size * Of("cos", b), b == 0 ? b : size * Of("sin", b)};
}

template <class T>
Pair<T> Exp2(Pair<T> z) {
  return Exp(Times(z, static_cast<T>(0x1.62e42fefa39efp-1)));
}

template <class T>
Pair<T> Expm1(Pair<T> z) {
  const auto [a, b] = z;
  const T sine = Of("sin", b * T{0.5}), squared = sine * sine, twice = squared * 2;
  const T product = Of("expm1", a) * Of("cos", b);
  return {product - twice, Exp(z).imaginary};
}

template <class T>
Pair<T> Sigmoid(Pair<T> z) {
  const bool left = z.real < 0;
  const Pair<T> e = Exp(left ? z : Negative(z));
  return Divide(left ? e : Pair<T>{1, 0}, Pair<T>{e.real + 1, e.imaginary + 0});
}

template <class T>
Pair<T> SigmoidGrad(Pair<T> grad, Pair<T> y) {
  const Pair<T> slope = Multiply({1 - y.real, 0 - y.imaginary}, y);
  return Multiply(grad, {slope.real, -slope.imaginary});
}

template <class T>
Pair<T> Silu(Pair<T> z) {
  return Multiply(z, Sigmoid(z));
}

template <class T>
Pair<T> SiluGrad(Pair<T> grad, Pair<T> z) {
  const Pair<T> s = Sigmoid(z), below = Multiply(z, {1 - s.real, 0 - s.imaginary});
  const Pair<T> slope = Multiply(s, {below.real + 1, below.imaginary + 0});
  return Multiply(grad, {slope.real, -slope.imaginary});
}

template <class T>
Pair<T> TanhGrad(Pair<T> grad, Pair<T> y) {
  const Pair<T> square = Multiply(y, y);
  const T imaginary = 0 - square.imaginary;
  return Multiply(grad, {1 - square.real, -imaginary});
}

template <class T>
Pair<T> Log(Pair<T> z) {
  const auto [a, b] = z;
  const T size = Of("hypot", a, b), angle = Of("atan2", b, a);
  if (size < 0x1p-1000) {
    const T scaled = Of("hypot", a * T{0x1p100}, b * T{0x1p100});
    return {Of("log", scaled) - static_cast<T>(0x1.1542457337d43p+6), angle};
  }
  if (!(size > 0.5 && size < 2)) return {Of("log", size), angle};
  const T larger = std::fmax(std::fabs(a), std::fabs(b)), smaller = std::fmin(std::fabs(a), std::fabs(b));
  const T below = larger - 1, above = larger + 1, product = below * above, square = smaller * smaller;
  return {Of("log1p", product + square) * T{0.5}, angle};
}

template <class T>
Pair<T> Log1p(Pair<T> z) {
  const auto [a, b] = z;
  Pair<T> result = Log<T>({a + 1, b});
  if (std::fabs(a) < 0.25 && std::fabs(b) < 0.25) {
    const T sum = a + 2, product = a * sum, square = b * b;
    result.real = Of("log1p", product + square) * T{0.5};
  }
  return result;
}

template <class T>
Pair<T> Log2(Pair<T> z) {
  return Times(Log(z), static_cast<T>(0x1.71547652b82fep+0));
}

template <class T>
Pair<T> Log10(Pair<T> z) {
  return Times(Log(z), static_cast<T>(0x1.bcb7b1526e50dp-2));
}

template <class T>
Pair<T> Pow(Pair<T> x, Pair<T> y) {
  if (x.real != 0 || x.imaginary != 0) return Exp(Multiply(y, Log(x)));
  if (y.real == 0 && y.imaginary == 0) return {1, 0};
  return {y.real > 0 ? 0 : std::numeric_limits<T>::infinity(), 0};
}

template <class T>
Pair<T> Sqrt(Pair<T> z) {
  const auto [a, b] = z;
  const bool is_nan = std::isnan(a) || std::isnan(b);
  const T largest = std::fmax(std::fabs(a), std::fabs(b));
  T scale = 1, back = 1;
  if (!is_nan && largest > 0x1p100) scale = T{0x1p-20f}, back = T{0x1p10f};
  if (!is_nan && largest < 0x1p-60) scale = T{0x1p60f}, back = T{0x1p-30f};
  const T x = a * scale, y = b * scale;
  const T sum = Of("hypot", x, y) + std::fabs(x);
  const T root = Of("sqrt", sum * T{0.5});
  const bool is_infinite = !is_nan && std::isinf(largest);
  const T other = root == 0 || is_infinite ? T{0} : std::fabs(y) / (2 * root);
  const T t = root * back, u = std::isinf(b) ? t : other * back;
  const T sign = std::isnan(b) ? T{1} : b;
  return a < 0 ? Pair<T>{u, std::copysign(t, sign)} : Pair<T>{t, std::copysign(u, sign)};
}

template <class T>
Pair<T> Rsqrt(Pair<T> z) {
  return Reciprocal(Sqrt(z));
}

template <class T>
Pair<T> Sinh(Pair<T> z) {
  const auto [a, b] = z;
  return {a == 0 ? a : Of("sinh", a) * Of("cos", b), b == 0 ? b : Of("cosh", a) * Of("sin", b)};
}

template <class T>
Pair<T> Cosh(Pair<T> z) {
  const auto [a, b] = z;
  const T of_zero = std::isnan(a) ? b : std::copysign(T{1}, a) * b;
  return {Of("cosh", a) * Of("cos", b), b == 0 ? of_zero : Of("sinh", a) * Of("sin", b)};
}

template <class T>
Pair<T> Tanh(Pair<T> z) {
  const auto [a, b] = z;
  if (std::fabs(a) > 20) {
    const T sine = 4 * Of("sin", b), turn = sine * Of("cos", b);
    return {std::copysign(T{1}, a), turn * Of("exp", -2 * std::fabs(a))};
  }
  const T s = Of("sinh", a), r = Of("cosh", a), t = Of("tan", b);
  const T square = t * t, m = square + 1, ss = s * s, ssm = ss * m, e = ssm + 1;
  const T sr = s * r, srm = sr * m;
  return {srm / e, t / e};
}

/// iz
template <class T>
Pair<T> Turned(Pair<T> z) {
  return {-z.imaginary, z.real};
}

/// -iz
template <class T>
Pair<T> TurnedBack(Pair<T> z) {
  return {z.imaginary, -z.real};
}

template <class T>
Pair<T> Sin(Pair<T> z) {
  return TurnedBack(Sinh(Turned(z)));
}

template <class T>
Pair<T> Cos(Pair<T> z) {
  return Cosh(Turned(z));
}

template <class T>
Pair<T> Tan(Pair<T> z) {
  return TurnedBack(Tanh(Turned(z)));
}

/// The inverse functions, of doubles.
using Wide = Pair<double>;

/// Of numbers whose roots' products might overflow a quarter, and an asinh that is larger by log(4) for it.
bool IsHuge(Wide z) { return std::fabs(z.real) >= 0x1p1000 || std::fabs(z.imaginary) >= 0x1p1000; }

Wide Held(Wide z) { return IsHuge(z) ? Wide{z.real / 4, z.imaginary / 4} : z; }

double FarAsinh(double size, bool is_huge) {
  const double part = Of("asinh", size);
  return is_huge ? part + std::copysign(0x1.62e42fefa39efp+0, part) : part;
}

Wide Asin(Wide z) {
  const auto [x, y] = Held(z);
  const auto [p, q] = Sqrt<double>({1 - x, -y});
  const auto [r, s] = Sqrt<double>({1 + x, y});
  const double pr = p * r, qs = q * s, ps = p * s, qr = q * r;
  double beside = pr - qs, size = ps - qr;
  if (std::isinf(x)) beside = std::isinf(y) ? std::numeric_limits<double>::infinity() : 0;
  if (std::isnan(y)) beside = y;
  if (std::isinf(x) || std::isinf(y)) size = std::copysign(std::fabs(x) + std::fabs(y), y);
  return {Of("atan2", x, beside), FarAsinh(size, IsHuge(z))};
}

Wide Acos(Wide z) {
  const auto [x, y] = Held(z);
  const auto [p, q] = Sqrt<double>({1 - x, -y});
  const auto [r, s] = Sqrt<double>({1 + x, y});
  const double rq = r * q, sp = s * p;
  double real = Of("atan2", p, r) * 2;
  if (std::isinf(x) && std::isinf(y)) real = x < 0 ? 0x1.2d97c7f3321d2p+1 : 0x1.921fb54442d18p-1;
  return {real, FarAsinh(rq - sp, IsHuge(z))};
}

Wide Acosh(Wide z) {
  const Wide result = Acos(z);
  return {std::fabs(result.imaginary), std::copysign(result.real, z.imaginary)};
}

Wide Atanh(Wide z) {
  const auto [x, y] = z;
  const double h = std::fabs(x), height = std::fabs(y);
  Wide result;
  if (!std::isnan(x) && !std::isnan(y) && std::fmax(h, height) > 1e100) {
    const double larger = std::fmax(h, height), q = std::fmin(h, height) / larger, square = q * q;
    const double once = h / larger, twice = once / larger;
    result = {std::isinf(larger) ? 0 : twice / (1 + square), std::copysign(0x1.921fb54442d18p+0, y)};
  } else {
    const double below = 1 - h, above = 1 + h, squared = below * below, square = y * y, product = below * above;
    result = {Of("log1p", 4 * h / (squared + square)) * 0.25, Of("atan2", 2 * y, product - square) * 0.5};
    if (h == 1 && height < 1e-100) result.real = (0x1.62e42fefa39efp-1 - Of("log", height)) * 0.5;
  }
  result.real = std::copysign(result.real, x);
  return result;
}

Wide Asinh(Wide z) { return TurnedBack(Asin(Turned(z))); }

Wide Atan(Wide z) { return TurnedBack(Atanh(Turned(z))); }

Wide Sinc(Wide z) {
  const double a = std::fabs(z.real), b = std::fabs(z.imaginary), pi = 0x1.921fb54442d18p+1,
               low = 0x1.1a62633145c07p-53;
  Wide result;
  if (a < 0.25 && b < 0.25) {
    const double squared = 0x1.3bd3cc9be45dep+3, below = a - b, above = a + b, product = below * above, ab = a * b;
    const Wide w = {product * squared, 2 * ab * squared};
    constexpr double kTerms[] = {-0x1.2f49b46814157p-57, 0x1.952c77030ad4ap-49,
                                 -0x1.ae7f3e733b81fp-41, 0x1.6124613a86d09p-33,
                                 -0x1.ae64567f544e4p-26, 0x1.71de3a556c734p-19,
                                 -0x1.a01a01a01a01ap-13, 0x1.1111111111111p-7,
                                 -0x1.5555555555555p-3,  1};
    result = {0x1.71b8ef6dcf572p-66, 0};
    for (const double term : kTerms) {
      result = Multiply(result, w);
      result.real = result.real + term;
    }
  } else {
    const double n = std::nearbyint(a), f = a - n, size = std::fabs(f);
    const double g = size > 0.25 ? 0.5 - size : size, h = g * pi, l = std::fma(g, low, std::fma(g, pi, -h));
    double u = std::fma(l, Of("cos", h), Of("sin", h)), v = std::fma(-l, Of("sin", h), Of("cos", h));
    if (size > 0.25) std::swap(u, v);
    u = std::copysign(u, f);
    if (std::fmod(n, 2) != 0) u = -u, v = -v;
    const double t = b * pi;
    double m = std::fma(b, low, std::fma(b, pi, -t)), e = 1, c, s;
    if (t > 600) {
      if (t > 2800) m = b - b;
      const double r = Of("exp", std::fmin(t, 2800) * 0.25);
      e = std::fma(r, m * 0.25, r);
      c = s = e * 0.5;
    } else {
      c = std::fma(m, Of("sinh", t), Of("cosh", t));
      s = std::fma(m, Of("cosh", t), Of("sinh", t));
    }
    const Wide quotient = Divide<double>({u * c, v * s}, {a, b});
    result = {quotient.real / pi * e * e * e, quotient.imaginary / pi * e * e * e};
  }
  if (std::signbit(z.real) != std::signbit(z.imaginary)) result.imaginary = -result.imaginary;
  return Plus(result, {0, 0});
}

/// What is lost where x + y is rounded; NaN if that is infinite.
double Lost(double x, double y) {
  const double sum = x + y, second = sum - x, first = sum - second;
  const double x_lost = x - first, y_lost = y - second;
  return x_lost + y_lost;
}

Wide Logaddexp(Wide x, Wide y) {
  for (const double part : {x.real, x.imaginary, y.real, y.imaginary}) {
    if (std::isnan(part)) return {part, part};
  }
  const Wide larger = x.real < y.real ? y : x, smaller = x.real < y.real ? x : y;
  if (std::isinf(larger.real) && larger.real == smaller.real) {
    return larger.real < 0 ? y : Log(Plus(Exp(smaller), Exp(larger)));
  }
  const auto [a, b] = Minus(smaller, larger);
  const double exp = Of("exp", a), sin = Of("sin", b), cos = Of("cos", b);
  if (exp == 0) return larger;
  const double h = std::fma(exp, Lost(smaller.real, -larger.real), exp);
  const double turned = Lost(smaller.imaginary, -larger.imaginary);
  return Plus(Log1p<double>({h * std::fma(-turned, sin, cos), h * std::fma(turned, cos, sin)}), larger);
}

/// Rounded to T.
template <class T, Wide (*kFunction)(Wide)>
Pair<T> FromWide(Pair<T> z) {
  const Wide result = kFunction({z.real, z.imaginary});
  return {static_cast<T>(result.real), static_cast<T>(result.imaginary)};
}

template <class T, Wide (*kFunction)(Wide, Wide)>
Pair<T> FromWideOfTwo(Pair<T> x, Pair<T> y) {
  const Wide result = kFunction({x.real, x.imaginary}, {y.real, y.imaginary});
  return {static_cast<T>(result.real), static_cast<T>(result.imaginary)};
}

/// Pair number i of the shape `to`, in a tensor of the shape `from` that is broadcast to it.
template <class T>
Pair<T> PairAt(const Numbers<T>& data, const IntList& from, const IntList& to, int64_t i) {
  int64_t at = 0, step = 1;
  for (int d = 2; d <= from.size(); ++d) {  // from the last dimension of pairs to the first
    const int64_t length = from[from.size() - d];
    if (length != 1) at += i % to[to.size() - d] * step;
    i /= to[to.size() - d];
    step *= length;
  }
  return {data[2 * at], data[2 * at + 1]};
}

template <class T, Pair<T> (*kFunction)(Pair<T>)>
Results RunOne(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> numbers = args.NumbersOf<T>("input");
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const Pair<T> result = kFunction({numbers[i], numbers[i + 1]});
    numbers[i] = result.real;
    numbers[i + 1] = result.imaginary;
  }
  Results results;
  Append(results, numbers, args.OutputShape());
  return results;
}

template <class T, T (*kFunction)(Pair<T>)>
Results RunToReal(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> numbers = args.NumbersOf<T>("input");
  Numbers<T> output;
  for (size_t i = 0; i < numbers.size(); i += 2) output.push_back(kFunction({numbers[i], numbers[i + 1]}));
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T, Pair<T> (*kFunction)(Pair<T>, Pair<T>)>
Results RunTwo(const Case& test_case) {
  const Arguments args(test_case);
  const std::string_view names[] = {test_case.op().args[0].name, test_case.op().args[1].name};
  const IntList shapes[] = {args.Shape(names[0]), args.Shape(names[1])}, shape = args.OutputShape();
  const Numbers<T> first = args.NumbersOf<T>(names[0]), second = args.NumbersOf<T>(names[1]);
  Numbers<T> output;
  for (int64_t i = 0; i < Size(shape) / 2; ++i) {
    const Pair<T> result = kFunction(PairAt(first, shapes[0], shape, i), PairAt(second, shapes[1], shape, i));
    output.push_back(result.real);
    output.push_back(result.imaginary);
  }
  Results results;
  Append(results, output, shape);
  return results;
}

/// The logarithm of a sum of exponentials, to which numbers are added.
struct RunningLog {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Wide largest = {-kInfinity, 0}, rest = {0, 0}, last = {-kInfinity, 0};

  Wide Add(Wide z) {
    if (std::isnan(largest.real) || std::isnan(z.real) || std::isnan(z.imaginary)) {
      largest.real = std::numeric_limits<double>::quiet_NaN();
      return {largest.real, largest.real};
    }
    if (largest.real == kInfinity && z.real == kInfinity) {
      last = Log(Plus(Exp(last), Exp(z)));
      largest = {std::isnan(last.imaginary) ? last.imaginary : kInfinity, last.imaginary};
      rest = {0, 0};
      return last;
    }
    const bool grows = z.real > largest.real;
    const Wide larger = grows ? z : largest, smaller = grows ? largest : z;
    const double size = smaller.real == -kInfinity ? 0 : Of("exp", smaller.real - larger.real);
    const double turn = smaller.imaginary - larger.imaginary;
    const Wide e = size == 0 ? Wide{0, 0} : Wide{size * Of("cos", turn), size * Of("sin", turn)};
    rest = grows ? Multiply<double>({rest.real + 1, rest.imaginary}, e) : Plus(rest, e);
    largest = larger;
    if (largest.real == -kInfinity) return last = {-kInfinity, 0};
    const Wide sum = Plus(largest, Log1p(rest));
    const double near = z.real < last.real ? last.imaginary : z.imaginary;
    double turns = 0;
    if (near != sum.imaginary) turns = std::nearbyint((near - sum.imaginary) * 0x1.45f306dc9c883p-3);
    last = sum;
    if (turns != 0) {
      const double low = turns * 0x1.1a62633145c07p-52;
      last.imaginary = std::fma(turns, 0x1.921fb54442d18p+2, sum.imaginary) + low;
    }
    return last;
  }
};

template <class T>
Results RunLogcumsumexp(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> numbers = args.NumbersOf<T>("input");
  const IntList shape = args.Shape("input");
  const Layout lines = Layout::Along(IntList(std::span(shape.begin(), shape.end() - 1)), args.Int("dim"));
  for (int64_t row = 0; row < lines.rows(); ++row) {
    RunningLog sum;
    for (int64_t i = 0; i < lines.length; ++i) {
      const auto at = static_cast<size_t>(2 * lines.At(row, i));
      const Wide result = sum.Add({numbers[at], numbers[at + 1]});
      numbers[at] = static_cast<T>(result.real);
      numbers[at + 1] = static_cast<T>(result.imaginary);
    }
  }
  Results results;
  Append(results, numbers, shape);
  return results;
}

#define WIDE(op, Function)                                                              \
  {"complex_" #op, [](const Case& test_case) {                                          \
     return IsDouble(test_case) ? RunOne<double, FromWide<double, Function>>(test_case) \
                                : RunOne<float, FromWide<float, Function>>(test_case);  \
   }}
#define ONE(op, Function)                                                     \
  {"complex_" #op, [](const Case& test_case) {                                \
     return IsDouble(test_case) ? RunOne<double, Function<double>>(test_case) \
                                : RunOne<float, Function<float>>(test_case);  \
   }}
#define TO_REAL(op, Function)                                                    \
  {"complex_" #op, [](const Case& test_case) {                                   \
     return IsDouble(test_case) ? RunToReal<double, Function<double>>(test_case) \
                                : RunToReal<float, Function<float>>(test_case);  \
   }}
#define TWO(op, Function)                                                     \
  {"complex_" #op, [](const Case& test_case) {                                \
     return IsDouble(test_case) ? RunTwo<double, Function<double>>(test_case) \
                                : RunTwo<float, Function<float>>(test_case);  \
   }}
#define WIDE_TWO(op, Function)                                                               \
  {"complex_" #op, [](const Case& test_case) {                                               \
     return IsDouble(test_case) ? RunTwo<double, FromWideOfTwo<double, Function>>(test_case) \
                                : RunTwo<float, FromWideOfTwo<float, Function>>(test_case);  \
   }}

const Op kOps[] = {TO_REAL(abs, Abs),
                   WIDE(acos, Acos),
                   WIDE(acosh, Acosh),
                   TWO(add, Plus),
                   TO_REAL(angle, Angle),
                   WIDE(asin, Asin),
                   WIDE(asinh, Asinh),
                   WIDE(atan, Atan),
                   WIDE(atanh, Atanh),
                   ONE(cos, Cos),
                   ONE(cosh, Cosh),
                   TWO(div, Divide),
                   ONE(exp, Exp),
                   ONE(exp2, Exp2),
                   ONE(expm1, Expm1),
                   WIDE(log, Log<double>),
                   WIDE(log10, Log10<double>),
                   WIDE(log1p, Log1p<double>),
                   WIDE(log2, Log2<double>),
                   {"complex_logcumsumexp", REPDL_EITHER(RunLogcumsumexp)},
                   WIDE_TWO(logaddexp, Logaddexp),
                   TWO(mul, Multiply),
                   ONE(neg, Negative),
                   TWO(pow, Pow),
                   ONE(reciprocal, Reciprocal),
                   ONE(rsqrt, Rsqrt),
                   ONE(sgn, Sgn),
                   ONE(sigmoid, Sigmoid),
                   TWO(sigmoid_grad, SigmoidGrad),
                   ONE(silu, Silu),
                   TWO(silu_grad, SiluGrad),
                   ONE(sin, Sin),
                   WIDE(sinc, Sinc),
                   ONE(sinh, Sinh),
                   ONE(sqrt, Sqrt),
                   TWO(sub, Minus),
                   ONE(tan, Tan),
                   ONE(tanh, Tanh),
                   TWO(tanh_grad, TanhGrad)};

}  // namespace
}  // namespace repdl::reference
