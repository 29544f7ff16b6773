// SPDX-License-Identifier: MIT
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

struct Sums {
  Floats values;
  int64_t terms;  // of each
};

/// The Sum over the dimensions `dim`, or over all of them, for each place in the others.
Sums SumOver(const Arguments& args) {
  const Floats input = args.FloatsOf("input");
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
  std::vector<Sum> sums(outputs, Sum(args.TheOrder()));
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
    sums[output].Add(input[i]);
  }

  Sums result = {Floats(outputs), terms};
  for (int64_t i = 0; i < outputs; ++i) result.values[i] = sums[i].Result();
  return result;
}

}  // namespace

static Results RunSum(const Case& test_case) {
  const Arguments args(test_case);
  Sums sums = SumOver(args);
  if (args.Flag("average")) {
    const float scale = static_cast<float>(1.0 / static_cast<double>(sums.terms));
    for (float& value : sums.values) value = value * scale;
  }
  Results results;
  Append(results, sums.values, args.OutputShape());
  return results;
}

static Results RunMean(const Case& test_case) {
  const Arguments args(test_case);
  Sums sums = SumOver(args);
  for (float& value : sums.values) value = value / static_cast<float>(sums.terms);
  Results results;
  Append(results, sums.values, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"sum", RunSum}, {"mean", RunMean}};

}  // namespace repdl::reference
