// SPDX-License-Identifier: MIT
#include <cmath>

#include "functions.h"
#include "op.h"
#include "philox.h"

namespace repdl::reference {
namespace {

double Of(std::string_view function, double x) { return Rounded<double>(*FindFunction(function), x); }

double LogFactorial(double x) { return Of("lgamma", x + 1); }

/// The uniform numbers of an element.
struct Uniforms {
  const PhiloxStream& stream;
  uint64_t element;
  double operator[](uint64_t j) const { return stream.Unit53(64 * element + 2 * j); }
};

/// By the sums of probabilities, of which ratio(k) is the quotient of that of k and that of k - 1.
template <class Ratio>
double Searched(double u, double first, const Ratio& ratio) {
  double probability = first, sum = first;
  double k = 0;
  while (u >= sum && k < 99) {
    k += 1;
    probability *= ratio(k);
    sum += probability;
  }
  return k;
}

double PoissonNumber(double rate, const Uniforms& u) {
  if (!(rate >= 0 && rate < INFINITY)) return NAN;
  if (rate < 10) return Searched(u[0], Exp(-rate), [&](double k) { return rate / k; });
  double b = std::sqrt(rate) * 2.53;
  b += 0.931;
  double a = b * 0.02483;
  a -= 0.059;
  for (uint64_t t = 0; t < 16; ++t) {
    const double x = u[2 * t] - 0.5, y = 1 - u[2 * t + 1], edge = 0.5 - std::fabs(x);
    double k = a * 2 / edge + b;
    k *= x;
    k = std::floor(k + rate + 0.43);
    if (edge >= 0.07 && y <= 0.9277 - 3.6224 / (b - 2)) return k < 0 ? 0 : k;
    if (k < 0 || (edge < 0.013 && y > edge)) continue;
    const double squeezed = edge * edge;
    const double height = Log(y * (1.1328 / (b - 3.4) + 1.1239) / (a / squeezed + b));
    double bound = k * Log(rate);
    bound = bound - rate - LogFactorial(k);
    if (height <= bound) return k;
  }
  return std::floor(rate);
}

/// For 0 <= q <= 1/2 and an integer n.
double SuccessesOf(double n, double q, const Uniforms& u) {
  const double odds = q / (1 - q), mean = n * q;
  if (mean < 10) {
    return Searched(u[0], Exp(n * Of("log1p", -q)), [&](double k) { return std::fmax(n - (k - 1), 0) / k * odds; });
  }
  const double deviation = std::sqrt(mean * (1 - q));
  double b = deviation * 2.53;
  b += 1.15;
  const double a_of_b = b * 0.0248, a_of_q = q * 0.01;
  const double a = a_of_b - 0.0873 + a_of_q;
  const double product = (n + 1) * q;
  const double mode = std::floor(product);
  for (uint64_t t = 0; t < 16; ++t) {
    const double x = u[2 * t] - 0.5, y = 1 - u[2 * t + 1], edge = 0.5 - std::fabs(x);
    double k = a * 2 / edge + b;
    k *= x;
    k = std::floor(k + (mean + 0.5));
    if (!(k >= 0 && k <= n)) continue;
    if (edge >= 0.07 && y <= 0.92 - 4.2 / b) return k;
    const double squeezed = edge * edge, alpha = (5.1 / b + 2.83) * deviation;
    const double height = Log(y * alpha / (a / squeezed + b));
    const double highest = LogFactorial(mode) + LogFactorial(n - mode);
    const double slope = (k - mode) * Log(odds);
    const double bound = highest - (LogFactorial(k) + LogFactorial(n - k)) + slope;
    if (height <= bound) return k;
  }
  return mode;
}

double BinomialNumber(double count, double prob, const Uniforms& u) {
  if (!(count >= 0 && count < INFINITY && prob >= 0 && prob <= 1)) return NAN;
  const double n = std::floor(count);
  return prob > 0.5 ? n - SuccessesOf(n, 1 - prob, u) : SuccessesOf(n, prob, u);
}

/// Element `i` of an operand that is broadcast to `shape`.
size_t Place(const IntList& operand, const IntList& shape, int64_t i) {
  int64_t place = 0, step = 1;
  for (int dim = 1; dim <= shape.size(); ++dim) {
    const int64_t index = i % shape[shape.size() - dim];
    i /= shape[shape.size() - dim];
    if (dim > operand.size()) continue;
    const int64_t size = operand[operand.size() - dim];
    if (size != 1) place += index * step;
    step *= size;
  }
  return static_cast<size_t>(place);
}

}  // namespace

template <class T>
static Results RunPhiloxPoisson(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  Numbers<T> values = args.NumbersOf<T>("rate");
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(PoissonNumber(values[i], {stream, stream.Number(i)}));
  }
  Results results;
  Append(results, std::move(values), args.Shape("rate"), args.Type("rate"));
  return results;
}

template <class T>
static Results RunPhiloxBinomial(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  const IntList shape = args.OutputShape();
  const Numbers<T> count = args.NumbersOf<T>("count"), prob = args.NumbersOf<T>("prob");
  Numbers<T> values(static_cast<size_t>(Size(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const T n = count[Place(args.Shape("count"), shape, at)], p = prob[Place(args.Shape("prob"), shape, at)];
    values[i] = static_cast<T>(BinomialNumber(n, p, {stream, stream.Number(i)}));
  }
  Results results;
  Append(results, std::move(values), shape, args.OutputType());
  return results;
}

static const Op kOps[] = {{"philox_binomial", REPDL_EITHER(RunPhiloxBinomial)},
                          {"philox_poisson", REPDL_EITHER(RunPhiloxPoisson)}};

}  // namespace repdl::reference
