// SPDX-License-Identifier: MIT
#include <cmath>

#include "elementwise.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// The dimensions `dim`, or all of them, are reduced.
struct Reduction {
  int64_t outputs, terms;          // how many, and of how many terms each
  std::vector<int64_t> output_of;  // for each number of the input, in row-major order

  Floats Sums(const Floats& values, Order order) const {
    std::vector<Sum> sums(outputs, Sum(order));
    for (size_t i = 0; i < values.size(); ++i) sums[output_of[i]].Add(values[i]);
    Floats results;
    for (Sum& sum : sums) results.push_back(sum.Result());
    return results;
  }
  Floats Means(const Floats& values, Order order) const {
    Floats results = Sums(values, order);
    for (float& value : results) value = value / static_cast<float>(terms);
    return results;
  }
};

Reduction ReductionOf(const Arguments& args) {
  const IntList shape = args.Shape("input");
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

Results ResultsOf(const Arguments& args, const Floats& values) {
  Results results;
  Append(results, values, args.OutputShape());
  return results;
}

Floats Variances(const Arguments& args) {
  const Reduction reduction = ReductionOf(args);
  const Floats input = args.FloatsOf("input"), means = reduction.Means(input, args.TheOrder());
  Floats squares(input.size());
  for (size_t i = 0; i < input.size(); ++i) {
    const float away = input[i] - means[reduction.output_of[i]];
    squares[i] = away * away;
  }
  const double freedom = static_cast<double>(reduction.terms) - args.Number("correction");
  Floats results = reduction.Sums(squares, args.TheOrder());
  for (float& value : results) value = value / static_cast<float>(freedom < 0 ? 0 : freedom);
  return results;
}

}  // namespace

static Results RunSum(const Case& test_case) {
  const Arguments args(test_case);
  const Reduction reduction = ReductionOf(args);
  Floats sums = reduction.Sums(args.FloatsOf("input"), args.TheOrder());
  if (args.Flag("average")) {
    const float scale = static_cast<float>(1.0 / static_cast<double>(reduction.terms));
    for (float& value : sums) value = value * scale;
  }
  return ResultsOf(args, sums);
}

static Results RunMean(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf(args, ReductionOf(args).Means(args.FloatsOf("input"), args.TheOrder()));
}

static Results RunNorm(const Case& test_case) {
  const Arguments args(test_case);
  Floats squares = args.FloatsOf("input");
  for (float& value : squares) value = value * value;
  Floats norms = ReductionOf(args).Sums(squares, args.TheOrder());
  for (float& value : norms) value = std::sqrt(value);
  return ResultsOf(args, norms);
}

static Results RunVar(const Case& test_case) {
  const Arguments args(test_case);
  return ResultsOf(args, Variances(args));
}

static Results RunStd(const Case& test_case) {
  const Arguments args(test_case);
  Floats results = Variances(args);
  for (float& value : results) value = std::sqrt(value);
  return ResultsOf(args, results);
}

/// amax, and amin with the numbers and the result negated.
static Results RunExtreme(const Case& test_case) {
  const Arguments args(test_case);
  const Reduction reduction = ReductionOf(args);
  const bool smallest = test_case.op().name == "amin";
  const Floats input = args.FloatsOf("input");
  Floats results(reduction.outputs);
  std::vector<bool> met(reduction.outputs, false);
  for (size_t i = 0; i < input.size(); ++i) {
    const float x = smallest ? -input[i] : input[i];
    const int64_t at = reduction.output_of[i];
    results[at] = met[at] ? LargerOf(results[at], x) : x;
    met[at] = true;
  }
  if (smallest) {
    for (float& value : results) value = -value;
  }
  Results packed;
  Append(packed, results, args.OutputShape(), args.OutputType());
  return packed;
}

static const Op kOps[] = {{"sum", RunSum}, {"mean", RunMean},    {"norm", RunNorm},   {"var", RunVar},
                          {"std", RunStd}, {"amax", RunExtreme}, {"amin", RunExtreme}};

}  // namespace repdl::reference
