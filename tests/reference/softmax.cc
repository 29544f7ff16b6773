// SPDX-License-Identifier: MIT
#include <limits>

#include "functions.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

template <class T>
T Largest(const Numbers<T>& x, const Layout& layout, int64_t row) {
  T largest = -std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < layout.length; ++i) {
    if (x[layout.At(row, i)] > largest) largest = x[layout.At(row, i)];
  }
  return largest;  // a NaN makes every difference to it, and so the row, NaN anyway
}

Layout LayoutOf(const Arguments& args, std::string_view tensor) {
  return Layout::Along(args.Shape(tensor), args.Int("dim"));
}

}  // namespace

template <class T>
static Results RunSoftmax(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Layout layout = LayoutOf(args, "input");
  Numbers<T> output(x.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    const T m = Largest(x, layout, row);
    SumOf<T> sum(args.TheOrder());
    for (int64_t i = 0; i < layout.length; ++i) {
      const int64_t at = layout.At(row, i);
      output[at] = Exp(x[at] - m);
      sum.Add(output[at]);
    }
    const T total = sum.Result();
    for (int64_t i = 0; i < layout.length; ++i) output[layout.At(row, i)] /= total;
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunLogSoftmax(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Layout layout = LayoutOf(args, "input");
  Numbers<T> output(x.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    const T m = Largest(x, layout, row);
    SumOf<T> sum(args.TheOrder());
    for (int64_t i = 0; i < layout.length; ++i) sum.Add(Exp(x[layout.At(row, i)] - m));
    const T log = Log(sum.Result());
    for (int64_t i = 0; i < layout.length; ++i) {
      const int64_t at = layout.At(row, i);
      output[at] = (x[at] - m) - log;
    }
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

/// grad_input[i] = grad(gᵢ, yᵢ, Sum(term(gᵢ, yᵢ))) in each row.
template <class T, class Term, class Grad>
static Results RunGrad(const Case& test_case, Term term, Grad grad) {
  const Arguments args(test_case);
  const Numbers<T> g = args.NumbersOf<T>("grad_output");
  const Numbers<T> y = args.NumbersOf<T>("output");
  const Layout layout = LayoutOf(args, "output");
  Numbers<T> grad_input(y.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    SumOf<T> sum(args.TheOrder());
    for (int64_t i = 0; i < layout.length; ++i) sum.Add(term(g[layout.At(row, i)], y[layout.At(row, i)]));
    const T t = sum.Result();
    for (int64_t i = 0; i < layout.length; ++i) {
      const int64_t at = layout.At(row, i);
      grad_input[at] = grad(g[at], y[at], t);
    }
  }
  Results results;
  Append(results, grad_input, args.OutputShape());
  return results;
}

template <class T>
static Results RunSoftmaxGrad(const Case& test_case) {
  return RunGrad<T>(test_case, [](T g, T y) { return g * y; }, [](T g, T y, T t) { return (g - t) * y; });
}

template <class T>
static Results RunLogSoftmaxGrad(const Case& test_case) {
  return RunGrad<T>(test_case, [](T g, T) { return g; }, [](T g, T y, T t) { return g - Exp(y) * t; });
}

static const Op kOps[] = {{"softmax", REPDL_EITHER(RunSoftmax)},
                          {"log_softmax", REPDL_EITHER(RunLogSoftmax)},
                          {"softmax_grad", REPDL_EITHER(RunSoftmaxGrad)},
                          {"log_softmax_grad", REPDL_EITHER(RunLogSoftmaxGrad)}};

}  // namespace repdl::reference
