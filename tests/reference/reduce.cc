// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "elementwise.h"
#include "functions.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// The dimensions `dim`, or all of them, are reduced.
struct Reduction {
  int64_t outputs, terms;          // how many, and of how many terms each
  std::vector<int64_t> output_of;  // for each number of the input, in row-major order

  template <class T>
  Numbers<T> Sums(const Numbers<T>& values, Order order) const {
    std::vector<SumOf<T>> sums(outputs, SumOf<T>(order));
    for (size_t i = 0; i < values.size(); ++i) sums[output_of[i]].Add(values[i]);
    Numbers<T> results;
    for (SumOf<T>& sum : sums) results.push_back(sum.Result());
    return results;
  }
  template <class T>
  Numbers<T> Means(const Numbers<T>& values, Order order) const {
    Numbers<T> results = Sums(values, order);
    for (T& value : results) value = value / static_cast<T>(terms);
    return results;
  }
};

Reduction ReductionOf(const Arguments& args, const IntList& shape) {
  bool reduced[kMaxRank] = {};
  for (int d = 0; d < shape.size(); ++d) reduced[d] = !args.Has("dim") || args.List("dim").size() == 0;
  if (args.Has("dim")) {
    for (int64_t d : args.List("dim")) {
      // A tensor without dimensions may still be summed over dimension 0 or -1.
      if (shape.size() > 0) reduced[d < 0 ? d + shape.size() : d] = true;
    }
  }

  int64_t outputs = 1;
  int64_t terms = 1;
  for (int d = 0; d < shape.size(); ++d) (reduced[d] ? terms : outputs) *= shape[d];

  // Row-major order of the input is row-major order of the reduced dimensions for each output.
  std::vector<int64_t> output_of;
  for (int64_t i = 0; i < Size(shape); ++i) {
    int64_t rest = i;
    int64_t output = 0;
    int64_t step = 1;
    for (int d = shape.size() - 1; d >= 0; --d) {
      if (!reduced[d]) {
        output += rest % shape[d] * step;
        step *= shape[d];
      }
      rest /= shape[d];
    }
    output_of.push_back(output);
  }
  return {outputs, terms, output_of};
}

Reduction ReductionOf(const Arguments& args) { return ReductionOf(args, args.Shape("input")); }

template <class T>
Results ResultsOf(const Arguments& args, const Numbers<T>& values) {
  Results results;
  Append(results, values, args.OutputShape(), args.OutputType());
  return results;
}

template <class T>
Numbers<T> Variances(const Arguments& args, const Reduction& reduction, const Numbers<T>& input) {
  const Numbers<T> means = reduction.Means(input, args.TheOrder());
  Numbers<T> squares(input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    const T away = input[i] - means[reduction.output_of[i]];
    squares[i] = away * away;
  }
  const double freedom = static_cast<double>(reduction.terms) - args.Number("correction");
  Numbers<T> results = reduction.Sums(squares, args.TheOrder());
  for (T& value : results) value = value / static_cast<T>(freedom < 0 ? 0 : freedom);
  return results;
}

template <class T>
Numbers<T> Variances(const Arguments& args) {
  return Variances(args, ReductionOf(args), args.NumbersOf<T>("input"));
}

/// The parts of complex numbers, which are pairs in a last dimension, and how they are reduced over the others.
template <class T>
struct Parts {
  Numbers<T> real, imaginary;
  Reduction reduction;
};

template <class T>
Parts<T> PartsOf(const Arguments& args) {
  const IntList shape = args.Shape("input");
  Parts<T> parts{{}, {}, ReductionOf(args, IntList(std::span(shape.begin(), shape.end() - 1)))};
  const Numbers<T> input = args.NumbersOf<T>("input");
  for (size_t i = 0; i < input.size(); i += 2) {
    parts.real.push_back(input[i]);
    parts.imaginary.push_back(input[i + 1]);
  }
  return parts;
}

template <class T>
Numbers<T> ByTurns(const Numbers<T>& real, const Numbers<T>& imaginary) {
  Numbers<T> pairs;
  for (size_t i = 0; i < real.size(); ++i) {
    pairs.push_back(real[i]);
    pairs.push_back(imaginary[i]);
  }
  return pairs;
}

}  // namespace

template <class T>
static Results RunSum(const Case& test_case) {
  const Arguments args(test_case);
  const Reduction reduction = ReductionOf(args);
  Numbers<T> sums = reduction.Sums(args.NumbersOf<T>("input"), args.TheOrder());
  if (args.Flag("average")) {
    const T scale = static_cast<T>(1.0 / static_cast<double>(reduction.terms));
    for (T& value : sums) value = value * scale;
  }
  return ResultsOf(args, sums);
}

template <class T>
static Results RunMean(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf(args, ReductionOf(args).Means(args.NumbersOf<T>("input"), args.TheOrder()));
}

template <class T>
static Results RunNorm(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> squares = args.NumbersOf<T>("input");
  for (T& value : squares) value = value * value;
  Numbers<T> norms = ReductionOf(args).Sums(squares, args.TheOrder());
  for (T& value : norms) value = std::sqrt(value);
  return ResultsOf(args, norms);
}

template <class T>
static Results RunVar(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf(args, Variances<T>(args));
}

template <class T>
static Results RunStd(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> results = Variances<T>(args);
  for (T& value : results) value = std::sqrt(value);
  return ResultsOf(args, results);
}

/// In double, rounded at the end.
template <class T>
static Results RunProd(const Case& test_case) {
  const Arguments args(test_case);
  const Reduction reduction = ReductionOf(args);
  std::vector<SumOf<double, Times>> products(reduction.outputs, SumOf<double, Times>(Order::kBlocked));
  const Numbers<T> input = args.NumbersOf<T>("input");
  for (size_t i = 0; i < input.size(); ++i) products[reduction.output_of[i]].Add(input[i]);
  Numbers<T> results;
  for (auto& product : products) results.push_back(static_cast<T>(product.Result()));
  return ResultsOf(args, results);
}

template <class T>
static Results RunComplexSum(const Case& test_case) {
  const Arguments args(test_case);
  const auto [real, imaginary, reduction] = PartsOf<T>(args);
  return ResultsOf(args, ByTurns(reduction.Sums(real, args.TheOrder()), reduction.Sums(imaginary, args.TheOrder())));
}

template <class T>
static Results RunComplexMean(const Case& test_case) {
  const Arguments args(test_case);
  const auto [real, imaginary, reduction] = PartsOf<T>(args);
  return ResultsOf(args, ByTurns(reduction.Means(real, args.TheOrder()), reduction.Means(imaginary, args.TheOrder())));
}

template <class T>
static Results RunComplexNorm(const Case& test_case) {
  const Arguments args(test_case);
  const auto [real, imaginary, reduction] = PartsOf<T>(args);
  std::vector<SumOf<T>> sums(reduction.outputs, SumOf<T>(args.TheOrder()));
  for (size_t i = 0; i < real.size(); ++i) {
    sums[reduction.output_of[i]].Add(real[i] * real[i]);
    sums[reduction.output_of[i]].Add(imaginary[i] * imaginary[i]);
  }
  Numbers<T> norms;
  for (SumOf<T>& sum : sums) norms.push_back(std::sqrt(sum.Result()));
  return ResultsOf(args, norms);
}

template <class T>
static Numbers<T> ComplexVariances(const Arguments& args) {
  const auto [real, imaginary, reduction] = PartsOf<T>(args);
  Numbers<T> results = Variances(args, reduction, real);
  const Numbers<T> others = Variances(args, reduction, imaginary);
  for (size_t i = 0; i < results.size(); ++i) results[i] = results[i] + others[i];
  return results;
}

template <class T>
static Results RunComplexVar(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf(args, ComplexVariances<T>(args));
}

template <class T>
static Results RunComplexStd(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> results = ComplexVariances<T>(args);
  for (T& value : results) value = std::sqrt(value);
  return ResultsOf(args, results);
}

/// A complex number in double, or none yet.
struct ComplexFactor {
  bool is_there = false;
  double real = 1, imaginary = 0;
};

struct TimesComplex {
  static ComplexFactor Of(const ComplexFactor& x, const ComplexFactor& y) {
    if (!x.is_there) return y;
    if (!y.is_there) return x;
    const double ac = x.real * y.real, bd = x.imaginary * y.imaginary;
    const double ad = x.real * y.imaginary, bc = x.imaginary * y.real;
    return {true, ac - bd, ad + bc};
  }
  static constexpr ComplexFactor kIdentity = {};
};

template <class T>
static Results RunComplexProd(const Case& test_case) {
  const Arguments args(test_case);
  const auto [real, imaginary, reduction] = PartsOf<T>(args);
  std::vector<SumOf<ComplexFactor, TimesComplex>> products(reduction.outputs,
                                                           SumOf<ComplexFactor, TimesComplex>(Order::kBlocked));
  for (size_t i = 0; i < real.size(); ++i) products[reduction.output_of[i]].Add({true, real[i], imaginary[i]});
  Numbers<T> reals, imaginaries;
  for (auto& product : products) {
    const ComplexFactor result = product.Result();
    reals.push_back(static_cast<T>(result.real));
    imaginaries.push_back(static_cast<T>(result.imaginary));
  }
  return ResultsOf(args, ByTurns(reals, imaginaries));
}

/// amax, and amin with the numbers and the result negated.
template <class T>
static Results RunExtreme(const Case& test_case) {
  const Arguments args(test_case);
  const Reduction reduction = ReductionOf(args);
  const bool smallest = test_case.op().name == "amin";
  const Numbers<T> input = args.NumbersOf<T>("input");
  Numbers<T> results(reduction.outputs);
  std::vector<bool> met(reduction.outputs, false);
  for (size_t i = 0; i < input.size(); ++i) {
    const T x = smallest ? -input[i] : input[i];
    const int64_t at = reduction.output_of[i];
    results[at] = met[at] ? LargerOf(results[at], x) : x;
    met[at] = true;
  }
  if (smallest) {
    for (T& value : results) value = -value;
  }
  Results packed;
  Append(packed, results, args.OutputShape(), args.OutputType());
  return packed;
}

template <class T>
static Results RunLogSumExp(const Case& test_case) {
  const Arguments args(test_case);
  const Reduction reduction = ReductionOf(args);
  const Numbers<T> input = args.NumbersOf<T>("input");
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  Numbers<T> shifts(reduction.outputs, -kInfinity);
  for (size_t i = 0; i < input.size(); ++i) {
    T& largest = shifts[reduction.output_of[i]];
    largest = LargerOf(largest, input[i]);
  }
  for (T& shift : shifts) {
    if (std::isinf(shift)) shift = 0;
  }
  Numbers<T> terms(input.size());
  for (size_t i = 0; i < input.size(); ++i) terms[i] = Exp(input[i] - shifts[reduction.output_of[i]]);
  Numbers<T> results = reduction.Sums(terms, args.TheOrder());
  for (size_t i = 0; i < results.size(); ++i) results[i] = Log(results[i]) + shifts[i];
  Results packed;
  Append(packed, results, args.OutputShape());
  return packed;
}

static const Op kOps[] = {{"complex_sum", REPDL_EITHER(RunComplexSum)},
                          {"complex_mean", REPDL_EITHER(RunComplexMean)},
                          {"complex_norm", REPDL_EITHER(RunComplexNorm)},
                          {"complex_var", REPDL_EITHER(RunComplexVar)},
                          {"complex_std", REPDL_EITHER(RunComplexStd)},
                          {"complex_prod", REPDL_EITHER(RunComplexProd)},
                          {"logsumexp", REPDL_EITHER(RunLogSumExp)},
                          {"sum", REPDL_EITHER(RunSum)},
                          {"mean", REPDL_EITHER(RunMean)},
                          {"norm", REPDL_EITHER(RunNorm)},
                          {"var", REPDL_EITHER(RunVar)},
                          {"std", REPDL_EITHER(RunStd)},
                          {"amax", REPDL_EITHER(RunExtreme)},
                          {"amin", REPDL_EITHER(RunExtreme)},
                          {"prod", REPDL_EITHER(RunProd)}};

}  // namespace repdl::reference
