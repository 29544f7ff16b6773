// SPDX-License-Identifier: MIT
#include <limits>

#include "functions.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

float Largest(const Floats& x, const Layout& layout, int64_t row) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < layout.length; ++i) {
    if (x[layout.At(row, i)] > largest) largest = x[layout.At(row, i)];
  }
  return largest;  // a NaN makes every difference to it, and so the row, NaN anyway
}

Layout LayoutOf(const Arguments& args, std::string_view tensor) {
  return Layout::Along(args.Shape(tensor), args.Int("dim"));
}

}  // namespace

static Results RunSoftmax(const Case& test_case) {
  const Arguments args(test_case);
  const Floats x = args.FloatsOf("input");
  const Layout layout = LayoutOf(args, "input");
  Floats output(x.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    const float m = Largest(x, layout, row);
    Sum sum(args.TheOrder());
    for (int64_t i = 0; i < layout.length; ++i) {
      const int64_t at = layout.At(row, i);
      output[at] = Exp(x[at] - m);
      sum.Add(output[at]);
    }
    const float total = sum.Result();
    for (int64_t i = 0; i < layout.length; ++i) output[layout.At(row, i)] /= total;
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

static Results RunLogSoftmax(const Case& test_case) {
  const Arguments args(test_case);
  const Floats x = args.FloatsOf("input");
  const Layout layout = LayoutOf(args, "input");
  Floats output(x.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    const float m = Largest(x, layout, row);
    Sum sum(args.TheOrder());
    for (int64_t i = 0; i < layout.length; ++i) sum.Add(Exp(x[layout.At(row, i)] - m));
    const float log = Log(sum.Result());
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
template <class Term, class Grad>
static Results RunGrad(const Case& test_case, Term term, Grad grad) {
  const Arguments args(test_case);
  const Floats g = args.FloatsOf("grad_output");
  const Floats y = args.FloatsOf("output");
  const Layout layout = LayoutOf(args, "output");
  Floats grad_input(y.size());
  for (int64_t row = 0; row < layout.rows(); ++row) {
    Sum sum(args.TheOrder());
    for (int64_t i = 0; i < layout.length; ++i) sum.Add(term(g[layout.At(row, i)], y[layout.At(row, i)]));
    const float t = sum.Result();
    for (int64_t i = 0; i < layout.length; ++i) {
      const int64_t at = layout.At(row, i);
      grad_input[at] = grad(g[at], y[at], t);
    }
  }
  Results results;
  Append(results, grad_input, args.OutputShape());
  return results;
}

static Results RunSoftmaxGrad(const Case& test_case) {
  return RunGrad(
      test_case, [](float g, float y) { return g * y; }, [](float g, float y, float t) { return (g - t) * y; });
}

static Results RunLogSoftmaxGrad(const Case& test_case) {
  return RunGrad(test_case, [](float g, float) { return g; }, [](float g, float y, float t) { return g - Exp(y) * t; });
}

static const Op kOps[] = {{"softmax", RunSoftmax},
                          {"log_softmax", RunLogSoftmax},
                          {"softmax_grad", RunSoftmaxGrad},
                          {"log_softmax_grad", RunLogSoftmaxGrad}};

}  // namespace repdl::reference
