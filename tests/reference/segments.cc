// SPDX-License-Identifier: MIT
// Segments of a dimension.
#include <cmath>
#include <limits>
#include <optional>

#include "op.h"

namespace repdl::reference {
namespace {

struct Segment {
  int64_t result;                 // where its result is
  std::vector<int64_t> elements;  // in order
};

/// Every segment of every plane and inner number.
std::vector<Segment> Segments(const Arguments& args) {
  const IntList shape = args.Shape("input");
  const Layout layout = Layout::Along(shape, args.Int("dim"));
  const Indices lengths = args.IndicesOf("lengths");
  const int64_t number = layout.outer == 0 ? 0 : static_cast<int64_t>(lengths.size()) / layout.outer;
  std::vector<Segment> segments;
  for (int64_t row = 0; row < layout.rows(); ++row) {
    int64_t at = 0;
    for (int64_t k = 0; k < number; ++k) {
      const int64_t outer = row / layout.inner;
      Segment segment{(outer * number + k) * layout.inner + row % layout.inner, {}};
      for (int64_t i = 0; i < lengths[outer * number + k]; ++i) segment.elements.push_back(layout.At(row, at++));
      segments.push_back(segment);
    }
  }
  return segments;
}

std::optional<double> Initial(const Arguments& args) {
  return args.Has("initial") ? std::optional(args.Number("initial")) : std::nullopt;
}

}  // namespace

template <class T>
static Results RunSegmentReduce(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input");
  const auto reduce = args.Text("reduce");
  const std::optional<double> initial = Initial(args);
  const T infinity = std::numeric_limits<T>::infinity();
  Numbers<T> output(Size(args.OutputShape()));
  for (const Segment& segment : Segments(args)) {
    T total = reduce == "prod" ? T{1} : reduce == "max" ? -infinity : reduce == "min" ? infinity : T{0};
    if (initial) total = static_cast<T>(*initial);
    for (int64_t at : segment.elements) {
      const T x = input[at];
      if (reduce == "prod") {
        total = total * x;
      } else if (reduce == "max") {
        if (std::isnan(x) || x > total) total = x;
      } else if (reduce == "min") {
        if (std::isnan(x) || x < total) total = x;
      } else {
        total = total + x;
      }
    }
    if (reduce == "mean") {
      if (!segment.elements.empty()) {
        total = total / static_cast<T>(segment.elements.size());
      } else if (!initial) {
        total = std::numeric_limits<T>::quiet_NaN();
      }
    }
    output[segment.result] = total;
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

template <class T>
static Results RunSegmentReduceGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grads = args.NumbersOf<T>("grad_output"), output = args.NumbersOf<T>("output");
  const Numbers<T> input = args.NumbersOf<T>("input");
  const auto reduce = args.Text("reduce");
  Numbers<T> grad_input(input.size(), T{0});
  for (const Segment& segment : Segments(args)) {
    const T g = grads[segment.result], result = output[segment.result];
    int64_t count = 0;
    for (int64_t at : segment.elements) count += std::isnan(input[at]) || input[at] == result;
    for (int64_t at : segment.elements) {
      const T x = input[at];
      T& grad = grad_input[at];
      if (reduce == "sum") {
        grad = g;
      } else if (reduce == "mean") {
        grad = g / static_cast<T>(segment.elements.size());
      } else if (reduce != "prod") {
        if (!std::isnan(x) && x != result) continue;
        grad = count > 1 && g > 0 ? g / static_cast<T>(count) : g;
      } else if (std::isnan(x) || x == 0) {
        T others = static_cast<T>(Initial(args).value_or(1));
        for (int64_t other : segment.elements) {
          if (other != at) others = others * input[other];
        }
        grad = g * others;
      } else {
        const T product = g * result;
        grad = product / x;
      }
    }
  }
  Results results;
  Append(results, grad_input, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"segment_reduce", REPDL_EITHER(RunSegmentReduce)},
                          {"segment_reduce_grad", REPDL_EITHER(RunSegmentReduceGrad)}};

}  // namespace repdl::reference
