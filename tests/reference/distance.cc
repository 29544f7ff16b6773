// SPDX-License-Identifier: MIT
// Distances between rows, and their gradients.
#include <cmath>

#include "functions.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

template <class T>
T Pow(T x, T y) {
  return Rounded<T>(*FindFunction("pow"), x, y, sizeof(T) == 8 ? kFloat64 : kFloat32);
}

template <class T>
T SignOf(T d) {
  return static_cast<T>((d > 0 ? 1 : 0) - (d < 0 ? 1 : 0));
}

/// The norm of order p of the difference of two rows.
template <class T>
T Distance(const T* x, const T* y, int64_t k, double p, Order order) {
  SumOf<T> sum(order);
  T largest = 0;
  for (int64_t i = 0; i < k; ++i) {
    const T d = x[i] - y[i], size = std::abs(d);
    if (p == 0) {
      sum.Add(d == 0 ? T{0} : T{1});
    } else if (p == 1) {
      sum.Add(size);
    } else if (p == 2) {
      sum.Add(d * d);
    } else if (std::isinf(p)) {
      if (std::isnan(size) || size > largest) largest = size;
      if (std::isnan(size)) return size;
    } else {
      sum.Add(Pow(size, static_cast<T>(p)));
    }
  }
  if (std::isinf(p)) return largest;
  if (p == 0 || p == 1) return sum.Result();
  return p == 2 ? std::sqrt(sum.Result()) : Pow(sum.Result(), static_cast<T>(1.0 / p));
}

/// The derivative of a distance by one difference.
template <class T>
T Slope(T d, T distance, double p) {
  if (p == 0) return 0;
  if (p == 1) return SignOf(d);
  if (std::isinf(p)) return std::abs(d) == distance ? SignOf(d) : T{0};
  if (distance == 0 || d == 0) return 0;
  if (p == 2) return d / distance;
  const T power = static_cast<T>(p - 1.0);
  return SignOf(d) * Pow(std::abs(d), power) / Pow(distance, power);
}

int64_t Last(const IntList& shape) { return shape[shape.size() - 1]; }
int64_t Rows(const IntList& shape) { return shape[shape.size() - 2]; }

}  // namespace

template <class T>
static Results RunCdist(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const Numbers<T> x1 = args.NumbersOf<T>("x1"), x2 = args.NumbersOf<T>("x2");
  const int64_t m = Rows(shape), n = Last(shape), k = Last(args.Shape("x1"));
  Numbers<T> output;
  for (int64_t at = 0; at < Size(shape); ++at) {
    const int64_t b = at / (m * n), i = at / n, j = b * n + at % n;
    output.push_back(Distance(x1.data() + i * k, x2.data() + j * k, k, args.Number("p"), args.TheOrder()));
  }
  Results results;
  Append(results, output, shape);
  return results;
}

template <class T>
static Results RunCdistGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  const Numbers<T> x1 = args.NumbersOf<T>("x1"), x2 = args.NumbersOf<T>("x2");
  const Numbers<T> grad = args.NumbersOf<T>("grad_output"), distance = args.NumbersOf<T>("distance");
  const int64_t m = Rows(shape), n = Rows(args.Shape("x2")), k = Last(shape);
  Numbers<T> output;
  for (int64_t at = 0; at < Size(shape); ++at) {
    const int64_t b = at / (m * k), i = at / k, c = at % k;
    SumOf<T> sum(args.TheOrder());
    for (int64_t j = 0; j < n; ++j) {
      const T d = x1[at] - x2[(b * n + j) * k + c];
      sum.Add(Slope(d, distance[i * n + j], args.Number("p")) * grad[i * n + j]);
    }
    output.push_back(sum.Result());
  }
  Results results;
  Append(results, output, shape);
  return results;
}

template <class T>
static Results RunPdist(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input");
  const Numbers<T> x = args.NumbersOf<T>("input");
  const int64_t n = shape[0], k = shape[1];
  Numbers<T> output;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 1; j < n; ++j) {
      output.push_back(Distance(x.data() + i * k, x.data() + j * k, k, args.Number("p"), args.TheOrder()));
    }
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunPdistGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input");
  const Numbers<T> x = args.NumbersOf<T>("input"), grad = args.NumbersOf<T>("grad_output");
  const Numbers<T> distance = args.NumbersOf<T>("distance");
  const int64_t n = shape[0], k = shape[1];
  Numbers<T> output(x.size(), T{0});
  // Two walks over the pairs: what a row gets from those behind it comes first.
  for (const bool behind : {true, false}) {
    int64_t pair = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j, ++pair) {
        const int64_t to = behind ? i : j, from = behind ? j : i;
        for (int64_t c = 0; c < k; ++c) {
          const T slope = Slope(x[to * k + c] - x[from * k + c], distance[pair], args.Number("p"));
          output[to * k + c] = output[to * k + c] + slope * grad[pair];
        }
      }
    }
  }
  Results results;
  Append(results, output, shape);
  return results;
}

static const Op kOps[] = {{"cdist", REPDL_EITHER(RunCdist)},
                          {"cdist_grad", REPDL_EITHER(RunCdistGrad)},
                          {"pdist", REPDL_EITHER(RunPdist)},
                          {"pdist_grad", REPDL_EITHER(RunPdistGrad)}};

}  // namespace repdl::reference
