// SPDX-License-Identifier: MIT
#include <algorithm>

#include "op.h"
#include "tensors.h"

namespace repdl::reference {

/// The number of edges that the bisection of the contract passes.
template <class T>
static int64_t Passed(const Numbers<T>& edges, T x) {
  int64_t first = 0, last = static_cast<int64_t>(edges.size());
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    if (edges[static_cast<size_t>(middle)] > x) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

template <class T>
static Results RunHistogram(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> input = args.NumbersOf<T>("input"), edges = args.NumbersOf<T>("bins");
  const Numbers<T> weight = args.NumbersOf<T>("weight");
  const int64_t bins = static_cast<int64_t>(edges.size()) - 1;
  Numbers<T> sums(static_cast<size_t>(bins), T{0});
  Indices counts(static_cast<size_t>(bins), 0);
  for (size_t i = 0; i < input.size(); ++i) {
    if (bins == 0 || !(input[i] >= edges.front() && input[i] <= edges.back())) continue;
    const int64_t at = std::max<int64_t>(Passed(edges, input[i]) - 1, 0);
    const auto bin = static_cast<size_t>(std::min(at, bins - 1));
    ++counts[bin];
    if (args.Has("weight")) sums[bin] = sums[bin] + weight[i];
  }
  if (!args.Has("weight")) {
    for (size_t b = 0; b < sums.size(); ++b) sums[b] = static_cast<T>(counts[b]);
  }
  Results results;
  Append(results, sums, {bins});
  return results;
}

static const Op kOps[] = {{"histogram", REPDL_EITHER(RunHistogram)}};

}  // namespace repdl::reference
