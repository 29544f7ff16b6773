// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "functions.h"
#include "op.h"
#include "tensors.h"

namespace repdl::reference {
namespace {

/// In double, from left to right along each line, and rounded at the end.
template <class T, class Running>
Results AlongLines(const Case& test_case, const Running& running) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const Layout lines = Layout::Along(args.Shape("input"), args.Int("dim"));
  Numbers<T> output(input.size());
  for (int64_t row = 0; row < lines.rows(); ++row) {
    Running state = running;
    for (int64_t i = 0; i < lines.length; ++i) {
      const auto at = static_cast<size_t>(lines.At(row, i));
      output[at] = static_cast<T>(state(input[at]));
    }
  }
  Results results;
  Append(results, output, args.Shape("input"));
  return results;
}

struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity(), rest = 0;

  double operator()(double x) {
    const double difference = x == largest ? 0 : -std::abs(x - largest);
    const double e = Exp(difference);
    if (x > largest) {
      rest = (rest + 1) * e;
      largest = x;
    } else {
      rest = rest + e;
    }
    return rest == 0 ? largest : largest + Rounded<double>(*FindFunction("log1p"), rest);
  }
};

}  // namespace

template <class T>
static Results RunCumsum(const Case& test_case) {
  return AlongLines<T>(test_case, [total = 0.0](double x) mutable { return total = total + x; });
}

template <class T>
static Results RunCumprod(const Case& test_case) {
  return AlongLines<T>(test_case, [total = 1.0](double x) mutable { return total = total * x; });
}

template <class T>
static Results RunLogcumsumexp(const Case& test_case) {
  return AlongLines<T>(test_case, LogSumExp());
}

/// Of pairs: along the dimensions but for the last.
template <class T, class Take>
static Results AlongLinesOfPairs(const Case& test_case, const Take& take) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const IntList shape = args.Shape("input");
  const Layout lines = Layout::Along(IntList(std::span(shape.begin(), shape.end() - 1)), args.Int("dim"));
  Numbers<T> output(input.size());
  for (int64_t row = 0; row < lines.rows(); ++row) {
    double real = 0, imaginary = 0;
    for (int64_t i = 0; i < lines.length; ++i) {
      const auto at = static_cast<size_t>(2 * lines.At(row, i));
      take(i, input[at], input[at + 1], real, imaginary);
      output[at] = static_cast<T>(real);
      output[at + 1] = static_cast<T>(imaginary);
    }
  }
  Results results;
  Append(results, output, shape);
  return results;
}

template <class T>
static Results RunComplexCumsum(const Case& test_case) {
  return AlongLinesOfPairs<T>(test_case, [](int64_t, double a, double b, double& real, double& imaginary) {
    real = real + a;
    imaginary = imaginary + b;
  });
}

template <class T>
static Results RunComplexCumprod(const Case& test_case) {
  return AlongLinesOfPairs<T>(test_case, [](int64_t i, double c, double d, double& real, double& imaginary) {
    const double a = real, b = imaginary;
    const double ac = a * c, bd = b * d, ad = a * d, bc = b * c;
    real = i == 0 ? c : ac - bd;
    imaginary = i == 0 ? d : ad + bc;
  });
}

static const Op kOps[] = {{"complex_cumprod", REPDL_EITHER(RunComplexCumprod)},
                          {"complex_cumsum", REPDL_EITHER(RunComplexCumsum)},
                          {"cumsum", REPDL_EITHER(RunCumsum)},
                          {"cumprod", REPDL_EITHER(RunCumprod)},
                          {"logcumsumexp", REPDL_EITHER(RunLogcumsumexp)}};

}  // namespace repdl::reference
