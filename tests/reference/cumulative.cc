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

static const Op kOps[] = {{"cumsum", REPDL_EITHER(RunCumsum)},
                          {"cumprod", REPDL_EITHER(RunCumprod)},
                          {"logcumsumexp", REPDL_EITHER(RunLogcumsumexp)}};

}  // namespace repdl::reference
