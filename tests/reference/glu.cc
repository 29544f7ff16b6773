// SPDX-License-Identifier: MIT
#include "functions.h"
#include "op.h"

namespace repdl::reference {
namespace {

template <class T>
T SigmoidOf(T x) {
  return Rounded<T>(*FindFunction("sigmoid"), x, T{0}, sizeof(T) == 8 ? kFloat64 : kFloat32);
}

}  // namespace

template <class T>
static Results RunGlu(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Layout whole = Layout::Along(args.Shape("input"), args.Int("dim"));
  const Layout half{whole.outer, whole.length / 2, whole.inner};
  Numbers<T> output(x.size() / 2);
  for (int64_t row = 0; row < half.rows(); ++row) {
    for (int64_t i = 0; i < half.length; ++i) {
      output[half.At(row, i)] = x[whole.At(row, i)] * SigmoidOf(x[whole.At(row, half.length + i)]);
    }
  }
  Results results;
  Append(results, output, args.OutputShape(), args.OutputType());
  return results;
}

template <class T>
static Results RunGluGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> g = args.NumbersOf<T>("grad_output"), x = args.NumbersOf<T>("input");
  const Layout whole = Layout::Along(args.Shape("input"), args.Int("dim"));
  const Layout half{whole.outer, whole.length / 2, whole.inner};
  Numbers<T> grad_input(x.size());
  for (int64_t row = 0; row < half.rows(); ++row) {
    for (int64_t i = 0; i < half.length; ++i) {
      const int64_t value = whole.At(row, i), gate = whole.At(row, half.length + i);
      const T grad = g[half.At(row, i)];
      const T open = SigmoidOf(x[gate]);
      const T closed = 1 - open;
      const T slope = closed * open;
      const T part = slope * grad;
      grad_input[value] = open * grad;
      grad_input[gate] = part * x[value];
    }
  }
  Results results;
  Append(results, grad_input, args.OutputShape(), args.OutputType());
  return results;
}

static const Op kOps[] = {{"glu", REPDL_EITHER(RunGlu)}, {"glu_grad", REPDL_EITHER(RunGluGrad)}};

}  // namespace repdl::reference
